"""Errors in the format of the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1.error_pb2 import ErrorReason
from agentlightning_runtime.service.base.messages import probe_message

if TYPE_CHECKING:
    from collections.abc import Mapping

TRAILER = "agentlightning-error-bin"
"""Trailing metadata with a serialised `RuntimeFailure`."""

MAX_TEXT = 1_000
"""Maximum length of an error text, in characters. Input of clients and messages of libraries are unbounded."""

STATUS_OF_REASON: Mapping[ErrorReason, grpc.StatusCode] = {
    error_pb2.ERROR_REASON_UNSPECIFIED: grpc.StatusCode.UNKNOWN,
    error_pb2.ERROR_REASON_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    error_pb2.ERROR_REASON_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    error_pb2.ERROR_REASON_CONFLICT: grpc.StatusCode.ALREADY_EXISTS,
    error_pb2.ERROR_REASON_SEQUENCE_REUSED: grpc.StatusCode.ALREADY_EXISTS,
    error_pb2.ERROR_REASON_SEQUENCE_GAP: grpc.StatusCode.OUT_OF_RANGE,
    error_pb2.ERROR_REASON_PRECONDITION: grpc.StatusCode.FAILED_PRECONDITION,
    error_pb2.ERROR_REASON_TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    error_pb2.ERROR_REASON_QUEUE_FULL: grpc.StatusCode.RESOURCE_EXHAUSTED,
    error_pb2.ERROR_REASON_OUT_OF_MEMORY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    error_pb2.ERROR_REASON_NON_FINITE: grpc.StatusCode.ABORTED,
    error_pb2.ERROR_REASON_CANCELLED: grpc.StatusCode.CANCELLED,
    error_pb2.ERROR_REASON_RESULT_EXPIRED: grpc.StatusCode.NOT_FOUND,
    error_pb2.ERROR_REASON_SESSION_EXPIRED: grpc.StatusCode.UNAUTHENTICATED,
    error_pb2.ERROR_REASON_SESSION_SUPERSEDED: grpc.StatusCode.FAILED_PRECONDITION,
    error_pb2.ERROR_REASON_UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    error_pb2.ERROR_REASON_SHUTTING_DOWN: grpc.StatusCode.UNAVAILABLE,
    error_pb2.ERROR_REASON_INTERNAL: grpc.StatusCode.INTERNAL,
    error_pb2.ERROR_REASON_INCOMPLETE: grpc.StatusCode.ABORTED,
    error_pb2.ERROR_REASON_STALE_WEIGHTS: grpc.StatusCode.FAILED_PRECONDITION,
    error_pb2.ERROR_REASON_DATA_LOSS: grpc.StatusCode.DATA_LOSS,
    error_pb2.ERROR_REASON_ENGINE_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    error_pb2.ERROR_REASON_WEIGHT_MISMATCH: grpc.StatusCode.INTERNAL,
}
"""The gRPC status of each reason, as documented in error.proto."""

SERVER_REASONS: frozenset[ErrorReason] = frozenset(
    (
        error_pb2.ERROR_REASON_QUEUE_FULL,
        error_pb2.ERROR_REASON_OUT_OF_MEMORY,
        error_pb2.ERROR_REASON_SHUTTING_DOWN,
        error_pb2.ERROR_REASON_INTERNAL,
        error_pb2.ERROR_REASON_INCOMPLETE,
        error_pb2.ERROR_REASON_DATA_LOSS,
        error_pb2.ERROR_REASON_ENGINE_UNAVAILABLE,
        error_pb2.ERROR_REASON_WEIGHT_MISMATCH,
    )
)
"""Reasons not caused by the caller; the same request may succeed later or on another machine."""

REASON_OF_ENGINE: Mapping[EngineErrorReason, ErrorReason] = {
    EngineErrorReason.INVALID: error_pb2.ERROR_REASON_INVALID,
    EngineErrorReason.NOT_FOUND: error_pb2.ERROR_REASON_NOT_FOUND,
    EngineErrorReason.CONFLICT: error_pb2.ERROR_REASON_CONFLICT,
    EngineErrorReason.PRECONDITION: error_pb2.ERROR_REASON_PRECONDITION,
    EngineErrorReason.TOO_LARGE: error_pb2.ERROR_REASON_TOO_LARGE,
    EngineErrorReason.OUT_OF_MEMORY: error_pb2.ERROR_REASON_OUT_OF_MEMORY,
    EngineErrorReason.NON_FINITE: error_pb2.ERROR_REASON_NON_FINITE,
    EngineErrorReason.DATA_LOSS: error_pb2.ERROR_REASON_DATA_LOSS,
    EngineErrorReason.ENGINE_UNAVAILABLE: error_pb2.ERROR_REASON_ENGINE_UNAVAILABLE,
    EngineErrorReason.WEIGHT_MISMATCH: error_pb2.ERROR_REASON_WEIGHT_MISMATCH,
}
"""The contract's name of each engine error reason."""


