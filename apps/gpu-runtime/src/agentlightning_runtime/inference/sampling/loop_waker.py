"""Wakes waiters on an event loop from another thread.

Waking a loop is a system call, in which the calling thread loses the interpreter lock to the loop. A sampling step has
progress for many waiters: it wakes each loop once, at its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Generator
from weakref import WeakKeyDictionary


class LoopWaker:
    """Sets events of an event loop from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: deque[asyncio.Event] = deque()

    def wake(self, event: asyncio.Event) -> None:
        """Schedules setting an event; inside `gathered_wakes`, at its end."""
        self._due.append(event)
        if _GATHERING.wakers is None:
            self.call()
        else:
            _GATHERING.wakers.add(self)

    def call(self) -> None:
        """Sets the scheduled events on the loop. Ignored when the loop is closed: it has no waiters."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._set_all)

    def _set_all(self) -> None:
        while self._due:
            self._due.popleft().set()


class _Gathering(threading.local):
    wakers: set[LoopWaker] | None = None


_GATHERING = _Gathering()


@contextlib.contextmanager
def gathered_wakes() -> Generator[None]:
    """Defers the wakes of this thread; at its end each loop is woken once."""
    wakers = _GATHERING.wakers = set()
    try:
        yield
    finally:
        _GATHERING.wakers = None
        for waker in wakers:
            waker.call()


_WAKERS: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopWaker] = WeakKeyDictionary()


def waker_of_this_loop() -> LoopWaker:
    """The waker of the running event loop."""
    loop = asyncio.get_running_loop()
    waker = _WAKERS.get(loop)
    if waker is None:
        waker = _WAKERS[loop] = LoopWaker(loop)
    return waker
