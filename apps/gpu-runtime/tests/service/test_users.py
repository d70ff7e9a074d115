"""Several users of one runtime."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from contract_client import Bench, ContractClient, open_bench

from agentlightning_runtime.cli.usage_error import UsageError
from agentlightning_runtime.cli.user_file import read_users
from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2, runtime_pb2, training_pb2
from agentlightning_runtime.service.serve import ServeOptions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

USERS = {"alice": "key-of-alice-0001", "bob": "key-of-bob-000002"}


@asynccontextmanager
async def two_users() -> AsyncGenerator[tuple[Bench, Bench]]:
    """The benches of alice and bob at one server; both sent the same session key."""
    async with (
        open_bench(ServeOptions(users=USERS)) as alice,
        grpc.aio.insecure_channel(alice.server.address) as channel,
    ):
        client = ContractClient(channel, USERS["bob"])
        opened = await client.call("CreateSession", runtime_pb2.CreateSessionRequest(client_session_key="test"))
        yield alice, replace(alice, client=client, session_id=opened.session_id)


async def measured(bench: Bench, last: str) -> list[str]:
    """The models of the user's measurements up to one of this name."""
    models: list[str] = []
    async for response in bench.client.call("WatchMetrics", runtime_pb2.WatchMetricsRequest()):
        for point in response.points:
            models.append(point.model_id)
            if point.name == last and point.model_id:
                return models
    raise AssertionError("The stream has ended")


def test_models_of_the_same_id_are_separate() -> None:
    async def play() -> None:
        async with two_users() as (alice, bob):
            assert alice.session_id != bob.session_id
            await alice.open_model("policy")
            asked = training_pb2.GetModelRequest(model_id="policy")
            refusal = await bob.client.refusal(bob.client.call("GetModel", asked))
            assert refusal.reason == error_pb2.ERROR_REASON_NOT_FOUND
            await bob.open_model("policy")
            await alice.publish(1, "policy")
            await alice.ended(1, "policy")
            versions = [(await each.client.call("GetModel", asked)).model for each in (alice, bob)]
            assert [(each.model_id, each.policy_version) for each in versions] == [("policy", 1), ("policy", 0)]
            unload = training_pb2.UnloadModelRequest(session_id=bob.session_id, model_id="policy")
            await bob.client.call("UnloadModel", unload)
            assert (await alice.client.call("GetModel", asked)).model.policy_version == 1

    asyncio.run(play())


def test_a_session_of_another_user_is_unknown() -> None:
    async def play() -> None:
        async with two_users() as (alice, bob):
            await alice.open_model("policy")
            request = replace(bob, session_id=alice.session_id).create_request("policy")
            refusal = await bob.client.refusal(bob.client.call("CreateModel", request))
            assert refusal.reason == error_pb2.ERROR_REASON_SESSION_EXPIRED
            # Not closed by bob.
            await bob.client.call("CloseSession", runtime_pb2.CloseSessionRequest(session_id=alice.session_id))
            await alice.client.call("Heartbeat", runtime_pb2.HeartbeatRequest(session_id=alice.session_id))

    asyncio.run(play())


def test_measurements_are_those_of_the_own_models() -> None:
    async def play() -> None:
        async with two_users() as (alice, bob):
            for bench, model_id in ((alice, "secret"), (bob, "mine")):
                await bench.open_model(model_id)
                await bench.client.call("SubmitBatch", bench.upload(1, model_id))
                await bench.ended(1, model_id)
            assert set(await measured(bob, "train/loss")) - {""} == {"mine"}
            assert set(await measured(alice, "train/loss")) - {""} == {"secret"}

    asyncio.run(play())


def test_a_model_does_not_begin_with_a_checkpoint_of_another_user() -> None:
    async def play() -> None:
        async with two_users() as (_, bob):
            request = bob.create_request("policy", initial_checkpoint="alice.policy/last")
            refusal = await bob.client.refusal(bob.client.call("CreateModel", request))
            assert refusal.reason == error_pb2.ERROR_REASON_NOT_FOUND
            assert refusal.field == "initial_checkpoint"

    asyncio.run(play())


def test_a_key_of_no_user_is_rejected() -> None:
    async def play() -> None:
        async with two_users() as (alice, _), grpc.aio.insecure_channel(alice.server.address) as channel:
            for key in ("", "key-of-carol-0003"):
                client = ContractClient(channel, key)
                call = client.call("GetCapabilities", runtime_pb2.GetCapabilitiesRequest())
                assert (await client.refusal(call)).reason == error_pb2.ERROR_REASON_UNAUTHENTICATED

    asyncio.run(play())


def test_users_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# name key\nalice key-of-alice-0001\n\nbob\tkey-of-bob-000002\n")
    assert read_users(file) == USERS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no users"),
        ("alice short", "Line 1 of"),
        ("a.b key-of-alice-0001", "is not a user"),
        ("alice key-of-alice-0001\nbob key-of-alice-0001", "Line 2 of .* repeats"),
    ],
)
def test_an_invalid_file_of_users_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "users"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_users(file)
