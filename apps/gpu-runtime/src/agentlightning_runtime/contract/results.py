"""Results of an engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from agentlightning_runtime.contract.settings import LoraSettings

PauseMode = Literal["drain", "abort"]
"""`drain`: requests in flight finish, new ones get 503 with Retry-After. `abort`: those in flight end too."""

ExportFormat = Literal["safetensors", "peft"]
"""`safetensors`: a whole model as Transformers and vLLM load it, LoRA merged. `peft`: the files of the LoRA alone."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """The part of a model's state that the engine owns.

    Attributes:
        step: Optimizer steps taken.
        policy_version: Policy version of the endpoint.
        is_corrupted: True when weights or optimizer state are lost or half-changed, until a checkpoint is loaded.
        trainable_parameter_count: Number of weights that are trained; 0 when unknown.
        lora: LoRA with all defaults filled in; None: all weights are trained.
    """

    step: int
    policy_version: int
    is_corrupted: bool = False
    trainable_parameter_count: int = 0
    lora: LoraSettings | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a forward-backward pass. `loss` is the plain weighted sum; metrics are named as in LOSSES.md."""

    loss: float
    trained_tokens: int
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class ForwardResult:
    """The result of a forward pass, one float32[N] for each datum.

    Attributes:
        logprobs: Natural-log probabilities of the trained tokens at each datum's temperature.
        values: Output of the value head at the trained tokens; None without a value head.
    """

    logprobs: Sequence[NDArray[np.float32]]
    values: Sequence[NDArray[np.float32]] | None = None
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of an optimizer step. `gradient_norm` is before clipping; `is_skipped`: a gradient was not finite."""

    step: int
    gradient_norm: float
    is_skipped: bool
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint. `uri` is opaque, of `[A-Za-z0-9_-:/.]`; `client_state` is opaque client data."""

    uri: str
    name: str
    step: int
    policy_version: int
    size_bytes: int
    client_state: bytes
    created_at_ms: float


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Comparison of sampler and trainer after a publication.

    Attributes:
        logprob_gap: Largest mean difference of a response, absolute, in nats per token.
        max_logprob_gap: Its limit.
        tokens: Number of compared tokens.
    """

    logprob_gap: float
    max_logprob_gap: float
    tokens: int


@dataclass(frozen=True, slots=True)
class PublishedWeights:
    """Identity of published weights. `probe` is None when the sampler was not compared."""

    digest: str
    probe: ProbeResult | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The OpenAI-compatible endpoint of a model.

    Attributes:
        base_url: URL including `/v1`.
        model: Name to send as `model`.
        policy_version: Version of the served weights.
        weights: Identity of the served weights; None when the engine does not report it.
    """

    base_url: str
    model: str
    policy_version: int
    weights: PublishedWeights | None = None


@dataclass(frozen=True, slots=True)
class InferenceState:
    """Whether a model accepts requests, and how many are in flight."""

    is_paused: bool
    in_flight: int
    policy_version: int
