"""Shards a network's weights over processes; layers are gathered one at a time (FSDP2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import nn

    from agentlightning_runtime.engine.base.mixed_precision import MixedPrecision
    from agentlightning_runtime.engine.base.ranks import Ranks


def shard_network(
    network: nn.Module,
    layers: Iterable[nn.Module],
    precision: MixedPrecision,
    ranks: Ranks,
    device: torch.device,
) -> None:
    """Shards a network all of whose weights are trained. Its gradients become sums over all processes.

    It computes what one process computes: weights are gathered in the short data type only where the network's mixed
    precision rounds them anyway.

    Args:
        network: A network without memory for its weights yet.
        layers: Its layers, each gathered alone.
        precision: Its mixed precision.
        ranks: The processes.
        device: The device of this one.
    """
    mesh = init_device_mesh(device.type, (ranks.count,))

    def shard(module: nn.Module, dtype: torch.dtype | None) -> None:
        policy = MixedPrecisionPolicy(
            param_dtype=dtype,
            reduce_dtype=torch.float32,
            # Inputs are ids, and temperatures that must not be rounded.
            cast_forward_inputs=False,
        )
        # Also the root: weights that stay gathered after a forward pass do not follow a loaded checkpoint.
        fully_shard(module, mesh=mesh, mp_policy=policy, reshard_after_forward=True)

    for layer in layers:
        if precision.compute_dtype is not None:
            for module in layer.modules():
                if precision.gathered_dtype(module) is None:
                    shard(module, None)
        shard(layer, precision.compute_dtype)
    # The rest are embeddings, the last norm and the heads, whose products are computed in float32.
    shard(network, None)
    for module in network.modules():
        if isinstance(module, FSDPModule):
            # Plain sums, as everywhere: the contract does not normalise.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(enable=True)