class RuntimeFailureError(Exception):
    """An error with all fields of the contract.

    Args:
        reason: Error reason.
        message: Description with the offending value; human-readable.
        field: Path of the invalid field.
        datum_index: Index of the invalid datum in its batch, from 0.
        next_seq: The sequence number that the model expects next.
        retry_after_ms: Retry delay in milliseconds.
        gradients_discarded: True when accumulated gradients were discarded because of it.
        remedy: Corrective action; human-readable.
        version_lag: With STALE_WEIGHTS: age of the datum in policy versions, and its limit.
    """

    def __init__(
        self,
        reason: ErrorReason,
        message: str,
        *,
        field: str = "",
        datum_index: int | None = None,
        next_seq: int | None = None,
        retry_after_ms: int | None = None,
        gradients_discarded: bool = False,
        remedy: str = "",
        version_lag: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        lag, max_lag = version_lag or (None, None)
        self.failure = error_pb2.RuntimeFailure(
            reason=reason,
            message=shortened(message),
            field=shortened(field),
            datum_index=datum_index,
            next_seq=next_seq,
            retry_after_ms=retry_after_ms,
            gradients_discarded=gradients_discarded,
            category=category_of(reason),
            remedy=remedy,
            version_lag=lag,
            max_version_lag=max_lag,
        )


def shortened(text: str) -> str:
    """A text that fits twice into HTTP/2 headers; truncated when longer."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def category_of(reason: ErrorReason) -> error_pb2.ErrorCategory:
    """The party that caused an error of this reason."""
    is_server = reason in SERVER_REASONS
    return error_pb2.ERROR_CATEGORY_SERVER if is_server else error_pb2.ERROR_CATEGORY_USER


def to_failure(error: BaseException) -> error_pb2.RuntimeFailure:
    """Any exception as a message of the contract; an unexpected one is an internal error."""
    if isinstance(error, RuntimeFailureError):
        return error.failure
    if isinstance(error, EngineError):
        reason = REASON_OF_ENGINE[error.reason]
        return error_pb2.RuntimeFailure(
            reason=reason,
            message=shortened(error.message),
            field=shortened(error.field),
            datum_index=error.datum_index,
            retry_after_ms=error.retry_after_ms,
            gradients_discarded=error.gradients_discarded,
            category=category_of(reason),
            # A sentence: clients add others.
            remedy=shortened(f"{error.remedy.rstrip('.')}." if error.remedy else ""),
            num_tokens=error.num_tokens,
            max_tokens_seen_ok=error.max_tokens_seen_ok,
            weight_probe=None if error.probe is None else probe_message(error.probe),
        )
    return error_pb2.RuntimeFailure(
        reason=error_pb2.ERROR_REASON_INTERNAL,
        message=shortened(f"{type(error).__name__}: {error}"),
        category=error_pb2.ERROR_CATEGORY_SERVER,
        remedy="Internal error of the runtime; see its log for the stack trace.",
    )


def cancelled(message: str) -> RuntimeFailureError:
    """The end of an operation that did not run."""
    return RuntimeFailureError(error_pb2.ERROR_REASON_CANCELLED, message)


def is_expected(error: BaseException) -> bool:
    """Whether an exception was raised deliberately, so that its stack trace is not needed."""
    return isinstance(error, RuntimeFailureError | EngineError)
