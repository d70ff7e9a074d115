"""Fills in defaults and rejects values out of range; no parameter is ignored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentlightning_runtime.contract.batch import AdamParameters, ResolvedLoss
from agentlightning_runtime.service.base.invalid import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentlightning_runtime.contract.settings import LossInfo
    from agentlightning_runtime.gen.agentlightning.runtime.v1 import batch_pb2, training_pb2

PARAMETER_OF_COLUMN: Mapping[str, str] = {
    "reference_logprobs": "kl_coefficient",
    "value_targets": "value_coefficient",
    "sampling_values": "value_clip",
}
"""Optional columns that a loss reads when their parameter is not 0."""

OPTIONAL_OF_ADAM: Sequence[Literal["beta1", "beta2", "epsilon", "weight_decay", "gradient_clip_norm"]] = (
    "beta1",
    "beta2",
    "epsilon",
    "weight_decay",
    "gradient_clip_norm",
)


@dataclass(frozen=True, slots=True)
class _Range:
    text: str
    has: Callable[[float], bool]


AT_LEAST_ZERO = _Range("finite and at least 0", lambda value: math.isfinite(value) and value >= 0)
ABOVE_ZERO = _Range("finite and above 0", lambda value: math.isfinite(value) and value > 0)
DECAY = _Range("at least 0 and below 1", lambda value: 0 <= value < 1)
ESTIMATOR = _Range("1, 2 or 3", lambda value: value in (1, 2, 3))


def columns_needed(loss: ResolvedLoss) -> dict[str, str]:
    """The optional columns that a loss needs, each with the parameter that requires it."""
    needed = {
        column: parameter for column, parameter in PARAMETER_OF_COLUMN.items() if loss.parameters.get(parameter, 0) != 0
    }
    # Without the value term no value is clipped.
    if "value_targets" not in needed:
        needed.pop("sampling_values", None)
    return needed


def resolve_loss(spec: batch_pb2.LossSpec, losses: Sequence[LossInfo]) -> ResolvedLoss:
    """Fills in a loss's defaults.

    Raises:
        RuntimeFailureError: INVALID for an unknown loss or parameter.
    """
    known = next((loss for loss in losses if loss.name == spec.name), None)
    if known is None:
        names = ", ".join(loss.name for loss in losses)
        raise invalid("loss.name", f'is "{spec.name}"; known losses: {names}')
    for name, value in spec.parameters.items():
        field = f"loss.parameters.{name}"
        if name not in known.defaults:
            accepted = ", ".join(known.defaults) or "none"
            raise invalid(field, f"is not a parameter of {known.name}; it accepts {accepted}")
        allowed = ESTIMATOR if name == "kl_estimator" else AT_LEAST_ZERO
        if not allowed.has(value):
            raise invalid(field, f"is {value}; it must be {allowed.text}")
    return ResolvedLoss(name=known.name, parameters={**known.defaults, **spec.parameters})


def resolve_adam(request: training_pb2.OptimStepRequest) -> AdamParameters:
    """Fills in Adam's defaults.

    Raises:
        RuntimeFailureError: INVALID for a parameter out of its range.
    """
    if not request.HasField("adam"):
        raise invalid("adam", "is missing")
    adam = request.adam
    given = {field: getattr(adam, field) for field in OPTIONAL_OF_ADAM if adam.HasField(field)}
    resolved = AdamParameters(learning_rate=adam.learning_rate, **given)
    for field, allowed in (
        ("learning_rate", AT_LEAST_ZERO),
        ("beta1", DECAY),
        ("beta2", DECAY),
        ("epsilon", ABOVE_ZERO),
        ("weight_decay", AT_LEAST_ZERO),
        ("gradient_clip_norm", AT_LEAST_ZERO),
    ):
        value = getattr(resolved, field)
        if not allowed.has(value):
            raise invalid(f"adam.{field}", f"is {value}; it must be {allowed.text}")
    return resolved
