"""Clients share the engine's time."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from agentlightning_runtime.service.hosting.fair_queue import FairQueue

if TYPE_CHECKING:
    from agentlightning_runtime.service.hosting.fair_queue import Share


class Engine:
    """Runs operations through a queue; each advances the clock by its seconds."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.queue = FairQueue(lambda: self.now_s)
        self.order: list[Share] = []
        self._goal: tuple[int, asyncio.Future[None]] | None = None

    async def until(self, count: int) -> None:
        """Waits for this number of operations."""
        self._goal = count, asyncio.get_running_loop().create_future()
        await self._goal[1]

    async def work(self, share: Share, seconds: float, count: int = 1) -> None:
        """A closed loop of operations: the next one is sent when the one before has ended."""
        for _ in range(count):
            async with self.queue.turn(share):
                await asyncio.sleep(0)
                self.now_s += seconds
                self.order.append(share)
                if self._goal is not None and len(self.order) == self._goal[0]:
                    self._goal[1].set_result(None)


def test_a_client_with_few_operations_is_not_behind_the_many_of_another() -> None:
    async def play() -> None:
        engine = Engine()
        many = [asyncio.create_task(engine.work(("many", f"s{index}", "m"), 1.0)) for index in range(50)]
        await asyncio.sleep(0)
        await engine.work(("few", "s", "m"), 1.0, count=3)
        assert [index for index, share in enumerate(engine.order) if share[0] == "few"] == [1, 3, 5]
        await asyncio.gather(*many)
        assert len(engine.order) == 53

    asyncio.run(play())


def test_sessions_of_a_user_share_its_part_and_models_that_of_their_session() -> None:
    async def play() -> None:
        engine = Engine()
        shares = [("a", "s1", "m1"), ("a", "s1", "m2"), ("a", "s2", "m3"), ("b", "s3", "m4")]
        tasks = [asyncio.create_task(engine.work(share, 1.0, count=100)) for share in shares]
        await engine.until(80)
        served = Counter(share[2] for share in engine.order[:80])
        assert served == pytest.approx({"m4": 40, "m3": 20, "m1": 10, "m2": 10}, abs=1)
        for task in tasks:
            task.cancel()

    asyncio.run(play())


def test_the_share_is_time_and_not_the_number_of_operations() -> None:
    async def play() -> None:
        engine = Engine()
        long = asyncio.create_task(engine.work(("long", "s", "m"), 10.0, count=20))
        short = asyncio.create_task(engine.work(("short", "s", "m"), 1.0, count=150))
        await engine.until(110)
        served = Counter(share[0] for share in engine.order[:110])
        assert served["short"] == pytest.approx(10 * served["long"], abs=10)
        long.cancel()
        short.cancel()

    asyncio.run(play())


def test_idle_time_is_not_saved_up() -> None:
    async def play() -> None:
        engine = Engine()
        busy = asyncio.create_task(engine.work(("busy", "s", "m"), 1.0, count=200))
        other = asyncio.create_task(engine.work(("other", "s", "m"), 1.0, count=200))
        await engine.until(100)
        began = len(engine.order)
        late = asyncio.create_task(engine.work(("late", "s", "m"), 1.0, count=50))
        await engine.until(began + 60)
        served = Counter(share[0] for share in engine.order[began : began + 60])
        assert served == pytest.approx({"busy": 20, "other": 20, "late": 20}, abs=2)
        for task in (busy, other, late):
            task.cancel()

    asyncio.run(play())


def test_nothing_starves_while_new_clients_keep_coming() -> None:
    async def play() -> None:
        engine = Engine()
        holding = asyncio.create_task(engine.work(("first", "s", "m"), 1.0, count=10))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(engine.work(("old", "s", "m"), 1.0))
        newcomers: list[asyncio.Task[None]] = []
        while not waiting.done():
            newcomers += [asyncio.create_task(engine.work((f"new{len(newcomers)}", "s", "m"), 1.0)) for _ in range(2)]
            await asyncio.sleep(0)
            assert len(engine.order) < 5
        await asyncio.gather(holding, *newcomers)

    asyncio.run(play())


def test_a_cancelled_operation_leaves_the_queue() -> None:
    async def play() -> None:
        engine = Engine()
        async with engine.queue.turn(("a", "s", "m")):
            waiting = asyncio.create_task(engine.work(("b", "s", "m"), 1.0))
            admitted = asyncio.create_task(engine.work(("c", "s", "m"), 1.0))
            await asyncio.sleep(0)
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting
        # Cancelled after it was admitted and before it began.
        admitted.cancel()
        with suppress(asyncio.CancelledError):
            await admitted
        await asyncio.sleep(0)
        assert not engine.queue.is_busy
        await engine.work(("d", "s", "m"), 1.0)
        assert engine.order == [("d", "s", "m")]

    asyncio.run(play())
