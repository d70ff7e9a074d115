"""Waking an event loop from the sampling thread."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from agentlightning_runtime.inference.sampling.loop_waker import LoopWaker, gathered_wakes, waker_of_this_loop

if TYPE_CHECKING:
    import pytest


def test_wakes_that_are_gathered_call_the_loop_once_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[LoopWaker] = []
    call = LoopWaker.call

    def counted(self: LoopWaker) -> None:
        calls.append(self)
        call(self)

    monkeypatch.setattr(LoopWaker, "call", counted)

    async def play() -> None:
        waker = waker_of_this_loop()
        assert waker_of_this_loop() is waker
        events = [asyncio.Event() for _ in range(5)]

        def sample() -> None:
            with gathered_wakes():
                for event in events:
                    waker.wake(event)
                assert calls == []
            assert calls == [waker]
            waker.wake(events[0])

        await asyncio.to_thread(sample)
        await asyncio.wait_for(asyncio.gather(*(event.wait() for event in events)), 60)
        assert len(calls) == 2

    asyncio.run(play())


def test_what_is_gathered_in_one_thread_holds_up_no_other() -> None:
    async def play() -> None:
        waker, event = waker_of_this_loop(), asyncio.Event()
        is_inside, is_done = threading.Event(), threading.Event()

        def gather() -> None:
            with gathered_wakes():
                is_inside.set()
                is_done.wait(60)

        gathering = asyncio.create_task(asyncio.to_thread(gather))
        await asyncio.to_thread(is_inside.wait, 60)
        await asyncio.to_thread(waker.wake, event)
        await asyncio.wait_for(event.wait(), 60)
        is_done.set()
        await gathering

    asyncio.run(play())


def test_nobody_is_woken_in_a_loop_that_has_closed() -> None:
    async def open_waker() -> LoopWaker:
        return waker_of_this_loop()

    waker = asyncio.run(open_waker())
    with gathered_wakes():
        waker.wake(asyncio.Event())
