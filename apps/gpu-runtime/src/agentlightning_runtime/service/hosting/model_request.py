"""Validates requests that create a model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.service.base.invalid import check_name, invalid

if TYPE_CHECKING:
    from agentlightning_runtime.contract.settings import BaseModelInfo, EngineCapabilities


def check_model_request(request: ModelRequest, capabilities: EngineCapabilities) -> ModelRequest:
    """Validates a request and fills in its defaults.

    Raises:
        RuntimeFailureError: INVALID, naming the field.
    """
    check_name("model_id", request.model_id)
    base = next((model for model in capabilities.models if model.name == request.base_model), None)
    if base is None:
        known = ", ".join(model.name for model in capabilities.models)
        raise invalid("base_model", f'is "{request.base_model}"; known models: {known}')
    if request.has_value_head:
        check_feature(capabilities, "value_head", "has_value_head")
    if request.initial_checkpoint:
        check_feature(capabilities, "initial_checkpoint", "initial_checkpoint")
    if request.lora is None:
        return request
    check_feature(capabilities, "lora", "lora")
    return replace(request, lora=_checked(request.lora, base))


def check_feature(capabilities: EngineCapabilities, feature: str, field: str) -> None:
    """Raises INVALID for a field that requires an unsupported feature."""
    if feature in capabilities.features:
        return
    present = ", ".join(capabilities.features) or "none"
    raise invalid(field, f"needs the feature {feature}; this runtime has {present}")


def _checked(lora: LoraSettings, base: BaseModelInfo) -> LoraSettings:
    if not 1 <= lora.rank <= base.max_lora_rank:
        raise invalid("lora.rank", f"is {lora.rank}; {base.name} accepts 1 to {base.max_lora_rank}")
    alpha = lora.alpha or float(lora.rank)
    if not (math.isfinite(alpha) and alpha > 0):
        raise invalid("lora.alpha", f"is {lora.alpha}; it must be finite and above 0, or 0 for the rank")
    for at, name in enumerate(lora.target_modules):
        if name not in base.lora_target_modules:
            known = ", ".join(base.lora_target_modules)
            raise invalid(f"lora.target_modules[{at}]", f'is "{name}"; {base.name} has {known}')
    return LoraSettings(rank=lora.rank, alpha=alpha, target_modules=tuple(lora.target_modules))
