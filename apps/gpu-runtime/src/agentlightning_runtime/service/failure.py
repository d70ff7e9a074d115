"""Refusals and failures as the contract words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1.error_pb2 import ErrorReason

if TYPE_CHECKING:
    from collections.abc import Mapping

TRAILER = "agentlightning-error-bin"
"""Trailing metadata that carries a serialised `RuntimeFailure`."""

MAX_TEXT = 1_000
"""Longest text of a failure, in characters. What a client sent, or a library said, may be of any length."""

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
}
"""The gRPC status of each reason; the brackets in error.proto."""

SERVER_REASONS: frozenset[ErrorReason] = frozenset(
    (
        error_pb2.ERROR_REASON_QUEUE_FULL,
        error_pb2.ERROR_REASON_OUT_OF_MEMORY,
        error_pb2.ERROR_REASON_SHUTTING_DOWN,
        error_pb2.ERROR_REASON_INTERNAL,
        error_pb2.ERROR_REASON_INCOMPLETE,
        error_pb2.ERROR_REASON_DATA_LOSS,
        error_pb2.ERROR_REASON_ENGINE_UNAVAILABLE,
    )
)
"""Reasons that are no fault of the caller; the same request may succeed another time or on another machine."""

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
}
"""How what an engine raises is called in the contract."""


class RuntimeFailureError(Exception):
    """A refusal or failure with everything that the contract lets it say.

    Args:
        reason: Which kind.
        message: What happened, with the offending value; for people.
        field: Path of the wrong field.
        datum_index: Index of the wrong datum in its batch, from 0.
        next_seq: The sequence number that the model expects next.
        retry_after_ms: When the same request may be tried again, in milliseconds.
        gradients_discarded: True when accumulated gradients were dropped because of this.
        remedy: What to do about it; for people.
        version_lag: With STALE_WEIGHTS: how many policy versions old the datum is, and how old it may be.
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
    """A text that fits into the headers of HTTP/2 twice; the end of a longer one is left out."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def category_of(reason: ErrorReason) -> error_pb2.ErrorCategory:
    """Whose fault a reason is."""
    is_server = reason in SERVER_REASONS
    return error_pb2.ERROR_CATEGORY_SERVER if is_server else error_pb2.ERROR_CATEGORY_USER


def to_failure(error: BaseException) -> error_pb2.RuntimeFailure:
    """Any exception as a message of the contract; what is not one of ours is a fault of the runtime."""
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
            remedy=shortened(error.remedy),
            num_tokens=error.num_tokens,
            max_tokens_seen_ok=error.max_tokens_seen_ok,
        )
    return error_pb2.RuntimeFailure(
        reason=error_pb2.ERROR_REASON_INTERNAL,
        message=shortened(f"{type(error).__name__}: {error}"),
        category=error_pb2.ERROR_CATEGORY_SERVER,
        remedy="This is a fault of the runtime; its log has the whole trace.",
    )


def is_expected(error: BaseException) -> bool:
    """Whether an exception was raised on purpose, so that its trace tells nothing."""
    return isinstance(error, RuntimeFailureError | EngineError)
