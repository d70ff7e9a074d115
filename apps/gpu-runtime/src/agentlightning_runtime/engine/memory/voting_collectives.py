"""Collective operations of sharded weights, each after a vote: a rank that failed is not waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.distributed.fsdp import FSDPModule
from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultAllGather, DefaultReduceScatter

from agentlightning_runtime.engine.memory.memory_vote import MemoryVote

if TYPE_CHECKING:
    import torch.distributed as dist
    from torch import Tensor, nn

    from agentlightning_runtime.engine.ranks import Ranks


def vote_before_collectives(network: nn.Module, ranks: Ranks) -> None:
    """Makes the ranks vote before each all-gather and reduce-scatter of a sharded network."""
    vote = MemoryVote(ranks)
    for module in network.modules():
        if isinstance(module, FSDPModule):
            module.set_custom_all_gather(_VotingAllGather(vote))
            module.set_custom_reduce_scatter(_VotingReduceScatter(vote))


class _VotingAllGather(DefaultAllGather):
    """An all-gather after a vote. Its memory is allocated before, so that it begins on all ranks or on none."""

    def __init__(self, vote: MemoryVote) -> None:
        self._vote = vote

    def __call__(
        self, output_tensor: Tensor, input_tensor: Tensor, group: dist.ProcessGroup, async_op: bool = False
    ) -> dist.Work | None:
        """Gathers the shards of all ranks.

        Raises:
            PassEndedError: when memory ran out on another rank.
        """
        self._vote.check()
        return super().__call__(output_tensor, input_tensor, group, async_op)


class _VotingReduceScatter(DefaultReduceScatter):
    """A reduce-scatter after a vote."""

    def __init__(self, vote: MemoryVote) -> None:
        self._vote = vote

    def __call__(
        self,
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: dist.ProcessGroup,
        op: dist.ReduceOp | dist.ReduceOp.RedOpType,
        async_op: bool = False,
    ) -> dist.Work:
        """Sums the gradients of all ranks into their shards.

        Raises:
            PassEndedError: when memory ran out on another rank.
        """
        self._vote.check()
        return super().__call__(output_tensor, input_tensor, group, op, async_op)
