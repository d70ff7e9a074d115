"""The processes that train together, as torchrun starts them; one alone has nothing to say to others."""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import nn

#: The first process waits for clients for as long as they like; the others wait for it.
_PATIENCE = timedelta(days=365)


@dataclass
class Ranks:
    """Which of the processes this is.

    Attributes:
        index: From 0; the first one talks to clients.
        count: How many there are.
        control: Where objects are passed around, on the CPU; None when there is only one, and after parting.
    """

    index: int = 0
    count: int = 1
    control: dist.ProcessGroup | None = None

    def sum_up(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.count > 1:
            dist.all_reduce(tensor)
        return tensor

    def largest(self, tensor: Tensor) -> Tensor:
        """The maximum over all processes, in place."""
        if self.count > 1:
            dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return tensor

    def gather(self, value: Any) -> list[Any]:
        """What each process has, in their order; in all of them."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        dist.all_gather_object(values, value, group=self.control)
        return values

    def tell(self, value: Any) -> Any:
        """What the first process has, in all of them."""
        if self.count == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self.control)
        return values[0]

    def sum_up_gradients(self, weights: Iterable[nn.Parameter]) -> None:
        """Adds up the gradients of weights that every process has whole; those in shards are summed already."""
        if self.count == 1:
            return
        for weight in weights:
            if weight.grad is not None and not isinstance(weight.grad, DTensor):
                dist.all_reduce(weight.grad)


def join_ranks(device: torch.device) -> Ranks:
    """Meets the other processes that torchrun started; alone when there are none."""
    if not is_started_by_torchrun():
        return Ranks()
    if not dist.is_initialized():
        if device.type == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    control = cast("dist.ProcessGroup", dist.new_group(backend="gloo", timeout=_PATIENCE))
    return Ranks(dist.get_rank(), dist.get_world_size(), control)


def leave_ranks(ranks: Ranks) -> None:
    """Parts from the other processes, and ends the threads that spoke with them.

    The threads of a gloo group end with its last reference. One that still lives when the interpreter is torn down may
    want the interpreter's lock for the tensor it sent last; the process is then aborted instead of ending.
    """
    if ranks.count > 1 and dist.is_initialized():
        dist.destroy_process_group()
        ranks.control = None
        gc.collect()


def is_started_by_torchrun() -> bool:
    """Whether there are other processes to train with."""
    return dist.is_torchelastic_launched() and int(os.environ.get("WORLD_SIZE", "1")) > 1


def local_rank() -> int:
    """Which of the processes on this machine this is: the number of its GPU."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def whole(tensor: Tensor) -> Tensor:
    """A tensor that is not in shards. All processes must ask at the same time."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def shard_like(tensor: Tensor, example: Tensor) -> Tensor:
    """A whole tensor in the shards of an example; all processes must have the same one, and ask at the same time."""
    if not isinstance(example, DTensor) or tensor.dim() == 0:
        return tensor.to(example.device, copy=True)
    return distribute_tensor(tensor.to(example.device), example.device_mesh, example.placements)
