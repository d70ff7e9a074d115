"""Sequence parallelism: the ranks of a group share the tokens of each micro-batch.

Each rank computes its part of the packed row, and within attention some of the heads of the whole row. Two all-to-all
operations in each layer exchange one for the other (DeepSpeed-Ulysses, Jacobs et al. 2023). Every rank of a group has
all scores of the micro-batch, and the gradients of its part: the gradient is the sum over all ranks.

No installed library has this for packed rows with segments and shared prefixes: accelerate needs the engine of
DeepSpeed for it, and PyTorch's `context_parallel` is ring attention, which would not be limited by the number of
heads, but divides the work of causal segments unevenly and needs kernels that return the normaliser. Ranks vote about
memory before each exchange, so that all of them repeat a batch. The head is uneven where the training tokens are at
the end of a row. It was run over gloo only, not over NCCL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.memory.memory_vote import MemoryVote
from agentlightning_runtime.engine.packing import Segment
from agentlightning_runtime.engine.parallelism.rank_groups import join_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.loss.token_scores import Scores
    from agentlightning_runtime.engine.ranks import Ranks

#: Kinds of rotary embeddings whose frequencies depend on the largest position of the row.
_DYNAMIC_ROTARY = frozenset(("dynamic", "longrope"))


@dataclass(frozen=True)
class RowPart:
    """A rank's part of a packed row.

    Attributes:
        token_ids: int64 [1, tokens / ranks].
        positions: Like the token ids.
        segments: Those of the whole row, padded.
        scored: int64: indices of the scores that this rank computes, among all of the row.
        selected: int64: index in the part that predicts each of them.
    """

    token_ids: Tensor
    positions: Tensor
    segments: Sequence[Segment]
    scored: Tensor
    selected: Tensor


@dataclass(frozen=True)
class SequenceParallelism:
    """The ranks that share the tokens of a micro-batch.

    Attributes:
        group: These ranks.
        index: The index of this rank among them.
        size: Their number.
        vote: The vote of all ranks before each exchange: a rank whose memory ran out is not waited for.
        data: The ranks with this index in their groups: each trains on its share of a batch.
    """

    group: dist.ProcessGroup
    index: int
    size: int
    vote: MemoryVote
    data: Ranks

    def part_of(self, token_ids: Tensor, positions: Tensor, segments: Sequence[Segment], selected: Tensor) -> RowPart:
        """This rank's part of a packed row, which is padded at its end to a multiple of the ranks.

        Args:
            token_ids: int64 [1, tokens].
            positions: Like the token ids.
            segments: Partition of the row.
            selected: int64: index in the row that predicts each scored token.
        """
        length = token_ids.shape[1]
        share = -(-length // self.size)
        padding = share * self.size - length
        own = slice(self.index * share, (self.index + 1) * share)
        scored = (selected // share == self.index).nonzero().squeeze(1)
        return RowPart(
            token_ids=pad(token_ids, (0, padding))[:, own],
            positions=pad(positions, (0, padding))[:, own],
            segments=segments if padding == 0 else [*segments, Segment(length, length + padding)],
            scored=scored,
            selected=selected[scored] - own.start,
        )

    def divide_heads(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """From all heads of this rank's part, [1, heads, tokens / ranks, width], to its heads of the whole row.

        Key heads that the ranks do not divide are repeated.
        """
        repeats = math.lcm(key.shape[1], self.size) // key.shape[1]
        if repeats > 1:
            key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
        parts = [states.squeeze(0).unflatten(0, (self.size, -1)) for states in (query, key, value)]
        exchanged = self._exchange(torch.cat([part.flatten(1) for part in parts], dim=1))
        received = exchanged.split([part[0].numel() for part in parts], dim=1)
        return tuple(
            each.view(part.shape).transpose(0, 1).flatten(1, 2)[None]
            for each, part in zip(received, parts, strict=True)
        )

    def divide_tokens(self, attended: Tensor) -> Tensor:
        """From this rank's heads of the whole row, [1, tokens, heads / ranks, width], to all heads of its part."""
        exchanged = self._exchange(attended.squeeze(0).unflatten(0, (self.size, -1)))
        return exchanged.transpose(0, 1).flatten(1, 2)[None]

    def combine(self, scores: Scores, scored: Tensor, count: int) -> Scores:
        """The scores of the whole row, on all ranks of the group.

        Args:
            scores: Those of this rank's part.
            scored: Their indices among those of the row.
            count: Number of scores of the row.
        """
        logprobs, entropies, values = scores
        columns = torch.stack([logprobs, entropies] if values is None else [logprobs, entropies, values])
        whole = columns.new_zeros(len(columns), count).index_copy(1, scored, columns)
        total = _Sum.apply(whole, self)
        return total[0], total[1], None if values is None else total[2]

    def _exchange(self, parts: Tensor) -> Tensor:
        return _Exchange.apply(parts, self)


