"""The queue for the engine: clients share its time equally, regardless of how much they send.

The queue is start-time fair queueing (Goyal et al. 1996). Admission in the order of arrival gave a client with ten
models ten shares; round robin counts operations, which differ by orders of magnitude in time. Preemption within a
batch would need the gradients of half a batch. A client that sends its next operation after the result of the last
alternates with the others: the queue does not wait for it.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

Share = tuple[str, ...]
"""The client of an operation, from the outermost to the innermost: user, session, model."""


@dataclass(eq=False)
class _Waiting:
    share: Share
    admitted: asyncio.Future[None]


class FairQueue:
    """Admits one operation at a time: of the least served user, of its sessions the least served, then of its models.

    Service is time in the engine. A client that was idle starts with the service of the last admitted one, so that
    idle time is not saved up; therefore every waiting operation is admitted after a bounded time.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: list[_Waiting] = []
        self._running: Share | None = None
        # By the prefixes of shares; cleared when nothing runs or waits.
        self._served_s: dict[Share, float] = {}
        # By the prefix of the level above: service of the client admitted last.
        self._last_s: dict[Share, float] = {}

    @property
    def is_busy(self) -> bool:
        """Whether an operation runs or waits."""
        return self._running is not None

    @asynccontextmanager
    async def turn(self, share: Share) -> AsyncGenerator[None]:
        """Waits until the operation is admitted; the next one is admitted at the end of the context."""
        await self._enter(share)
        began_s = self._clock()
        try:
            yield
        finally:
            for prefix in _prefixes(share):
                self._served_s[prefix] = self._served_s.get(prefix, 0.0) + self._clock() - began_s
            # Later in this turn of the loop: the next operation of the same client enters the queue before.
            asyncio.get_running_loop().call_soon(self._admit_next)

    async def _enter(self, share: Share) -> None:
        if self._running is None:
            self._admit(share)
            return
        active = [self._running, *(each.share for each in self._waiting)]
        for prefix in _prefixes(share):
            if not any(each[: len(prefix)] == prefix for each in active):
                served_s = self._served_s.get(prefix, 0.0)
                self._served_s[prefix] = max(served_s, self._last_s.get(prefix[:-1], 0.0))
        entry = _Waiting(share, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        try:
            await entry.admitted
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
            else:
                self._admit_next()
            raise

    def _admit_next(self) -> None:
        if not self._waiting:
            self._running = None
            self._served_s.clear()
            self._last_s.clear()
            return
        # Of equally served clients the one that has waited longest: `min` returns the first.
        entry = min(self._waiting, key=lambda each: [self._served_s.get(at, 0.0) for at in _prefixes(each.share)])
        self._waiting.remove(entry)
        self._admit(entry.share)
        entry.admitted.set_result(None)

    def _admit(self, share: Share) -> None:
        self._running = share
        for prefix in _prefixes(share):
            self._last_s[prefix[:-1]] = self._served_s.setdefault(prefix, 0.0)


def _prefixes(share: Share) -> list[Share]:
    return [share[: level + 1] for level in range(len(share))]
