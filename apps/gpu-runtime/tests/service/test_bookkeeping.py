"""The parts of the service that keep records."""

from __future__ import annotations

import asyncio

import pytest

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.base.change_log import ChangeLog
from agentlightning_runtime.service.base.failure import STATUS_OF_REASON, RuntimeFailureError
from agentlightning_runtime.service.hosting.gradient_ledger import GradientLedger
from agentlightning_runtime.service.hosting.inflight_budget import InflightBudget
from agentlightning_runtime.service.hosting.metrics_log import MetricsLog


class Item:
    def __init__(self, name: str) -> None:
        self.name = name
        self.change_index = 0


async def names_of(log: ChangeLog[Item], after: int, count: int) -> list[str]:
    names: list[str] = []
    async for item in log.follow(after):
        names.append(item.name)
        if len(names) == count:
            break
    return names


def test_an_item_that_changed_again_is_told_once_at_its_latest_place() -> None:
    async def play() -> None:
        log: ChangeLog[Item] = ChangeLog()
        one, other = Item("one"), Item("other")
        for item in (one, other, one):
            log.append(item)
        assert await names_of(log, 0, 2) == ["other", "one"]
        assert await names_of(log, other.change_index, 1) == ["one"]

    asyncio.run(play())


def test_a_log_that_is_compacted_under_a_reader_loses_nothing_that_is_kept() -> None:
    async def play() -> None:
        log: ChangeLog[Item] = ChangeLog()
        items = [Item(str(at)) for at in range(10)]
        for item in items:
            log.append(item)
        reading = aiter(log.follow(0))
        assert (await anext(reading)).name == "0"
        log.compact(lambda item: int(item.name) >= 5)
        rest = [(await anext(reading)).name for _ in range(5)]
        assert rest == ["5", "6", "7", "8", "9"]

    asyncio.run(play())


def test_a_reader_that_waits_is_woken_by_a_change_and_by_the_end() -> None:
    async def play() -> None:
        log: ChangeLog[Item] = ChangeLog()
        waiting = asyncio.create_task(names_of(log, 0, 1))
        await asyncio.sleep(0)
        log.append(Item("late"))
        assert await waiting == ["late"]
        ending = asyncio.create_task(names_of(log, 99, 1))
        await asyncio.sleep(0)
        log.close(KeyError("over"))
        with pytest.raises(KeyError, match="over"):
            await ending

    asyncio.run(play())


@pytest.mark.parametrize(
    ("added", "missing", "required", "reason"),
    [
        ([1, 2], [], [1, 2], None),
        ([1, 2], [], [], None),
        ([], [], [], "No gradients"),
        ([1], [2], [1], "Operation 2"),
        ([1], [], [1, 5], "Operation 5 is required"),
        ([1, 2], [], [2], "Operation 1, a batch since"),
    ],
)
def test_a_step_uses_what_was_meant_and_nothing_else(
    added: list[int], missing: list[int], required: list[int], reason: str | None
) -> None:
    ledger = GradientLedger()
    for seq in added:
        ledger.add(seq)
    for seq in missing:
        ledger.miss(seq)
    refusal = ledger.why_not(required)
    assert (refusal is None) is (reason is None)
    if refusal is not None:
        assert str(refusal).startswith(str(reason))
        assert refusal.failure.gradients_discarded
    ledger.clear()
    assert not ledger.has_pending


def test_the_budget_lets_the_next_in_line_in_and_gives_room_back_once() -> None:
    budget = InflightBudget(100)
    give_back = budget.take(80, is_next_in_line=False)
    with pytest.raises(RuntimeFailureError) as refused:
        budget.take(30, is_next_in_line=False)
    assert refused.value.failure.retry_after_ms > 0
    budget.take(30, is_next_in_line=True)
    give_back()
    give_back()
    assert budget.used_bytes == 30


def test_a_slow_reader_of_measurements_misses_the_oldest_never_the_newest() -> None:
    async def play() -> None:
        log = MetricsLog(lambda: 0.0, kept_points=3)
        for value in range(10):
            log.add({"loss": float(value), "broken": float("nan")}, model_id="a")
        log.add({"other": 1.0}, model_id="b")
        response = await anext(aiter(log.follow("", "a")))
        assert [point.value for point in response.points] == [8, 9]
        log.add({"loss": 10.0}, model_id="a")
        later = await anext(aiter(log.follow(response.cursor, "a")))
        assert [point.value for point in later.points] == [10]
        anew = await anext(aiter(log.follow("another-life:99", "a")))
        assert [point.value for point in anew.points][-1] == 10

    asyncio.run(play())


def test_every_reason_of_the_contract_has_a_status() -> None:
    reasons = set(error_pb2.ErrorReason.values())
    assert set(STATUS_OF_REASON) == reasons
