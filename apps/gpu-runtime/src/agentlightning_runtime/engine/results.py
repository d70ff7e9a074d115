"""What an engine gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from agentlightning_runtime.engine.settings import LoraSettings

PauseMode = Literal["drain", "abort"]
"""`drain`: requests in flight finish, new ones are answered 503 with Retry-After. `abort`: those in flight end too."""

ExportFormat = Literal["safetensors", "peft"]
"""`safetensors`: a whole model as Transformers and vLLM load it, LoRA merged. `peft`: the files of the LoRA alone."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """The part of a model's state that only the engine knows.

    Attributes:
        step: Optimizer steps taken.
        policy_version: What the endpoint serves.
        is_corrupted: True when weights or optimizer state are lost or half-changed, until a checkpoint is loaded.
        trainable_parameter_count: Number of weights that are trained; 0 when it is not told.
        lora: What is trained beside frozen weights, with every default filled in; None: all weights.
    """

    step: int
    policy_version: int
    is_corrupted: bool = False
    trainable_parameter_count: int = 0
    lora: LoraSettings | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a forward-backward pass found. `loss` is the plain weighted sum; metrics as LOSSES.md names them."""

    loss: float
    trained_tokens: int
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class ForwardResult:
    """What a forward pass found, one float32[N] for each datum.

    Attributes:
        logprobs: Natural-log probabilities of the trained tokens at each datum's temperature.
        values: What the value head says at the trained tokens; None without one.
    """

    logprobs: Sequence[NDArray[np.float32]]
    values: Sequence[NDArray[np.float32]] | None = None
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class StepResult:
    """What an optimizer step did. `gradient_norm` is before clipping; `is_skipped`: a gradient was not finite."""

    step: int
    gradient_norm: float
    is_skipped: bool
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A saved state. `uri` is opaque, of `[A-Za-z0-9_-:/.]`; `client_state` is bytes of the client's own."""

    uri: str
    name: str
    step: int
    policy_version: int
    size_bytes: int
    client_state: bytes
    created_at_ms: float


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served, in OpenAI's API: URL up to and with `/v1`, name to send as `model`, version served."""

    base_url: str
    model: str
    policy_version: int


@dataclass(frozen=True, slots=True)
class InferenceState:
    """Whether a model answers requests now, and how many are being answered."""

    is_paused: bool
    in_flight: int
    policy_version: int
