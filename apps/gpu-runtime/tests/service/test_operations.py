"""Operations that wait, run, and are requested again."""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from contract_client import a_datum, open_bench
from scripted_engine import BASE

from agentlightning_runtime.contract.results import Checkpoint
from agentlightning_runtime.gen.agentlightning.runtime.v1 import (
    batch_pb2,
    error_pb2,
    export_pb2,
    model_pb2,
    operation_pb2,
    runtime_pb2,
    training_pb2,
)
from agentlightning_runtime.service.batches.check_batch import BatchRules, check_batch


def test_a_running_operation_tells_its_progress_and_those_behind_it_their_place() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            bench.script.running.clear()
            bench.script.gate.clear()
            await bench.submit(1)
            behind = await bench.publish(2)
            beyond_a_gap = await bench.publish(4)
            assert (behind.queue_position, behind.queue_reason) == (1, operation_pb2.QUEUE_REASON_EARLIER_OPERATION)
            assert beyond_a_gap.queue_reason == operation_pb2.QUEUE_REASON_SEQUENCE_GAP
            await asyncio.to_thread(bench.script.running.wait, 30)
            # Reported in the engine's thread before it waits for the gate.
            running = await bench.operation(1)
            assert running.state == operation_pb2.OPERATION_STATE_RUNNING
            assert (running.progress.tokens_done, running.progress.tokens_total) == (2, 4)
            bench.script.gate.set()
            ended = await bench.ended(1)
            assert ended.progress.fraction == 1
            assert (await bench.ended(2)).queue_position == 0

    asyncio.run(play())


def test_a_model_that_waits_for_another_is_told_that_the_engine_is_busy() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model("one")
            await bench.open_model("other")
            bench.script.running.clear()
            bench.script.gate.clear()
            await bench.publish(1, "one")
            await asyncio.to_thread(bench.script.running.wait, 30)
            waiting = await bench.publish(1, "other")
            assert (waiting.queue_position, waiting.queue_reason) == (0, operation_pb2.QUEUE_REASON_ENGINE_BUSY)
            bench.script.gate.set()
            assert (await bench.ended(1, "other")).endpoint.policy_version == 1

    asyncio.run(play())


@pytest.mark.parametrize("is_written", [True, False])
def test_operations_continue_while_a_checkpoint_is_written(*, is_written: bool) -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            saving = bench.script.saving = Future[Checkpoint]()
            request = training_pb2.SaveCheckpointRequest(key=bench.key(1), name="a")
            await bench.client.call("SaveCheckpoint", request)
            assert (await bench.publish(2)).state != operation_pb2.OPERATION_STATE_FAILED
            assert (await bench.ended(2)).endpoint.policy_version == 1
            assert (await bench.operation(1)).state == operation_pb2.OPERATION_STATE_RUNNING
            if is_written:
                saving.set_result(Checkpoint("a", "a", 0, 0, 1, b"", 0.0))
                assert (await bench.ended(1)).checkpoint.uri == "a"
            else:
                saving.set_exception(OSError("No space left on device"))
                assert "No space left" in (await bench.ended(1)).error.message

    asyncio.run(play())


def test_data_older_than_the_batch_allows_fail_when_their_turn_comes() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            await bench.publish(1)
            await bench.publish(2)
            await bench.submit(3, max_version_lag=1)
            failure = (await bench.ended(3)).error
            assert failure.reason == error_pb2.ERROR_REASON_STALE_WEIGHTS
            assert (failure.version_lag, failure.max_version_lag, failure.datum_index) == (2, 1, 0)
            step = training_pb2.OptimStepRequest(key=bench.key(4), adam=training_pb2.AdamParameters(learning_rate=0.1))
            await bench.client.call("OptimStep", step)
            assert (await bench.ended(4)).error.gradients_discarded
            assert "optim_step" not in bench.script.done

    asyncio.run(play())


def test_a_connection_that_is_lost_in_an_upload_leaves_nothing_behind() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            is_header_sent = asyncio.Event()

            async def breaking_off() -> object:
                async for message in bench.upload(1):
                    yield message
                    is_header_sent.set()
                    await asyncio.Event().wait()

            call = bench.client.call("SubmitBatch", breaking_off())
            await is_header_sent.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            info = await bench.client.call("GetModel", training_pb2.GetModelRequest(model_id="model"))
            assert info.model.next_seq == 1
            await bench.submit(1)
            assert (await bench.ended(1)).batch.trained_tokens == 2

    asyncio.run(play())


def test_a_payload_that_is_no_batch_is_named_and_takes_its_number() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            payload = b"\xff" * 10

            async def nonsense() -> object:
                sha256 = hashlib.sha256(payload).digest()
                async for message in bench.upload(1, payload_bytes=len(payload), sha256=sha256):
                    if message.HasField("chunk"):
                        message.chunk.data = payload
                    yield message

            refusal = await bench.client.refusal(bench.client.call("SubmitBatch", nonsense()))
            assert (refusal.reason, refusal.field) == (error_pb2.ERROR_REASON_INVALID, "payload")
            assert (await bench.operation(1)).state == operation_pb2.OPERATION_STATE_FAILED

    asyncio.run(play())


