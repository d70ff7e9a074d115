"""The ranks of distributed training, as started by torchrun; a single process needs no communication."""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore
from torch.distributed.tensor import DTensor

from agentlightning_runtime.contract.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import nn

Result = TypeVar("Result")

#: Rank 0 may wait for clients indefinitely while the other ranks wait for it.
_PATIENCE = timedelta(days=365)


@dataclass
class Ranks:
    """The rank of this process.

    Attributes:
        index: From 0; rank 0 communicates with clients.
        count: Number of ranks.
        control: Process group for objects, on the CPU; None for a single process and after `leave`.
        checkpoints: Process group for checkpoints, written while training continues; None like `control`.
        notes: Key-value store of all ranks, for what cannot wait for a collective operation; None for a single process.
    """

    index: int = 0
    count: int = 1
    control: dist.ProcessGroup | None = None
    checkpoints: dist.ProcessGroup | None = None
    notes: Store | None = None

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

    def smallest(self, value: int) -> int:
        """The minimum over all processes."""
        if self.count == 1:
            return value
        tensor = torch.tensor(value)
        dist.all_reduce(tensor, dist.ReduceOp.MIN, group=self.control)
        return int(tensor)

    def largest_of(self, *values: int) -> list[int]:
        """The maximum of each number over all processes."""
        if self.count == 1:
            return list(values)
        tensor = torch.tensor(values)
        dist.all_reduce(tensor, dist.ReduceOp.MAX, group=self.control)
        return [int(value) for value in tensor]

    def gather(self, value: Any) -> list[Any]:
        """The objects of all ranks, in order; on all of them."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        dist.all_gather_object(values, value, group=self.control)
        return values

    def tell(self, value: Any) -> Any:
        """The object of rank 0, on all ranks."""
        if self.count == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self.control)
        return values[0]

    def agree(self, work: Callable[[], Result]) -> Result:
        """Runs work on all ranks; its result, or its `EngineError`, is that of rank 0 on all of them."""
        if self.count == 1:
            return work()
        result, failure = None, None
        try:
            result = work()
        except EngineError as error:
            failure = error
        result, reason = self.tell((result, None if failure is None else (failure.reason, failure.message)))
        if reason is not None:
            raise failure or EngineError(*reason)
        return cast("Result", result)

    def sum_up_gradients(self, weights: Iterable[nn.Parameter]) -> None:
        """Sums the gradients of replicated weights in one operation; those of shards are already summed."""
        if self.count == 1:
            return
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        replicated = [gradient for gradient in gradients if not isinstance(gradient, DTensor)]
        if not replicated:
            return
        # LoRAs have hundreds of small matrices, which would each take as long as all of them.
        total = torch.cat([gradient.flatten() for gradient in replicated])
        dist.all_reduce(total)
        parts = total.split([gradient.numel() for gradient in replicated])
        for gradient, part in zip(replicated, parts, strict=True):
            gradient.copy_(part.view_as(gradient))


def join_ranks(device: torch.device) -> Ranks:
    """Joins the process group of torchrun; a single rank without it."""
    if not is_one_of_several():
        return Ranks()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    control, checkpoints = (
        cast("dist.ProcessGroup", dist.new_group(backend="gloo", timeout=_PATIENCE)) for _ in range(2)
    )
    return Ranks(dist.get_rank(), dist.get_world_size(), control, checkpoints, _notes())


def _notes() -> Store:
    """In the store of the rendezvous, with a prefix for each restart: the launcher can keep it."""
    store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    return PrefixStore(f"agentlightning/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)


def leave_ranks(ranks: Ranks) -> None:
    """Leaves the process group and ends its threads.

    The threads of a gloo group end with its last reference. A thread that outlives the interpreter may request the
    interpreter's lock for the last tensor it sent; the process is then aborted.
    """
    if ranks.count > 1 and dist.is_initialized():
        dist.destroy_process_group()
        ranks.control = ranks.checkpoints = ranks.notes = None
        gc.collect()


def is_one_of_several() -> bool:
    """Whether torchrun started this process as one of several ranks."""
    return dist.is_torchelastic_launched() and int(os.environ.get("WORLD_SIZE", "1")) > 1


def local_rank() -> int:
    """The local rank on this machine: the index of its GPU."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def whole(tensor: Tensor) -> Tensor:
    """An unsharded tensor. All ranks must call this at the same time."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def local(tensor: Tensor) -> Tensor:
    """This rank's shard of a sharded tensor; the same memory."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
