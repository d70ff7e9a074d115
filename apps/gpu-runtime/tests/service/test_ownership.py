"""Models whose session has ended."""

from __future__ import annotations

import asyncio

import pytest
from contract_client import open_bench
from test_life_of_a_server import TurnedClock

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2, runtime_pb2, training_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError
from agentlightning_runtime.service.hosting.ownership import Ownership
from agentlightning_runtime.service.serve import ServeOptions


def test_a_model_is_unloaded_an_hour_after_its_session_lapsed_and_can_be_made_again() -> None:
    clock = TurnedClock()

    async def play() -> None:
        async with open_bench(ServeOptions(clock=clock)) as bench:
            await bench.open_model()
            clock.now_ms += 300_000 + 3_600_000
            # Ends when the model does.
            refusal = await bench.client.refusal(bench.watch())
            assert refusal.reason == error_pb2.ERROR_REASON_NOT_FOUND
            assert "session ended 3600000 ms ago" in refusal.message
            assert "LoadCheckpoint" in refusal.remedy
            asked = training_pb2.GetModelRequest(model_id="model")
            assert (await bench.client.refusal(bench.client.call("GetModel", asked))).reason == refusal.reason
            opened = await bench.client.call(
                "CreateSession", runtime_pb2.CreateSessionRequest(client_session_key="later")
            )
            bench.session_id = opened.session_id
            await bench.open_model()
            assert bench.script.done.count("unload") == 1

    asyncio.run(play())


def test_a_model_is_abandoned_from_when_its_session_lapsed() -> None:
    ownership = Ownership("m", 0.0)
    ends: dict[str, float] = {"a": 1_000.0}
    ownership.take("a")
    assert ownership.abandoned_for_ms(400.0, ends.get) == -600.0
    ends["a"] = 1_400.0
    assert ownership.abandoned_for_ms(500.0, ends.get) == -900.0
    del ends["a"]
    assert ownership.abandoned_for_ms(2_000.0, ends.get) == 600.0


def test_a_model_is_abandoned_from_when_its_session_was_closed_and_not_when_another_has_it() -> None:
    ownership = Ownership("m", 0.0)
    ends: dict[str, float] = {"a": 1_000.0, "b": 5_000.0}
    assert ownership.take("a")
    ownership.abandoned_for_ms(400.0, ends.get)
    del ends["a"]
    assert ownership.abandoned_for_ms(450.0, ends.get) == 0.0
    assert ownership.abandoned_for_ms(700.0, ends.get) == 250.0
    assert ownership.take("b")
    assert ownership.abandoned_for_ms(800.0, ends.get) < 0
    with pytest.raises(RuntimeFailureError, match="does not own"):
        ownership.assert_is("a")
