"""Creates a trainable network from a base model: all of its weights, or a LoRA."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING

import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import nn

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import LoraSettings
from agentlightning_runtime.engine.base.mixed_precision import SHORT_TYPES
from agentlightning_runtime.engine.loading.empty_model import allocate
from agentlightning_runtime.engine.models.base_model import MAX_LORA_RANK, BaseModel, lora_target_modules
from agentlightning_runtime.engine.models.fused_kernels import fuse_kernels
from agentlightning_runtime.engine.models.policy_network import PolicyNetwork

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from agentlightning_runtime.contract.settings import ModelRequest
    from agentlightning_runtime.engine.base.ranks import Ranks
    from agentlightning_runtime.engine.loading.loaded_model import LoadedModel

#: PEFT's name for the only adapter of a model.
ADAPTER_NAME = "default"


def make_network(
    base: BaseModel,
    request: ModelRequest,
    lora: LoraSettings | None,
    ranks: Ranks,
    *,
    gradient_checkpointing: bool,
) -> PolicyNetwork:
    """Creates a network to train. Trained weights are in float32, so that small steps are not rounded away.

    Where the base has a shorter data type, matrix products are computed in it, those of adapters too.

    With all weights trained it is sharded over the ranks before any memory is allocated; each rank reads its shards.

    Args:
        base: The base; its weights are in memory, and shared, only when a LoRA is trained.
        request: Its seed initialises the LoRA.
        lora: LoRA with all defaults filled in; None trains all weights.
        ranks: The processes that train it together.
        gradient_checkpointing: Recomputes activations in the backward pass.
    """
    compute_dtype = base.dtype if base.dtype in SHORT_TYPES else None
    if lora is None:
        causal_lm = copy.deepcopy(base.outline().causal_lm).requires_grad_(requires_grad=True)
        if compute_dtype is not None:
            causal_lm.float()
    else:
        causal_lm = lora_model(base, lora, request.seed)
    fuse_kernels(causal_lm, base.device)
    if gradient_checkpointing:
        _checkpoint_layers(causal_lm)
    network = PolicyNetwork(
        causal_lm,
        output_size=base.outline().output_size,
        compute_dtype=compute_dtype,
        has_value_head=request.has_value_head,
    )
    if lora is None:
        _load_weights(network, base, ranks)
    return network


def reference_network(base: BaseModel, ranks: Ranks, *, is_sharded: bool) -> PolicyNetwork:
    """The initial weights of every model of the base, which are never trained.

    Args:
        base: The base model.
        ranks: The processes that compute it together.
        is_sharded: Sharded over the ranks; otherwise the base itself, which LoRAs share.
    """
    causal_lm = copy.deepcopy(base.outline().causal_lm) if is_sharded else base.load().causal_lm
    fuse_kernels(causal_lm, base.device)
    output_size = base.outline().output_size
    network = PolicyNetwork(
        causal_lm,
        output_size=output_size,
        compute_dtype=None,
        has_value_head=False,
    )
    if is_sharded:
        _load_weights(network, base, ranks)
    return network


def _load_weights(network: PolicyNetwork, base: BaseModel, ranks: Ranks) -> None:
    """Allocates the network's weights, of sharded ones this rank's shards, and reads those of the base."""
    if ranks.count > 1:
        # Needs a newer torch than the rest.
        from agentlightning_runtime.engine.experimental.sharding import shard_network

        layers = getattr(network.causal_lm.get_decoder(), "layers", None) or []
        shard_network(network, layers, network.precision, ranks, base.device)
    allocate(network, base.device)
    base.fill(network.causal_lm)
    network.reset_value_head()


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


def trained_weights(network: PolicyNetwork) -> dict[str, nn.Parameter]:
    """The trained weights by name, in the network's order; a table shared by two layers is listed once."""
    return {name: weight for name, weight in network.named_parameters() if weight.requires_grad}


def peft_config(lora: LoraSettings, causal_lm: PreTrainedModel, base_model: str = "") -> LoraConfig:
    """The adapter configuration for a base model in the format of PEFT."""
    towers = "|".join(re.escape(name) for name in _towers(causal_lm))
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,  # pyright: ignore[reportArgumentType] -- PEFT accepts any number
        target_modules=list(lora.target_modules),
        # Their layers can have the names of the decoder's.
        exclude_modules=rf"(?:{towers})\..*" if towers else None,
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
        base_model_name_or_path=base_model,
    )


def _towers(causal_lm: PreTrainedModel) -> list[str]:
    """Names of the modules with layers beside the decoder, such as a vision tower."""
    decoder = causal_lm.get_decoder()
    above, _, own = next(name for name, each in causal_lm.named_modules() if each is decoder).rpartition(".")
    prefix = f"{above}." if above else ""
    return [
        prefix + name
        for name, module in causal_lm.get_submodule(above).named_children()
        if name != own
        and not isinstance(module, nn.Linear)
        and any(isinstance(each, nn.Linear) for each in module.modules())
    ]


def lora_model(base: BaseModel, lora: LoraSettings, seed: int) -> PreTrainedModel:
    """A LoRA with initial values on the shared weights of the base."""
    causal_lm = base.load().frozen_twin()
    # Of other GPUs nothing is drawn.
    with torch.random.fork_rng(devices=[base.device] if base.device.type == "cuda" else []):
        torch.manual_seed(seed)
        inject_adapter_in_model(peft_config(lora, causal_lm), causal_lm, ADAPTER_NAME)
    for module in causal_lm.modules():
        if isinstance(module, LoraLayer):
            # Autocast rounds the operands; otherwise a copy of every input in float32 is kept for the backward pass.
            module.cast_input_dtype_enabled = False
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight.requires_grad and weight.dtype != torch.float64:
                setattr(module, name, nn.Parameter(weight.detach().float()))
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
