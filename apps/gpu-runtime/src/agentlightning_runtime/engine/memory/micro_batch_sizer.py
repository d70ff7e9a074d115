"""The size of micro-batches: a limit, and as much as memory allows."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from agentlightning_runtime.engine.base.ranks import Ranks
    from agentlightning_runtime.engine.memory.device_memory import DeviceMemory

#: Tokens in a micro-batch before the memory for each token is known.
PROBE_TOKENS = 2048

#: Fraction of the available memory that a micro-batch may need; the rest is for fragmentation and other processes.
_USABLE = 0.8


class MicroBatchSizer:
    """Decides the maximum tokens of a micro-batch, padding included.

    With a memory to measure, the first batch runs in micro-batches of `PROBE_TOKENS`, and later ones use what fits in
    the available memory. The peaks of the largest micro-batch so far, and of one of half its tokens or less, are a line
    over the tokens: what does not depend on tokens is not counted for each. Until there are two, the peak is
    proportional to the tokens. Without a memory, the size is the limit.

    Args:
        limit: Maximum tokens; lower after memory ran out.
        memory: The measured memory; None: the limit is always used.
        ranks: All of them use the size of the one with the least memory.

    Attributes:
        max_tokens_seen_ok: Largest number of tokens in a micro-batch that fitted.
    """

    def __init__(self, limit: int, memory: DeviceMemory | None, ranks: Ranks) -> None:
        self._limit = limit
        self._memory = memory
        self._ranks = ranks
        # Tokens and peak.
        self._small: tuple[int, int] | None = None
        self._large: tuple[int, int] | None = None
        self.max_tokens_seen_ok = 0

    def choose(self) -> int:
        """The maximum tokens of the micro-batches of the next batch, at least 1. All ranks must call this together."""
        return self._ranks.smallest(min(self._limit, self._affordable()))

    @contextmanager
    def measure(self, tokens: int) -> Generator[None]:
        """Measures the pass of one micro-batch, unless it would tell nothing new. A failed pass does not count.

        Args:
            tokens: Its tokens, padding included.
        """
        memory = self._memory if self._is_new(tokens) else None
        if memory is not None:
            memory.start_measurement()
        yield
        if memory is None:
            return
        measured = tokens, memory.peak_increase()
        if self._large is not None and tokens < self._large[0]:
            self._small = measured
            return
        if self._small is None and self._large is not None and 2 * self._large[0] <= tokens:
            self._small = self._large
        self._large = measured

    def record_success(self, tokens: int) -> None:
        """Records the tokens of a micro-batch that fitted, for error messages."""
        self.max_tokens_seen_ok = max(self.max_tokens_seen_ok, tokens)

    def reduce(self, failed_tokens: int) -> None:
        """Halves the size for all later batches, after memory ran out.

        Args:
            failed_tokens: Tokens of the micro-batch that did not fit, padding included.
        """
        self._limit = max(1, min(self._limit, failed_tokens) // 2)

    def _is_new(self, tokens: int) -> bool:
        if self._large is None or tokens > self._large[0]:
            return True
        return self._small is None and 2 * tokens <= self._large[0]

    def _affordable(self) -> int:
        if self._memory is None:
            return self._limit
        if self._large is None or self._large[1] <= 0:
            return PROBE_TOKENS
        tokens, peak = self._large
        slope, fixed = peak / tokens, 0.0
        if self._small is not None and self._small[1] < peak:
            fewer, less = self._small
            slope = (peak - less) / (tokens - fewer)
            fixed = max(0.0, peak - slope * tokens)
            slope = (peak - fixed) / tokens
        return max(1, int((self._memory.available() * _USABLE - fixed) / slope))
