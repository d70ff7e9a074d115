"""Delivery of calls to worker groups that are replaced."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentlightning_runtime.cluster.call import Call, Failure, Reply
from agentlightning_runtime.cluster.call_queue import MOST_TRIES, CallQueue
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.results import Checkpoint

STEP = Call("optim_step", "m")
SAVED = Checkpoint("m/c", "c", 1, 0, 10, b"", 123.0)


async def take(queue: CallQueue, generation: int) -> tuple[int, Call]:
    taken = await asyncio.wait_for(queue.next(generation, "operations"), 5)
    assert taken is not None
    return taken


async def a_group(queue: CallQueue) -> int:
    generation, _ = await queue.begin()
    await queue.ready(generation, f"http://127.0.0.1:{generation}")
    return generation


async def do(queue: CallQueue, generation: int, call: Call, reply: Reply) -> Reply:
    calling = asyncio.create_task(queue.call(call))
    number, taken = await take(queue, generation)
    assert taken == call
    await queue.finish(generation, number, reply)
    return await asyncio.wait_for(calling, 5)


def test_the_next_group_executes_the_call_in_which_one_failed() -> None:
    async def run() -> None:
        queue = CallQueue()
        first = await a_group(queue)
        await do(queue, first, Call("create_model", "m"), Reply())
        await do(queue, first, Call("forward_backward", "m"), Reply())
        calling = asyncio.create_task(queue.call(STEP))
        number, _ = await take(queue, first)
        second, (history,) = await queue.begin()
        assert [entry.call.method for entry in history.entries] == ["forward_backward"]
        # The first group is not dead yet: its reply is of no use.
        await queue.finish(first, number, Reply("stale"))
        assert await queue.next(first, "operations") is None
        assert await take(queue, second) == (number, STEP)
        await queue.finish(second, number, Reply("done"))
        assert (await calling).result == "done"

    asyncio.run(run())


def test_a_call_that_fails_every_group_ends_with_an_error() -> None:
    async def run() -> Reply:
        queue = CallQueue()
        calling = asyncio.create_task(queue.call(STEP))
        for _ in range(MOST_TRIES):
            await take(queue, await a_group(queue))
        await queue.begin()
        return await asyncio.wait_for(calling, 5)

    failure = asyncio.run(run()).failure
    assert failure is not None
    assert str(failure.error()) == "The workers failed 3 times during optim_step of m"


def test_models_that_cannot_be_restored_are_lost_and_then_all_calls_fail() -> None:
    async def run() -> tuple[list[bool], Reply]:
        queue = CallQueue()
        await do(queue, await a_group(queue), Call("create_model", "m"), Reply())
        lost: list[bool] = []
        for _ in range(2 * MOST_TRIES + 1):
            _, (history,) = await queue.begin()
            lost.append(history.is_lost)
        return lost, await queue.call(STEP)

    lost, reply = asyncio.run(run())
    assert lost == [False] * MOST_TRIES + [True] * (MOST_TRIES + 1)
    assert reply.failure is not None
    assert "6 worker groups in a row could not start" in str(reply.failure.error())


def test_a_save_that_was_not_complete_is_repeated_and_completes() -> None:
    async def run() -> Any:
        queue = CallQueue()
        first = await a_group(queue)
        await do(queue, first, Call("create_model", "m"), Reply())
        number = (await do(queue, first, Call("save_checkpoint", "m", ("c", b"")), Reply(2))).result
        saving = asyncio.create_task(queue.saved_checkpoint(number))
        second, (history,) = await queue.begin()
        assert [entry.number for entry in history.entries] == [number]
        await queue.saved(first, number, Failure("stale"))
        await queue.saved(second, number, SAVED)
        _, (history,) = await queue.begin()
        assert (history.base, history.entries) == (SAVED, [])
        return (await asyncio.wait_for(saving, 5)).result

    assert asyncio.run(run()) == SAVED


def test_a_pause_runs_during_an_operation_and_holds_in_the_next_group() -> None:
    async def run() -> None:
        queue = CallQueue()
        generation = await a_group(queue)
        await do(queue, generation, Call("create_model", "m"), Reply())
        stepping = asyncio.create_task(queue.call(STEP))
        await take(queue, generation)
        pausing = asyncio.create_task(queue.call(Call("pause", "m", ("drain",)), "side"))
        taken = await asyncio.wait_for(queue.next(generation, "side"), 5)
        assert taken is not None
        await queue.finish(generation, taken[0], Reply())
        await asyncio.wait_for(pausing, 5)
        assert not stepping.done()
        _, (history,) = await queue.begin()
        assert history.paused == "drain"
        stepping.cancel()

    asyncio.run(run())


def test_the_endpoint_is_unknown_until_the_models_are_restored() -> None:
    async def run() -> None:
        queue = CallQueue()
        first = await a_group(queue)
        found = await queue.upstream(0, 5)
        assert found is not None
        assert found.url == "http://127.0.0.1:1"
        assert await queue.upstream(first, 0.01) is None
        await queue.begin()
        assert await queue.upstream(0, 0.01) is None

    asyncio.run(run())


def test_stop_ends_the_group_and_a_failed_start_all_calls() -> None:
    async def run() -> Reply:
        queue = CallQueue()
        generation = await a_group(queue)
        calling = asyncio.create_task(queue.call(STEP))
        await asyncio.sleep(0)
        await queue.fail(Failure.of(EngineError(EngineErrorReason.INVALID, "No such device", remedy="Use the CPU")))
        await queue.stop()
        assert await queue.next(generation, "operations") is None
        return await calling

    failure = asyncio.run(run()).failure
    assert failure is not None
    with pytest.raises(EngineError, match="No such device") as caught:
        raise failure.error()
    assert (caught.value.reason, caught.value.remedy) == ("INVALID", "Use the CPU")
