"""A blocking client of the training contract, for one model."""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import grpc
import numpy as np
from google.protobuf import message_factory
from google.protobuf.message import Message

from agentlightning_runtime.gen.agentlightning.runtime.v1 import (
    batch_pb2,
    error_pb2,
    model_pb2,
    operation_pb2,
    runtime_pb2,
    training_pb2,
)
from agentlightning_runtime.service.serve import SERVICES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

METHODS = {method.name: method for service in SERVICES for method in service.methods}

CHUNK_BYTES = 1 << 20

POLL_SECONDS = 0.02

HEARTBEAT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class TrainedSequence:
    """A token sequence whose last tokens are trained.

    Attributes:
        prompt: Token ids of the prompt.
        response: Token ids of the response, which are trained.
        logprobs: Log-probabilities of the response when it was sampled, in nats, at `temperature`.
        advantage: Advantage of every token of the response.
        version: Policy version that sampled it.
        temperature: The sampling temperature.
    """

    prompt: Sequence[int]
    response: Sequence[int]
    logprobs: Sequence[float]
    advantage: float = 1.0
    version: int = 0
    temperature: float = 1.0


class OperationError(Exception):
    """An operation of the runtime failed."""


class ModelClient:
    """Creates a model in a runtime, or attaches to it, and sends one operation after another.

    Raises:
        OperationError: When an operation fails, with its reason and message.
    """

    def __init__(self, address: str, model_id: str, *, seed: int, lora_rank: int = 0) -> None:
        unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._channel = grpc.insecure_channel(address, options=unlimited)
        self._model_id = model_id
        self.capabilities = self._call("GetCapabilities", runtime_pb2.GetCapabilitiesRequest())
        opened = self._call("CreateSession", runtime_pb2.CreateSessionRequest(client_session_key=secrets.token_hex(8)))
        self._session_id = str(opened.session_id)
        lora = model_pb2.LoraConfig(rank=lora_rank) if lora_rank else None
        created = training_pb2.CreateModelRequest(
            session_id=self._session_id,
            model_id=model_id,
            base_model=self.capabilities.base_models[0].name,
            seed=seed,
            lora=lora,
        )
        self._finished(self._call("CreateModel", created).operation)
        self._seq = int(self._call("GetModel", training_pb2.GetModelRequest(model_id=model_id)).model.next_seq)

    def forward_backward(self, data: Sequence[TrainedSequence], loss: str) -> operation_pb2.BatchResult:
        """Adds the gradients of the mean loss over the trained tokens."""
        kind = batch_pb2.BATCH_KIND_FORWARD_BACKWARD
        return self._batch(data, kind, batch_pb2.LossSpec(name=loss)).batch

    def logprobs(self, data: Sequence[TrainedSequence]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The trainer's log-probabilities of the responses, one after another."""
        done = self._batch(data, batch_pb2.BATCH_KIND_FORWARD, None)
        request = training_pb2.FetchBatchOutputRequest(model_id=self._model_id, seq=done.seq)
        return np.frombuffer(b"".join(part.data for part in self._call("FetchBatchOutput", request)), "<f4")

    def optim_step(self, learning_rate: float) -> operation_pb2.OptimStepResult:
        """One step of Adam with the accumulated gradients."""
        adam = training_pb2.AdamParameters(learning_rate=learning_rate)
        return self._change("OptimStep", training_pb2.OptimStepRequest(key=self._key(), adam=adam)).optim_step

    def publish(self) -> model_pb2.InferenceEndpoint:
        """Serves the current weights."""
        request = training_pb2.PublishSamplerWeightsRequest(key=self._key())
        return self._change("PublishSamplerWeights", request).endpoint

    def save(self, name: str) -> str:
        """Saves a checkpoint; returns its URI."""
        request = training_pb2.SaveCheckpointRequest(key=self._key(), name=name)
        return str(self._change("SaveCheckpoint", request).checkpoint.uri)

    def load(self, uri: str) -> None:
        """Loads a checkpoint."""
        self._change("LoadCheckpoint", training_pb2.LoadCheckpointRequest(key=self._key(), uri=uri))

    def metrics(self) -> dict[str, float]:
        """The last value of every measurement of the model so far."""
        found: dict[str, float] = {}
        request = runtime_pb2.WatchMetricsRequest(model_id=self._model_id)
        try:
            # The stream has no end: the deadline ends it after the retained measurements.
            for response in self._call("WatchMetrics", request, timeout=1.0):
                found.update({point.name: point.value for point in response.points})
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:  # pyright: ignore[reportAttributeAccessIssue]
                raise
        return found

    def _batch(
        self, data: Sequence[TrainedSequence], kind: Any, loss: batch_pb2.LossSpec | None
    ) -> operation_pb2.Operation:
        trained = sum(len(each.response) for each in data)
        payload = batch_pb2.Batch(data=[_datum(each, 1 / trained) for each in data]).SerializeToString()
        header = batch_pb2.BatchHeader(
            key=self._key(),
            kind=kind,
            loss=loss,
            datum_count=len(data),
            token_count=sum(len(each.prompt) + len(each.response) for each in data),
            payload_bytes=len(payload),
            sha256=hashlib.sha256(payload).digest(),
        )
        return self._change("SubmitBatch", _upload(header, payload))

    def _key(self) -> batch_pb2.OperationKey:
        return batch_pb2.OperationKey(session_id=self._session_id, model_id=self._model_id, seq=self._seq)

    def _change(self, name: str, request: Any) -> operation_pb2.Operation:
        accepted = self._call(name, request).operation
        self._seq += 1
        return self._finished(accepted)

    def _finished(self, operation: operation_pb2.Operation) -> operation_pb2.Operation:
        beat = time.monotonic()
        while not operation.HasField("end_time"):
            time.sleep(POLL_SECONDS)
            if time.monotonic() - beat > HEARTBEAT_SECONDS:
                self._call("Heartbeat", runtime_pb2.HeartbeatRequest(session_id=self._session_id))
                beat = time.monotonic()
            request = training_pb2.GetOperationRequest(model_id=self._model_id, seq=operation.seq)
            operation = self._call("GetOperation", request).operation
        if operation.HasField("error"):
            reason = error_pb2.ErrorReason.Name(operation.error.reason)
            raise OperationError(f"{reason}: {operation.error.message}")
        return operation

    def _call(self, name: str, request: Any, timeout: float | None = None) -> Any:
        method = METHODS[name]
        codecs: dict[str, Any] = {
            "request_serializer": _serialised,
            "response_deserializer": message_factory.GetMessageClass(method.output_type).FromString,
        }
        path = f"/{method.containing_service.full_name}/{name}"
        if method.client_streaming:
            return self._channel.stream_unary(path, **codecs)(request, timeout=timeout)
        kind = self._channel.unary_stream if method.server_streaming else self._channel.unary_unary
        return kind(path, **codecs)(request, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()


def _serialised(message: Message) -> bytes:
    return message.SerializeToString()


def _datum(sequence: TrainedSequence, weight: float) -> batch_pb2.Datum:
    start, end = len(sequence.prompt), len(sequence.prompt) + len(sequence.response)
    return batch_pb2.Datum(
        token_ids=np.asarray([*sequence.prompt, *sequence.response], "<i4").tobytes(),
        trained=[batch_pb2.TrainedSpan(start=start, end=end)],
        sampling_logprobs=np.minimum(np.asarray(sequence.logprobs, "<f4"), 0).tobytes(),
        advantages=np.asarray([sequence.advantage], "<f4").tobytes(),
        weights=np.asarray([weight], "<f4").tobytes(),
        temperature=sequence.temperature,
        min_policy_version=sequence.version,
        max_policy_version=sequence.version,
    )


def _upload(header: batch_pb2.BatchHeader, payload: bytes) -> Iterator[training_pb2.SubmitBatchRequest]:
    yield training_pb2.SubmitBatchRequest(header=header)
    for offset in range(0, len(payload), CHUNK_BYTES):
        chunk = batch_pb2.BatchChunk(offset=offset, data=payload[offset : offset + CHUNK_BYTES])
        yield training_pb2.SubmitBatchRequest(chunk=chunk)
