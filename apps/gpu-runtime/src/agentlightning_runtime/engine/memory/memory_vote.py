"""Ranks end a pass together when memory runs out on one of them.

The ranks vote after every micro-batch, and with sharded weights also before every collective operation of a pass, since
a rank that waited there for one that failed would wait forever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentlightning_runtime.engine.ranks import Ranks


@dataclass(frozen=True)
class Exhaustion:
    """Memory ran out on at least one rank.

    Attributes:
        tokens: Tokens of the micro-batch that did not fit, padding included; the maximum over the ranks.
        sequences: Its sequences; the maximum over the ranks.
    """

    tokens: int
    sequences: int


class PassEndedError(Exception):
    """Memory ran out on another rank."""

    def __init__(self, exhaustion: Exhaustion) -> None:
        super().__init__(f"Memory ran out on another rank with {exhaustion.tokens} tokens")
        self.exhaustion = exhaustion


class MemoryVote:
    """The vote of all ranks. A rank that ran out of memory takes part once more and no longer in this pass."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks

    def take(self, *, tokens: int = 0, sequences: int = 0) -> Exhaustion | None:
        """Takes part with the micro-batch that did not fit on this rank; 0 when memory sufficed so far.

        Returns:
            The same on all ranks; None when memory sufficed on all.
        """
        found = Exhaustion(*self._ranks.largest_of(tokens, sequences))
        return found if found.tokens > 0 else None

    def check(self) -> None:
        """Takes part before a collective operation.

        Raises:
            PassEndedError: on all ranks with sufficient memory, when it ran out on another.
        """
        found = self.take()
        if found is not None:
            raise PassEndedError(found)