def test_one_number_stands_for_all_trained_tokens_or_for_those_of_an_interval() -> None:
    def floats(*numbers: float) -> bytes:
        return np.array(numbers, dtype="<f4").tobytes()

    datum = a_datum()
    datum.token_ids = np.arange(8, dtype="<i4").tobytes()
    del datum.trained[:]
    datum.trained.extend([batch_pb2.TrainedSpan(start=1, end=3), batch_pb2.TrainedSpan(start=5, end=8)])
    datum.sampling_logprobs = floats(-1, -1, -1, -1, -1)
    datum.advantages = floats(2)
    datum.weights = floats(3, 4)
    [checked] = check_batch(batch_pb2.Batch(data=[datum]), BatchRules(BASE, {})).data
    assert checked.advantages.tolist() == [2, 2, 2, 2, 2]
    assert checked.weights.tolist() == [3, 3, 4, 4, 4]


def test_watching_goes_on_after_a_cursor_and_a_slow_reader_misses_no_operation() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            watching = bench.watch()
            first = await watching.read()
            for seq in range(1, 41):
                await bench.publish(seq)
            await bench.ended(40)
            seen = {first.event.operation.seq}
            async for response in bench.watch(after=first.event.cursor):
                seen.add(response.event.operation.seq)
                if response.event.operation.seq == 40:
                    break
            assert seen == set(range(41))

    asyncio.run(play())


def test_an_export_is_downloaded_from_an_offset_and_leads_nowhere_else() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            request = export_pb2.ExportCheckpointRequest(key=bench.key(1), format=export_pb2.EXPORT_FORMAT_SAFETENSORS)
            await bench.client.call("ExportCheckpoint", request)
            artifact = (await bench.ended(1)).artifact
            [file] = artifact.files
            assert (file.path, file.size_bytes) == ("model.safetensors", 7)
            assert file.sha256 == hashlib.sha256(b"weights").digest()

            def download(path: str, offset: int = 0) -> Any:
                wanted = export_pb2.DownloadArtifactRequest(
                    model_id="model", artifact_id=artifact.artifact_id, path=path, offset=offset
                )
                return bench.client.call("DownloadArtifact", wanted)

            pieces = [piece.data async for piece in download("model.safetensors", 3)]
            assert b"".join(pieces) == b"ghts"
            refusal = await bench.client.refusal(download("../../etc/passwd"))
            assert refusal.reason == error_pb2.ERROR_REASON_NOT_FOUND

    asyncio.run(play())


def test_a_refusal_arrives_whatever_the_length_of_what_it_names() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            loss = batch_pb2.LossSpec(name="ü" * 100_000)
            refusal = await bench.client.refusal(bench.client.call("SubmitBatch", bench.upload(1, loss=loss)))
            assert (refusal.reason, refusal.field) == (error_pb2.ERROR_REASON_INVALID, "loss.name")
            bench.script.error = RuntimeError("long " * 10_000)
            await bench.publish(2)
            assert len((await bench.ended(2)).error.message) <= 1_000

    asyncio.run(play())


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"lora": model_pb2.LoraConfig(rank=0)}, "lora.rank"),
        ({"lora": model_pb2.LoraConfig(rank=5)}, "lora.rank"),
        ({"lora": model_pb2.LoraConfig(rank=2, alpha=float("nan"))}, "lora.alpha"),
        ({"lora": model_pb2.LoraConfig(rank=2, target_modules=["k_proj"])}, "lora.target_modules[0]"),
        ({"has_value_head": True}, "has_value_head"),
        ({"base_model": "unknown"}, "base_model"),
        ({"model_id": "../up"}, "model_id"),
    ],
)
def test_a_model_that_cannot_be_made_is_refused_by_the_field(wanted: dict[str, Any], field: str) -> None:
    async def play() -> None:
        async with open_bench() as bench:
            request = bench.create_request()
            request.MergeFrom(training_pb2.CreateModelRequest(**wanted))
            refusal = await bench.client.refusal(bench.client.call("CreateModel", request))
            assert (refusal.reason, refusal.field) == (error_pb2.ERROR_REASON_INVALID, field)

    asyncio.run(play())


def test_measurements_are_told_of_every_pass_and_step() -> None:
    async def play() -> None:
        async with open_bench() as bench:
            await bench.open_model()
            await bench.submit(1)
            step = training_pb2.OptimStepRequest(key=bench.key(2), adam=training_pb2.AdamParameters(learning_rate=0.1))
            await bench.client.call("OptimStep", step)
            names: dict[str, float] = {}
            request = runtime_pb2.WatchMetricsRequest(model_id="model")
            async for response in bench.client.call("WatchMetrics", request):
                names |= {point.name: point.value for point in response.points}
                if "optimizer/gradient_norm" in names:
                    break
            assert names["train/loss"] == 1.5
            assert names["optimizer/gradient_norm"] == 2
            assert names["train/tokens_per_second"] > 0

    asyncio.run(play())
