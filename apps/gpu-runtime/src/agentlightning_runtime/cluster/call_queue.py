"""The queue between the front process and rank 0. Runs as an actor of Ray beside the front process."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from agentlightning_runtime.cluster.call import Call, Failure, Reply
from agentlightning_runtime.cluster.recovery_log import RecoveryLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentlightning_runtime.cluster.recovery_log import History
    from agentlightning_runtime.contract.results import Checkpoint

MOST_TRIES = 3
"""Number of worker groups in a row that may fail during one call, or before they have restored the models.

After as many again that could not start, all calls fail.
"""

Lane = Literal["operations", "side"]
"""`operations`: one call at a time. `side`: calls that may run during an operation: `pause`, `resume`."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The inference endpoint of rank 0.

    Attributes:
        generation: The worker group, counted from 1.
        url: Address without `/v1`.
    """

    generation: int
    url: str


@dataclass(slots=True)
class _Pending:
    number: int
    call: Call
    reply: asyncio.Future[Reply] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    tries: int = 0
    is_running: bool = False


class CallQueue:
    """Delivers calls to the current worker group, again when the group is replaced before it has replied.

    Rank 0 of a group calls `begin`, restores the models, and calls `ready`; then it takes calls with `next` and reports
    each with `finish`. Reports of an earlier group are ignored.
    """

    def __init__(self) -> None:
        self._log = RecoveryLog()
        self._generation = 0
        self._upstream: Upstream | None = None
        self._lanes: dict[Lane, deque[_Pending]] = {"operations": deque(), "side": deque()}
        self._numbers = itertools.count(1)
        self._saves: dict[int, asyncio.Future[Reply]] = {}
        self._progress = (0, 0)
        self._failed_restores = 0
        self._end: Failure | None = None
        self._is_stopped = False
        self._changed = asyncio.Condition()

    # For the front process

    async def call(self, call: Call, lane: Lane = "operations") -> Reply:
        """Executes a call and returns the reply. The result of `save_checkpoint` is a number for `saved_checkpoint`."""
        if self._end is not None:
            return Reply(failure=self._end)
        pending = _Pending(next(self._numbers), call)
        if call.method == "save_checkpoint":
            self._saves[pending.number] = asyncio.get_running_loop().create_future()
        self._lanes[lane].append(pending)
        await self._notify()
        return await pending.reply

    async def saved_checkpoint(self, number: int) -> Reply:
        """The checkpoint of a save, once it is on disk."""
        reply = await self._saves[number]
        del self._saves[number]
        return reply

    async def progress(self) -> tuple[int, int]:
        """Completed and total work of the running operation."""
        return self._progress

    async def upstream(self, newer_than: int, timeout_s: float) -> Upstream | None:
        """The endpoint of a later worker group than this one; None when no group has one in time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._until(lambda: self._upstream is not None and self._upstream.generation > newer_than)
        except TimeoutError:
            return None
        return self._upstream

    async def stop(self) -> None:
        """Ends the worker group in good order."""
        self._is_stopped = True
        await self._notify()

    async def fail(self, failure: Failure) -> None:
        """Fails all calls, waiting and future: the workers cannot be started."""
        self._end = self._end or failure
        for lane in self._lanes.values():
            for pending in lane:
                self._resolve(pending.reply, Reply(failure=failure))
            lane.clear()
        for saving in self._saves.values():
            self._resolve(saving, Reply(failure=failure))
        await self._notify()

    # For rank 0

    async def begin(self) -> tuple[int, list[History]]:
        """Starts a generation; returns its number and the models to restore."""
        self._generation += 1
        self._upstream = None
        for lane in self._lanes.values():
            for pending in list(lane):
                self._return_to_queue(lane, pending)
        if self._failed_restores >= MOST_TRIES:
            self._log.lose()
        if self._failed_restores >= 2 * MOST_TRIES:
            await self.fail(Failure(f"{self._failed_restores} worker groups in a row could not start"))
        self._failed_restores += 1
        await self._notify()
        return self._generation, self._log.histories()

    async def ready(self, generation: int, url: str) -> None:
        """The models are restored, and rank 0 serves them at this address."""
        if generation == self._generation:
            self._failed_restores = 0
            self._upstream = Upstream(generation, url)
            await self._notify()

    async def next(self, generation: int, lane: Lane) -> tuple[int, Call] | None:
        """The next call of a lane; None when the worker group has to end."""
        queue = self._lanes[lane]
        await self._until(lambda: self._is_over(generation) or (len(queue) > 0 and not queue[0].is_running))
        if self._is_over(generation):
            return None
        queue[0].is_running = True
        self._progress = (0, 0)
        return queue[0].number, queue[0].call

    async def report_progress(self, generation: int, done: int, total: int) -> None:
        """Reports the progress of the running operation."""
        if generation == self._generation:
            self._progress = (done, total)

    async def finish(self, generation: int, number: int, reply: Reply) -> None:
        """Reports the reply to a call."""
        if generation != self._generation:
            return
        for lane in self._lanes.values():
            if len(lane) > 0 and lane[0].number == number:
                pending = lane.popleft()
                self._record(pending, reply)
                self._resolve(pending.reply, reply)
        await self._notify()

    async def saved(self, generation: int, number: int, outcome: Checkpoint | Failure) -> None:
        """Reports the end of a save."""
        if generation != self._generation:
            return
        is_failed = isinstance(outcome, Failure)
        self._log.saved(number, None if is_failed else outcome)
        if number in self._saves:
            self._resolve(self._saves[number], Reply(failure=outcome) if is_failed else Reply(outcome))

    def _record(self, pending: _Pending, reply: Reply) -> None:
        call = pending.call
        if call.method in ("pause", "resume") and reply.failure is None:
            self._log.paused(call.model_id, call.arguments[0] if call.method == "pause" else None)
        self._log.finished(pending.number, call, reply)
        if call.method == "save_checkpoint" and reply.failure is not None:
            del self._saves[pending.number]

    def _return_to_queue(self, lane: deque[_Pending], pending: _Pending) -> None:
        if not pending.is_running:
            return
        pending.is_running = False
        pending.tries += 1
        if pending.tries >= MOST_TRIES:
            lane.remove(pending)
            what = f"{pending.call.method} of {pending.call.model_id}" if pending.call.model_id else pending.call.method
            self._resolve(
                pending.reply, Reply(failure=Failure(f"The workers failed {pending.tries} times during {what}"))
            )

    def _is_over(self, generation: int) -> bool:
        return self._is_stopped or generation != self._generation

    @staticmethod
    def _resolve(future: asyncio.Future[Reply], reply: Reply) -> None:
        if not future.done():
            future.set_result(reply)

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(condition)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