class _Exchange(torch.autograd.Function):
    """An all-to-all operation: row i of the input is sent to rank i, row i of the output is received from it."""

    @staticmethod
    def forward(ctx: Any, parts: Tensor, ranks: SequenceParallelism) -> Tensor:
        ctx.ranks = ranks
        return _exchanged(parts, ranks)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _exchanged(gradient, ctx.ranks), None


class _Sum(torch.autograd.Function):
    """The sum over the group. Each rank derives the same loss from it, so the gradient needs no communication."""

    @staticmethod
    def forward(_ctx: Any, part: Tensor, ranks: SequenceParallelism) -> Tensor:
        total = part.clone()
        ranks.vote.check()
        dist.all_reduce(total, group=ranks.group)
        return total

    @staticmethod
    @once_differentiable
    def backward(_ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return gradient, None


def _exchanged(parts: Tensor, ranks: SequenceParallelism) -> Tensor:
    """All memory is allocated before the vote, so that the exchange begins on all ranks or on none."""
    parts = parts.contiguous()
    received = torch.empty_like(parts)
    ranks.vote.check()
    dist.all_to_all_single(received, parts, group=ranks.group)
    return received


def require_divisible(causal_lm: PreTrainedModel, size: int, *, can_pack: bool) -> None:
    """Checks that a number of ranks can share the sequences of a model.

    Raises:
        EngineError: INVALID when its sequences cannot be packed, or its heads cannot be divided.
    """
    kind, remedy = type(causal_lm).__name__, "Start without --sequence-parallel-size"
    if not can_pack:
        raise _unsupported(f"{kind} cannot be packed, so processes cannot share its sequences", remedy)
    dynamic = _DYNAMIC_ROTARY & _rotary_kinds(causal_lm)
    if dynamic:
        raise _unsupported(f"{kind} has {', '.join(dynamic)} rotary embeddings, which depend on the whole row", remedy)
    heads = int(getattr(causal_lm.config, "num_attention_heads", 0) or 0)
    if heads % size != 0:
        remedy = f"Start with a --sequence-parallel-size that divides {heads}"
        raise _unsupported(f"{heads} heads of {kind} cannot be divided by {size} processes", remedy)


def _rotary_kinds(causal_lm: PreTrainedModel) -> set[str]:
    kinds: set[str] = set()
    for module in causal_lm.modules():
        kind = getattr(module, "rope_type", None)
        # Models with several kinds of layers have one for each.
        kinds |= set(kind.values()) if isinstance(kind, dict) else {kind} if isinstance(kind, str) else set()
    return kinds


def join_sequence_parallelism(ranks: Ranks, size: int, device: torch.device) -> SequenceParallelism:
    """Divides the ranks into groups of a size that share micro-batches. All ranks must call this."""
    mesh, data = join_groups(ranks, size, device, "sequence")
    data = replace(data, sequence_parallel=size)
    return SequenceParallelism(mesh.get_group(), mesh.get_local_rank(), size, MemoryVote(ranks), data)


def _unsupported(message: str, remedy: str) -> EngineError:
    return EngineError(EngineErrorReason.INVALID, message, field="base_model", remedy=remedy)
