"""A validated batch as the service passes it to an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from agentlightning_runtime.contract.images import Image


@dataclass(frozen=True, slots=True)
class TrainedSpan:
    """A half-open interval of positions; `start` is at least 1, `end` at most the number of tokens."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Datum:
    """One token sequence. N is the number of trained tokens, the summed lengths of `trained`.

    Attributes:
        token_ids: int32[T], T >= 2, each in the vocabulary.
        trained: Ascending, not overlapping, not empty.
        sampling_logprobs: float32[N], natural log, at `temperature`.
        advantages: float32[N].
        weights: float32[N]; all normalisation lives here.
        temperature: Logits are divided by it before the log-softmax. > 0.
        reference_logprobs: float32[N] or None; set when the loss has a KL term.
        value_targets: float32[N] or None; set when the loss trains a value head.
        sampling_values: float32[N] or None; output of the value head when the targets were computed.
        images: The images of the sequence, in the order of their tokens.
    """

    token_ids: NDArray[np.int32]
    trained: Sequence[TrainedSpan]
    sampling_logprobs: NDArray[np.float32]
    advantages: NDArray[np.float32]
    weights: NDArray[np.float32]
    temperature: float
    reference_logprobs: NDArray[np.float32] | None = None
    value_targets: NDArray[np.float32] | None = None
    sampling_values: NDArray[np.float32] | None = None
    images: Sequence[Image] = ()
    rollout_id: str = ""
    group_id: str = ""
    min_policy_version: int = 0
    max_policy_version: int = 0

    @property
    def trained_tokens(self) -> int:
        """The number of trained tokens, N."""
        return sum(span.end - span.start for span in self.trained)


@dataclass(frozen=True, slots=True)
class Batch:
    """The sequences of one batch; at least one."""

    data: Sequence[Datum]

    @property
    def tokens(self) -> int:
        """The number of tokens in all sequences together."""
        return sum(len(datum.token_ids) for datum in self.data)


@dataclass(frozen=True, slots=True)
class ResolvedLoss:
    """A loss by its name in LOSSES.md, with a value for every parameter listed in the capabilities."""

    name: str
    parameters: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class AdamParameters:
    """Parameters of one optimizer step; defaults filled in, values validated."""

    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    gradient_clip_norm: float = 1.0
