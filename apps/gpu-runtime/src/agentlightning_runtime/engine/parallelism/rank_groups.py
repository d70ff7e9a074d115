"""Groups of ranks that compute the same micro-batches together."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from agentlightning_runtime.engine.ranks import Ranks

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh


def join_groups(ranks: Ranks, size: int, device: torch.device, name: str) -> tuple[DeviceMesh, Ranks]:
    """Divides the ranks into groups of consecutive ranks. All ranks must call this.

    Args:
        ranks: All ranks; a multiple of `size`.
        size: Ranks of a group.
        device: The device that they compute on.
        name: Name of the dimension of a group in the mesh.

    Returns:
        The group of this rank, and the ranks with its index in their groups, which divide a batch.
    """
    count = ranks.count // size
    mesh = init_device_mesh(device.type, (count, size), mesh_dim_names=("data", name))
    members = [[part + group * size for group in range(count)] for part in range(size)]
    control, _ = dist.new_subgroups_by_enumeration(members, backend="gloo", timeout=timedelta(days=365))
    data = Ranks(ranks.index // size, count, cast("dist.ProcessGroup", control), group=mesh.get_group("data"))
    return mesh[name], data
