"""Packs sequences end to end in one row. What several have in common at their beginning is in the row once.

The row is a tree of prefixes: a group's prompt is computed once, and its gradient is the sum over the sequences that
share it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from agentlightning_runtime.contract.images import PreparedImage
    from agentlightning_runtime.engine.base.example import Example

#: Fewer tokens in common are computed for each sequence: a segment costs a call in every layer.
MIN_SHARED_TOKENS = 16


@dataclass(frozen=True)
class Segment:
    """Consecutive tokens of a row: each attends to the prefix, to the segment's tokens before it, and to itself.

    Attributes:
        start: First token.
        end: After the last token.
        prefix: Half-open intervals of the row that precede the segment in its sequences, in order.
    """

    start: int
    end: int
    prefix: Sequence[tuple[int, int]] = ()


@dataclass
class PackedRow:
    """A row of packed sequences.

    Attributes:
        tokens: Its parts.
        positions: Position of each token in its sequence, by part: [tokens], or [3, tokens] in a row with images.
        segments: Parts of the row, with the parts before them in their sequences.
        places: For each example, in order, the index in the row of each of its tokens.
        images: Images, each with the index in the row of its first token.
        length: Tokens in the row.
    """

    tokens: list[NDArray[np.int64]] = field(default_factory=list[np.ndarray])
    positions: list[NDArray[np.int64]] = field(default_factory=list[np.ndarray])
    segments: list[Segment] = field(default_factory=list[Segment])
    places: list[NDArray[np.int64]] = field(default_factory=list[np.ndarray])
    images: list[tuple[int, PreparedImage]] = field(default_factory=list)
    length: int = 0


def plan_packed(examples: Sequence[Example], token_budget: int) -> list[Sequence[Example]]:
    """Groups of examples whose rows have at most `token_budget` tokens; a longer example is a group alone.

    Each patch of a row's distinct images counts as a token. Examples with common prefixes are neighbours. The largest
    groups come first, so that a batch that does not fit in memory fails early.
    """
    groups: list[tuple[int, list[Example]]] = []
    digests: set[str] = set()
    for example in sorted(examples, key=lambda each: (_sort_key(each), each.index)):
        last = groups[-1][1][-1] if groups else None
        common = 0 if last is None else common_prefix(last, example)
        # A row shares all but the last few of the common tokens, at the least.
        cost = example.length - max(0, common - MIN_SHARED_TOKENS + 1)
        cost += example.patches_besides(digests)
        if groups and groups[-1][0] + cost <= token_budget:
            groups[-1] = groups[-1][0] + cost, [*groups[-1][1], example]
            digests.update(example.patches)
        else:
            groups.append((example.size, [example]))
            digests = set(example.patches)
    groups.sort(key=lambda group: -group[0])
    return [group for _, group in groups]


def pack(examples: Sequence[Example]) -> PackedRow:
    """The row of a group; neighbours share their common prefixes."""
    row = PackedRow(places=[np.zeros(example.length, dtype=np.int64) for example in examples])
    common = [common_prefix(one, other) for one, other in itertools.pairwise(examples)]
    # Sequences that have this many tokens in common, which are in the row at these intervals.
    waiting: list[tuple[range, int, tuple[tuple[int, int], ...]]] = [(range(len(examples)), 0, ())]
    while waiting:
        members, depth, prefix = waiting.pop()
        at = members.start
        while at < members.stop:
            end, shared = at + 1, examples[at].length
            while end < members.stop and min(shared, common[end - 1]) - depth >= MIN_SHARED_TOKENS:
                shared = min(shared, common[end - 1])
                end += 1
            _append(row, examples, range(at, end), (depth, shared), prefix)
            begin = row.length - (shared - depth)
            deeper = _extended(prefix, begin, row.length)
            first = next((each for each in range(at, end) if examples[each].length > shared), end)
            if first < end:
                waiting.append((range(first, end), shared, deeper))
            at = end
    return row


def common_prefix(one: Example, other: Example) -> int:
    """The number of input tokens that two examples have in common at their beginning."""
    length = min(one.length, other.length)
    differs = one.identity[:length] != other.identity[:length]
    return int(np.argmax(differs)) if differs.any() else length


def _append(
    row: PackedRow,
    examples: Sequence[Example],
    members: range,
    interval: tuple[int, int],
    prefix: Sequence[tuple[int, int]],
) -> None:
    """Adds the tokens of an interval of positions, which all members have in common."""
    start, end = interval
    begin = row.length
    first = examples[members.start]
    row.tokens.append(first.datum.token_ids[start:end].astype(np.int64))
    has_images = any(example.images for example in examples)
    row.positions.append(first.places[:, start:end] if has_images else np.arange(start, end, dtype=np.int64))
    row.images.extend((begin + one.start - start, one.image) for one in first.images if start <= one.start < end)
    row.segments.append(Segment(begin, begin + end - start, prefix))
    row.length = begin + end - start
    for member in members:
        row.places[member][start:end] = np.arange(begin, row.length, dtype=np.int64)


def _extended(prefix: tuple[tuple[int, int], ...], begin: int, end: int) -> tuple[tuple[int, int], ...]:
    """The intervals with one more, joined to the last where they touch."""
    if prefix and prefix[-1][1] == begin:
        return *prefix[:-1], (prefix[-1][0], end)
    return *prefix, (begin, end)


def _sort_key(example: Example) -> bytes:
    """Big-endian, so that the order of the bytes is that of the tokens."""
    return example.identity.astype(">i8").tobytes()
