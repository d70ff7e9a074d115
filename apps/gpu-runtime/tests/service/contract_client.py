"""A client of the bare contract, and a server for it."""

from __future__ import annotations

import hashlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import numpy as np
from google.protobuf import message_factory
from google.protobuf.message import Message
from scripted_engine import Script, ScriptedEngine

from agentlightning_runtime.gen.agentlightning.runtime.v1 import (
    batch_pb2,
    error_pb2,
    operation_pb2,
    runtime_pb2,
    training_pb2,
)
from agentlightning_runtime.service.serve import SERVICES, RuntimeServer, ServeOptions, serve

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

METHODS = {method.name: method for service in SERVICES for method in service.methods}
KEY = "the-key"


def serialised(message: Message) -> bytes:
    """Serialises a message."""
    return message.SerializeToString()


class ContractClient:
    """Calls methods by name."""

    def __init__(self, channel: grpc.aio.Channel, key: str = KEY) -> None:
        self._channel = channel
        self._metadata = (("authorization", f"Bearer {key}"),) if key else ()

    def call(self, name: str, request: Any) -> Any:
        """A call of a method; awaited or iterated depending on its kind."""
        method = METHODS[name]
        codecs: dict[str, Any] = {
            "request_serializer": serialised,
            "response_deserializer": message_factory.GetMessageClass(method.output_type).FromString,
        }
        path = f"/{method.containing_service.full_name}/{name}"
        if method.client_streaming:
            return self._channel.stream_unary(path, **codecs)(request, metadata=self._metadata)
        kind = self._channel.unary_stream if method.server_streaming else self._channel.unary_unary
        return kind(path, **codecs)(request, metadata=self._metadata)

    async def refusal(self, call: Any) -> error_pb2.RuntimeFailure:
        """The typed error of a failed call."""
        try:
            if hasattr(call, "__aiter__"):
                async for _ in call:
                    pass
            else:
                await call
        except grpc.aio.AioRpcError as error:
            for name, value in error.trailing_metadata() or ():
                if name == "agentlightning-error-bin" and isinstance(value, bytes):
                    return error_pb2.RuntimeFailure.FromString(value)
            raise
        raise AssertionError("The call succeeded but should have been rejected")


@dataclass
class Bench:
    """A server with a scripted engine, and a client with a session."""

    client: ContractClient
    engine: ScriptedEngine
    server: RuntimeServer
    session_id: str

    @property
    def script(self) -> Script:
        return self.engine.script

    async def open_model(self, model_id: str = "model") -> None:
        """Creates a model and waits until it exists."""
        await self.client.call("CreateModel", self.create_request(model_id))
        await self.ended(0, model_id)

    def create_request(self, model_id: str = "model", **others: Any) -> training_pb2.CreateModelRequest:
        return training_pb2.CreateModelRequest(
            session_id=self.session_id, model_id=model_id, base_model="scripted", seed=1, **others
        )

    def key(self, seq: int, model_id: str = "model") -> batch_pb2.OperationKey:
        return batch_pb2.OperationKey(session_id=self.session_id, model_id=model_id, seq=seq)

    async def submit(self, seq: int, **header: Any) -> operation_pb2.Operation:
        """Uploads a small batch."""
        return (await self.client.call("SubmitBatch", self.upload(seq, **header))).operation

    async def upload(
        self, seq: int, model_id: str = "model", **header: Any
    ) -> AsyncIterator[training_pb2.SubmitBatchRequest]:
        """The messages of an upload."""
        payload = batch_pb2.Batch(data=[a_datum()]).SerializeToString()
        fields: dict[str, Any] = {
            "kind": batch_pb2.BATCH_KIND_FORWARD_BACKWARD,
            "loss": batch_pb2.LossSpec(name="importance_sampling"),
            "datum_count": 1,
            "token_count": 4,
            "payload_bytes": len(payload),
            "sha256": hashlib.sha256(payload).digest(),
        }
        fields.update(header)
        yield training_pb2.SubmitBatchRequest(header=batch_pb2.BatchHeader(key=self.key(seq, model_id), **fields))
        yield training_pb2.SubmitBatchRequest(chunk=batch_pb2.BatchChunk(offset=0, data=payload))

    async def publish(self, seq: int, model_id: str = "model") -> operation_pb2.Operation:
        request = training_pb2.PublishSamplerWeightsRequest(key=self.key(seq, model_id))
        return (await self.client.call("PublishSamplerWeights", request)).operation

    async def operation(self, seq: int, model_id: str = "model") -> operation_pb2.Operation:
        request = training_pb2.GetOperationRequest(model_id=model_id, seq=seq)
        return (await self.client.call("GetOperation", request)).operation

    async def ended(self, seq: int, model_id: str = "model") -> operation_pb2.Operation:
        """An operation after its end."""
        async for response in self.watch(model_id):
            operation = response.event.operation
            if operation.seq == seq and operation.HasField("end_time"):
                return operation
        raise AssertionError("The watch ended before the operation")

    def watch(self, model_id: str = "model", after: str = "") -> Any:
        request = training_pb2.WatchOperationsRequest(model_id=model_id, after_cursor=after)
        return self.client.call("WatchOperations", request)


def a_datum(**others: Any) -> batch_pb2.Datum:
    """A valid sequence of four tokens, two of them trained."""
    numbers = np.array([-1.0, -2.0], dtype="<f4").tobytes()
    return batch_pb2.Datum(
        token_ids=np.arange(4, dtype="<i4").tobytes(),
        trained=[batch_pb2.TrainedSpan(start=2, end=4)],
        sampling_logprobs=numbers,
        advantages=numbers,
        weights=numbers,
        temperature=1.0,
        **others,
    )


@asynccontextmanager
async def open_bench(options: ServeOptions | None = None) -> AsyncGenerator[Bench]:
    """A server that stops at the end of the block."""
    engine = ScriptedEngine(Script())
    options = options or ServeOptions()
    server = await serve(engine, options if options.users else replace(options, api_key=KEY))
    try:
        async with grpc.aio.insecure_channel(server.address) as channel:
            client = ContractClient(channel, next(iter(options.users.values()), KEY))
            opened = await client.call("CreateSession", runtime_pb2.CreateSessionRequest(client_session_key="test"))
            yield Bench(client, engine, server, opened.session_id)
    finally:
        engine.script.gate.set()
        await server.stop()
