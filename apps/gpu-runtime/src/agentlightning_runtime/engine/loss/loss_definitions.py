"""The supported losses as reported in the capabilities. Formulas: packages/runtime/LOSSES.md."""

from __future__ import annotations

from collections.abc import Mapping

from agentlightning_runtime.contract.settings import LossInfo

#: Parameters of every loss, with their defaults.
COMMON_DEFAULTS: Mapping[str, float] = {
    "entropy_coefficient": 0.0,
    "kl_coefficient": 0.0,
    "kl_estimator": 3.0,
    "value_coefficient": 0.0,
    "value_clip": 0.0,
}


def _define(name: str, **defaults: float) -> LossInfo:
    return LossInfo(name=name, version=1, defaults={**COMMON_DEFAULTS, **defaults})


#: In the order of the capabilities.
LOSS_DEFINITIONS: tuple[LossInfo, ...] = (
    _define("cross_entropy"),
    _define("importance_sampling"),
    _define("ppo", clip_low=0.2, clip_high=0.2, dual_clip=3.0),
    _define("cispo", clip_low=1.0, clip_high=3.0),
    _define("gspo", clip_low=3e-4, clip_high=4e-4),
    _define("dro", beta=0.05),
)
