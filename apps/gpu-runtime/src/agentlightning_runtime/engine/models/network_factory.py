"""Creates a trainable network from a base model: all of its weights, or a LoRA."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from agentlightning_runtime.engine.base.mixed_precision import SHORT_TYPES
from agentlightning_runtime.engine.loading.empty_model import allocate
from agentlightning_runtime.engine.models.fused_kernels import fuse_kernels
from agentlightning_runtime.engine.models.lora import add_lora, base_weights
from agentlightning_runtime.engine.models.policy_network import PolicyNetwork

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

    from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
    from agentlightning_runtime.engine.base.ranks import Ranks
    from agentlightning_runtime.engine.models.base_model import BaseModel


def make_network(
    base: BaseModel,
    request: ModelRequest,
    lora: LoraSettings | None,
    ranks: Ranks,
    *,
    is_sharded: bool,
    gradient_checkpointing: bool,
) -> PolicyNetwork:
    """Creates a network to train. Trained weights are in float32, so that small steps are not rounded away.

    Where the base has a shorter data type, matrix products are computed in it, those of adapters too.

    Args:
        base: The base. LoRAs that are not sharded share its weights, which are then in memory.
        request: Its seed initialises the LoRA.
        lora: LoRA with all defaults filled in; None trains all weights.
        ranks: The processes that train it together.
        is_sharded: The weights, of a LoRA those of its base, are sharded over the ranks before any memory is
            allocated; each rank reads its shards.
        gradient_checkpointing: Recomputes activations in the backward pass.
    """
    compute_dtype = base.dtype if base.dtype in SHORT_TYPES else None
    if lora is None:
        causal_lm = copy.deepcopy(base.outline().causal_lm).requires_grad_(requires_grad=True)
        if compute_dtype is not None:
            causal_lm.float()
    else:
        causal_lm = copy.deepcopy(base.outline().causal_lm) if is_sharded else base.load().frozen_twin()
        add_lora(causal_lm, lora, request.seed)
    fuse_kernels(causal_lm, base.device)
    if gradient_checkpointing:
        _checkpoint_layers(causal_lm)
    network = PolicyNetwork(
        causal_lm,
        output_size=base.outline().output_size,
        compute_dtype=compute_dtype,
        has_value_head=request.has_value_head,
        is_sharded=is_sharded,
    )
    if lora is None or is_sharded:
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
    base.fill(base_weights(network.causal_lm))
    network.reset_value_head()


def trained_weights(network: PolicyNetwork) -> dict[str, nn.Parameter]:
    """The trained weights by name, in the network's order; a table shared by two layers is listed once."""
    return {name: weight for name, weight in network.named_parameters() if weight.requires_grad}


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
