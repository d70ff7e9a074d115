"""Shards a network's weights over processes; layers are gathered one at a time (FSDP2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentlightning_runtime.engine.base.mixed_precision import MixedPrecision
    from agentlightning_runtime.engine.base.ranks import Ranks


def shard_network(
    network: nn.Module,
    layers: Iterable[nn.Module],
    precision: MixedPrecision,
    ranks: Ranks,
    device: torch.device,
) -> None:
    """Shards the weights of a network: all of them where all are trained, else the frozen ones.

    Gradients of sharded weights become sums over all processes. The network computes what one process computes: weights
    are gathered in the short data type only where its mixed precision rounds them anyway.

    Args:
        network: A network without memory for its weights yet.
        layers: Its layers, each gathered alone.
        precision: Its mixed precision.
        ranks: The processes.
        device: The device of this one.
    """
    mesh = init_device_mesh(device.type, (ranks.count,))
    trained = {weight for weight in network.parameters() if weight.requires_grad}
    is_lora = len(trained) < len(list(network.parameters()))
    # The few weights of a LoRA stay whole on each process. Its frozen base is stored in the type it is computed in.
    replicated = trained if is_lora else set[nn.Parameter]()
    compute_dtype = None if is_lora else precision.compute_dtype

    def shard(module: nn.Module, dtype: torch.dtype | None) -> None:
        policy = MixedPrecisionPolicy(
            param_dtype=dtype,
            reduce_dtype=torch.float32,
            # Inputs are ids, and temperatures that must not be rounded.
            cast_forward_inputs=False,
        )
        # Also the root: weights that stay gathered after a forward pass do not follow a loaded checkpoint.
        fully_shard(module, mesh=mesh, mp_policy=policy, reshard_after_forward=True, ignored_params=replicated)

    for layer in layers:
        if compute_dtype is not None:
            for module in layer.modules():
                if precision.gathered_dtype(module) is None:
                    shard(module, None)
        shard(layer, compute_dtype)
    # The rest are embeddings, the last norm and the heads, whose products are computed in float32.
    shard(network, None)
    for module in network.modules():
        if isinstance(module, FSDPModule):
            # Plain sums, as everywhere: the contract does not normalise.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(enable=True)
