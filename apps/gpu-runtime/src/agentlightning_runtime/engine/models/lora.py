"""LoRAs: their settings, and their layers in a model."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import nn

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import LoraSettings
from agentlightning_runtime.engine.loading.loaded_model import towers
from agentlightning_runtime.engine.models.base_model import MAX_LORA_RANK, lora_target_modules

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from torch import Tensor
    from transformers import PreTrainedModel

    from agentlightning_runtime.contract.settings import ModelRequest
    from agentlightning_runtime.engine.loading.loaded_model import LoadedModel

#: PEFT's name for the only adapter of a model.
ADAPTER_NAME = "default"


def resolve_lora(outline: LoadedModel, request: ModelRequest) -> LoraSettings | None:
    """The requested LoRA with all defaults filled in.

    Raises:
        EngineError: INVALID when the base has no such layers, or the rank is out of bounds.
    """
    lora = request.lora
    if lora is None:
        return None
    if not 1 <= lora.rank <= MAX_LORA_RANK:
        raise EngineError(
            EngineErrorReason.INVALID, f"rank is {lora.rank}; it must be from 1 to {MAX_LORA_RANK}", field="lora.rank"
        )
    known = lora_target_modules(outline.causal_lm)
    unknown = sorted(set(lora.target_modules) - set(known))
    if unknown:
        raise EngineError(
            EngineErrorReason.INVALID,
            f"{request.base_model} has no linear layer {', '.join(unknown)}; it has {', '.join(known)}",
            field="lora.target_modules",
        )
    return LoraSettings(lora.rank, lora.alpha or float(lora.rank), tuple(sorted(lora.target_modules)) or known)


def peft_config(lora: LoraSettings, causal_lm: PreTrainedModel, base_model: str = "") -> LoraConfig:
    """The adapter configuration for a base model in the format of PEFT."""
    of_towers = "|".join(re.escape(name) for name in towers(causal_lm))
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,  # pyright: ignore[reportArgumentType] -- PEFT accepts any number
        target_modules=list(lora.target_modules),
        # Their layers can have the names of the decoder's.
        exclude_modules=rf"(?:{of_towers})\..*" if of_towers else None,
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
        base_model_name_or_path=base_model,
    )


def add_lora(causal_lm: PreTrainedModel, lora: LoraSettings, seed: int) -> None:
    """Adds a LoRA with initial values to a frozen model, which may be on the meta device."""
    # Of other GPUs nothing is drawn.
    devices = [causal_lm.device] if causal_lm.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), _on_the_cpu(causal_lm):
        torch.manual_seed(seed)
        inject_adapter_in_model(peft_config(lora, causal_lm), causal_lm, ADAPTER_NAME)
    for module in causal_lm.modules():
        if isinstance(module, LoraLayer):
            # Autocast rounds the operands; otherwise a copy of every input in float32 is kept for the backward pass.
            module.cast_input_dtype_enabled = False
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight.requires_grad and weight.dtype != torch.float64:
                setattr(module, name, nn.Parameter(weight.detach().float()))


def base_weights(causal_lm: PreTrainedModel) -> Mapping[str, Tensor]:
    """The frozen weights of a model with a LoRA, or all of one without, by their names in the base."""
    weights = dict(causal_lm.named_parameters())
    if not any(isinstance(module, LoraLayer) for module in causal_lm.modules()):
        return weights
    return {name.replace(".base_layer.", "."): weight for name, weight in weights.items() if not weight.requires_grad}


@contextmanager
def _on_the_cpu(causal_lm: PreTrainedModel) -> Generator[None]:
    """Within it the weights of linear layers that have no memory are on the CPU, still without any.

    PEFT moves an adapter to the device of its layer, where it would lose its values.
    """
    linear = [module for module in causal_lm.modules() if isinstance(module, nn.Linear) and module.weight.is_meta]
    weights = [module.weight for module in linear]
    for module, weight in zip(linear, weights, strict=True):
        one = torch.zeros((), dtype=weight.dtype)
        module.weight = nn.Parameter(one.expand(weight.shape), requires_grad=False)
    try:
        yield
    finally:
        for module, weight in zip(linear, weights, strict=True):
            module.weight = weight
