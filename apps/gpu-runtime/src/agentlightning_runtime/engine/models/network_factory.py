"""Creates a trainable network from a base model: all of its weights, or a LoRA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from peft import LoraConfig, inject_adapter_in_model

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.models.base_model import MAX_LORA_RANK, lora_target_modules
from agentlightning_runtime.engine.models.policy_network import PolicyNetwork
from agentlightning_runtime.engine.settings import LoraSettings

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.models.loaded_model import LoadedModel
    from agentlightning_runtime.engine.settings import ModelRequest

#: PEFT's name for the only adapter of a model.
ADAPTER_NAME = "default"


def make_network(
    loaded: LoadedModel, request: ModelRequest, lora: LoraSettings | None, *, gradient_checkpointing: bool
) -> PolicyNetwork:
    """Creates a network to train. Trained weights are in float32, so that small steps are not rounded away.

    Args:
        loaded: The base; its weights are shared when only a LoRA is trained, and copied otherwise.
        request: Its seed initialises the LoRA.
        lora: LoRA with all defaults filled in; None trains all weights.
        gradient_checkpointing: Recomputes activations in the backward pass.
    """
    if lora is None:
        causal_lm = loaded.separate_twin()
        compute_dtype = None if causal_lm.dtype in (torch.float32, torch.float64) else causal_lm.dtype
        causal_lm.requires_grad_(requires_grad=True)
        if compute_dtype is not None:
            causal_lm.float()
    else:
        causal_lm = _with_lora(loaded, lora, request.seed)
        compute_dtype = None
    if gradient_checkpointing:
        _checkpoint_layers(causal_lm)
    return PolicyNetwork(
        causal_lm,
        output_size=loaded.output_size,
        compute_dtype=compute_dtype,
        has_value_head=request.has_value_head,
    )


def reference_network(loaded: LoadedModel) -> PolicyNetwork:
    """The initial weights of every model of the base. They are never trained, so they are not copied."""
    return PolicyNetwork(loaded.causal_lm, output_size=loaded.output_size, compute_dtype=None, has_value_head=False)


def resolve_lora(loaded: LoadedModel, request: ModelRequest) -> LoraSettings | None:
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
    known = lora_target_modules(loaded.causal_lm)
    unknown = sorted(set(lora.target_modules) - set(known))
    if unknown:
        raise EngineError(
            EngineErrorReason.INVALID,
            f"{request.base_model} has no linear layer {', '.join(unknown)}; it has {', '.join(known)}",
            field="lora.target_modules",
        )
    return LoraSettings(lora.rank, lora.alpha or float(lora.rank), tuple(sorted(lora.target_modules)) or known)


def trained_weights(network: PolicyNetwork) -> dict[str, nn.Parameter]:
    """The trained weights by name, in the network's order; a table shared by two layers is listed once."""
    return {name: weight for name, weight in network.named_parameters() if weight.requires_grad}


def peft_config(lora: LoraSettings, base_model: str) -> LoraConfig:
    """The adapter configuration in the format of PEFT."""
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,  # pyright: ignore[reportArgumentType] -- PEFT accepts any number
        target_modules=list(lora.target_modules),
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
        base_model_name_or_path=base_model,
    )


def _with_lora(loaded: LoadedModel, lora: LoraSettings, seed: int) -> PreTrainedModel:
    causal_lm = loaded.frozen_twin()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        inject_adapter_in_model(peft_config(lora, ""), causal_lm, ADAPTER_NAME)
    for weight in causal_lm.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float() if weight.dtype != torch.float64 else weight.data
    return causal_lm


def _checkpoint_layers(causal_lm: PreTrainedModel) -> None:
    if hasattr(causal_lm, "activation_checkpointing_enable"):
        causal_lm.activation_checkpointing_enable({"use_reentrant": False})
    else:
        # The attribute name before version 5.
        causal_lm.gradient_checkpointing_enable({"use_reentrant": False})
    for module in causal_lm.modules():
        if getattr(module, "gradient_checkpointing", False):
            # Only the layer itself: dropout inside it must stay disabled.
            module.training = True
