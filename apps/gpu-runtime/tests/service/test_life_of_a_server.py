"""Start, stop, and expiry in a server."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from contract_client import ContractClient, open_bench
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from scripted_engine import Script, ScriptedEngine

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2, operation_pb2, runtime_pb2
from agentlightning_runtime.service.base.limits import ServiceLimits
from agentlightning_runtime.service.listen_error import ListenError
from agentlightning_runtime.service.serve import ServeOptions, is_loopback, serve

NEVER = 3_600_000.0


class TurnedClock:
    def __init__(self) -> None:
        self.now_ms = 1_000.0

    def __call__(self) -> float:
        return self.now_ms


def test_what_runs_when_it_stops_finishes_and_what_waits_is_cancelled() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            bench.script.running.clear()
            bench.script.gate.clear()
            await bench.publish(1)
            await bench.publish(2)
            seen: list[operation_pb2.Operation] = []
            is_cancelled = asyncio.Event()

            async def collect() -> None:
                async for response in bench.watch():
                    seen.append(response.event.operation)
                    if seen[-1].state == operation_pb2.OPERATION_STATE_CANCELLED:
                        is_cancelled.set()

            watching = asyncio.create_task(bench.client.refusal(collect()))
            await asyncio.to_thread(bench.script.running.wait, 30)
            stopping = asyncio.create_task(bench.server.stop())
            await is_cancelled.wait()
            late = await bench.client.refusal(bench.publish(3))
            assert late.reason == error_pb2.ERROR_REASON_SHUTTING_DOWN
            bench.script.gate.set()
            await stopping
            assert (await watching).reason == error_pb2.ERROR_REASON_SHUTTING_DOWN
            ends = {operation.seq: operation for operation in seen}
            assert ends[1].state == operation_pb2.OPERATION_STATE_SUCCEEDED
            assert ends[2].error.reason == error_pb2.ERROR_REASON_SHUTTING_DOWN
            assert bench.engine.is_closed

    asyncio.run(play())


def test_a_session_ends_when_nothing_is_heard_of_it() -> None:
    clock = TurnedClock()

    async def play() -> None:
        async with open_bench(ServeOptions(clock=clock)) as bench:
            request = runtime_pb2.HeartbeatRequest(session_id=bench.session_id)
            clock.now_ms += 299_000
            await bench.client.call("Heartbeat", request)
            clock.now_ms += 299_000
            await bench.client.call("Heartbeat", request)
            clock.now_ms += 301_000
            refusal = await bench.client.refusal(bench.client.call("Heartbeat", request))
            assert refusal.reason == error_pb2.ERROR_REASON_SESSION_EXPIRED

    asyncio.run(play())


def test_a_result_expires_but_the_making_of_the_model_does_not() -> None:
    clock = TurnedClock()

    async def play() -> None:
        options = ServeOptions(clock=clock, limits=ServiceLimits(result_ttl_ms=1_000, session_ttl_ms=int(NEVER)))
        async with open_bench(options) as bench:
            await bench.open_model()
            await bench.publish(1)
            await bench.ended(1)
            clock.now_ms += 2_000
            await bench.publish(2)
            refusal = await bench.client.refusal(bench.operation(1))
            assert refusal.reason == error_pb2.ERROR_REASON_RESULT_EXPIRED
            again = await bench.client.refusal(bench.publish(1))
            assert again.reason == error_pb2.ERROR_REASON_RESULT_EXPIRED
            assert (await bench.operation(0)).state == operation_pb2.OPERATION_STATE_SUCCEEDED

    asyncio.run(play())


def test_a_fault_of_the_engine_ends_the_operation_and_not_the_server() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            bench.script.error = ZeroDivisionError("by zero")
            await bench.publish(1)
            failed = await bench.ended(1)
            assert failed.error.reason == error_pb2.ERROR_REASON_INTERNAL
            assert failed.error.category == error_pb2.ERROR_CATEGORY_SERVER
            assert "by zero" in failed.error.message
            await bench.publish(2)
            assert (await bench.ended(2)).state == operation_pb2.OPERATION_STATE_SUCCEEDED

    asyncio.run(play())


def test_memory_that_did_not_suffice_is_told_with_its_numbers_and_nothing_is_stepped_on() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            bench.script.error = EngineError(
                EngineErrorReason.OUT_OF_MEMORY, "No memory", num_tokens=900, max_tokens_seen_ok=800, remedy="Split it"
            )
            await bench.submit(1)
            failure = (await bench.ended(1)).error
            assert (failure.num_tokens, failure.max_tokens_seen_ok, failure.remedy) == (900, 800, "Split it.")
            assert failure.reason == error_pb2.ERROR_REASON_OUT_OF_MEMORY

    asyncio.run(play())


def test_a_model_that_could_not_be_made_can_be_made_again() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            bench.script.error = EngineError(EngineErrorReason.OUT_OF_MEMORY, "No memory")
            await bench.client.call("CreateModel", bench.create_request())
            assert (await bench.ended(0)).error.reason == error_pb2.ERROR_REASON_OUT_OF_MEMORY
            await bench.open_model()
            await bench.publish(1)
            assert (await bench.ended(1)).endpoint.policy_version == 1

    asyncio.run(play())


def test_no_more_models_than_there_is_room_for() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            for name in ("a", "b", "c"):
                await bench.open_model(name)
            refusal = await bench.client.refusal(bench.client.call("CreateModel", bench.create_request("d")))
            assert refusal.reason == error_pb2.ERROR_REASON_PRECONDITION
            assert "Unload" in refusal.remedy

    asyncio.run(play())


def test_health_and_reflection_answer_without_a_key() -> None:
    async def play() -> None:
        async with open_bench() as bench, grpc.aio.insecure_channel(bench.server.address) as channel:
            check = channel.unary_unary(
                "/grpc.health.v1.Health/Check",
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            for service in ("", "agentlightning.runtime.v1.TrainingService"):
                answer = await check(health_pb2.HealthCheckRequest(service=service))
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
            reflect = channel.stream_stream(
                "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
            )
            asked = reflect(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
            listed = {service.name async for response in asked for service in response.list_services_response.service}
            assert "agentlightning.runtime.v1.InferenceService" in listed
            stranger = ContractClient(channel, key="")
            refusal = await stranger.refusal(stranger.call("GetCapabilities", runtime_pb2.GetCapabilitiesRequest()))
            assert refusal.reason == error_pb2.ERROR_REASON_UNAUTHENTICATED

    asyncio.run(play())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "gpu.example"])
def test_others_than_this_machine_need_tls_and_a_key(host: str) -> None:
    with pytest.raises(ListenError, match="without TLS"):
        asyncio.run(serve(ScriptedEngine(Script()), ServeOptions(host=host, api_key="key")))


def test_a_port_that_is_taken_is_said_to_be() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            port = int(bench.server.address.rpartition(":")[2])
            with pytest.raises(ListenError, match=str(port)):
                await serve(ScriptedEngine(Script()), ServeOptions(port=port))

    asyncio.run(play())


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("10.0.0.1", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
    ],
)
def test_loopback_is_this_machine_alone(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
