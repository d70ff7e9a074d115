"""Processes an upload, from its first message to the accepted operation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import batch_pb2, error_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError
from agentlightning_runtime.service.batches.batch_work import BatchPlace, batch_work
from agentlightning_runtime.service.batches.receive_batch import check_header, read_header, receive_payload
from agentlightning_runtime.service.hosting.operation_record import OperationRecord, OperationWork

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from google.protobuf.message import Message

    from agentlightning_runtime.contract.engine import Progress
    from agentlightning_runtime.gen.agentlightning.runtime.v1.training_pb2 import SubmitBatchRequest
    from agentlightning_runtime.service.hosting.hosted_model import HostedModel
    from agentlightning_runtime.service.hosting.operation_record import Outcome
    from agentlightning_runtime.service.hosting.runtime_host import RuntimeHost


async def submit_batch(
    messages: AsyncIterator[SubmitBatchRequest], host: RuntimeHost
) -> tuple[HostedModel, OperationRecord]:
    """Responds early when the header is rejected or the operation is known, else after validation."""
    header = await read_header(messages)
    key = header.key
    model = host.owned_model(key.session_id, key.model_id)
    fingerprint = fingerprint_of(header)
    known = model.find_or_refuse(key.seq, fingerprint)
    if known is not None:
        return model, known
    adds_gradients = header.kind != batch_pb2.BATCH_KIND_FORWARD
    release: Callable[[], None] | None = None
    is_accepted = False
    try:
        check_header(header, host)
        release = host.budget.take(header.payload_bytes, is_next_in_line=key.seq == model.next_seq)
        payload = await receive_payload(messages, header)
        execute = await batch_work(payload, BatchPlace(host, model, header))
        model.ownership.assert_is(key.session_id)
        work = OperationWork(fingerprint, execute, adds_gradients=adds_gradients, release=release)
        record = model.accept(key.seq, work)
        is_accepted = True
    except RuntimeFailureError as error:
        if not is_refusal(error):
            raise
        return model, model.accept(key.seq, refused_work(fingerprint, error, adds_gradients=adds_gradients))
    finally:
        # Also after a lost connection, which cancels this call.
        if release is not None and not is_accepted:
            release()
    return model, record


def fingerprint_of(message: Message) -> str:
    """Identifies a retried request."""
    digest = hashlib.sha256(message.SerializeToString(deterministic=True)).hexdigest()
    return f"{message.DESCRIPTOR.full_name} {digest}"


def is_refusal(error: RuntimeFailureError) -> bool:
    """Whether an error concerns the content, so that the operation uses its number and fails."""
    return error.reason in (error_pb2.ERROR_REASON_INVALID, error_pb2.ERROR_REASON_TOO_LARGE)


def refused_work(fingerprint: str, refusal: RuntimeFailureError, *, adds_gradients: bool) -> OperationWork:
    """The work of an operation that was rejected on arrival."""

    async def execute(progress: Progress) -> Outcome:
        del progress
        raise refusal

    return OperationWork(fingerprint, execute, adds_gradients=adds_gradients, refusal=refusal)
