"""Receives an upload."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from agentlightning_runtime.gen.agentlightning.runtime.v1 import batch_pb2, error_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError
from agentlightning_runtime.service.base.invalid import invalid
from agentlightning_runtime.service.batches.check_batch import BatchRules, check_batch
from agentlightning_runtime.service.hosting.model_request import check_feature

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agentlightning_runtime.contract.batch import Batch
    from agentlightning_runtime.gen.agentlightning.runtime.v1.training_pb2 import SubmitBatchRequest
    from agentlightning_runtime.service.hosting.runtime_host import RuntimeHost


async def read_header(messages: AsyncIterator[SubmitBatchRequest]) -> batch_pb2.BatchHeader:
    """Reads the first message of an upload.

    Raises:
        RuntimeFailureError: INVALID when it is not a header with a key.
    """
    first = await anext(messages, None)
    if first is None or first.WhichOneof("part") != "header":
        raise invalid("header", "is missing; it is the first message")
    if not first.header.HasField("key"):
        raise invalid("header.key", "is missing")
    return first.header


def check_header(header: batch_pb2.BatchHeader, host: RuntimeHost) -> None:
    """Validates the header before the payload is received.

    Raises:
        RuntimeFailureError: INVALID or TOO_LARGE.
    """
    forward, backward = batch_pb2.BATCH_KIND_FORWARD, batch_pb2.BATCH_KIND_FORWARD_BACKWARD
    if header.kind not in (forward, backward):
        raise invalid("header.kind", f"is {header.kind}; it must be FORWARD or FORWARD_BACKWARD")
    if header.use_reference:
        if header.kind != forward:
            raise invalid("header.use_reference", "is only for FORWARD")
        check_feature(host.capabilities, "reference_logprobs", "header.use_reference")
    _assert_at_most("token_count", header.token_count, host.capabilities.max_batch_tokens)
    _assert_at_most("payload_bytes", header.payload_bytes, host.limits.max_batch_bytes)
    _assert_at_most("datum_count", header.datum_count, host.limits.max_batch_data)


async def receive_payload(messages: AsyncIterator[SubmitBatchRequest], header: batch_pb2.BatchHeader) -> bytes:
    """Receives the payload.

    Raises:
        RuntimeFailureError: INVALID when it differs from the header, INCOMPLETE when it ends early.
    """
    size = header.payload_bytes
    pieces: list[bytes] = []
    digest = hashlib.sha256()
    received = 0
    async for message in messages:
        if message.WhichOneof("part") != "chunk":
            raise invalid("chunk", "is missing; only chunks may follow the header")
        offset, data = message.chunk.offset, message.chunk.data
        if offset != received:
            raise invalid("chunk.offset", f"is {offset}; {received} was expected")
        if received + len(data) > size:
            raise invalid("header.payload_bytes", f"is {size}; more bytes were received")
        pieces.append(data)
        digest.update(data)
        received += len(data)
    if received < size:
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_INCOMPLETE,
            f"The upload ended after {received} of {size} bytes",
            remedy="Send it again from the beginning.",
        )
    if digest.digest() != header.sha256:
        raise invalid("header.sha256", "is not the SHA-256 of the received payload")
    return b"".join(pieces)


def unpack_batch(payload: bytes, header: batch_pb2.BatchHeader, rules: BatchRules) -> Batch:
    """Decodes and validates a payload; too slow for the event loop when large.

    Raises:
        RuntimeFailureError: INVALID.
    """
    try:
        message = batch_pb2.Batch.FromString(payload)
    except DecodeError as error:
        raise invalid("payload", "is not a serialised Batch") from error
    batch = check_batch(message.data, rules)
    if len(batch.data) != header.datum_count:
        raise invalid("header.datum_count", f"is {header.datum_count}; {len(batch.data)} were received")
    if batch.tokens != header.token_count:
        raise invalid("header.token_count", f"is {header.token_count}; {batch.tokens} were received")
    return batch


def _assert_at_most(field: str, value: int, limit: int) -> None:
    if value <= limit:
        return
    raise RuntimeFailureError(
        error_pb2.ERROR_REASON_TOO_LARGE,
        f"header.{field} is {value}; the limit is {limit}",
        field=f"header.{field}",
        remedy="Split the batch: gradients of several batches add up before a step.",
    )
