"""Errors of the model API, with the codes and statuses of OpenAI."""

from __future__ import annotations

from typing import Any

_STATUS_HEADERS: dict[int, dict[str, str]] = {
    # The rest of the body is still in flight on this connection.
    413: {"connection": "close"},
    # The queue advances, and a pause lasts as long as a step: a retry after one second suffices.
    429: {"retry-after": "1"},
    503: {"retry-after": "1"},
    401: {"www-authenticate": "Bearer"},
}


class ApiError(Exception):
    """An error response of the model API.

    Args:
        status: the HTTP status.
        code: error code, such as ``VALIDATION``.
        message: description with the value, without a full stop.
        remedy: corrective action; a sentence.
        field: the invalid field of the request.
    """

    def __init__(self, status: int, code: str, message: str, remedy: str, field: str | None = None) -> None:
        super().__init__(f"{message}. {remedy}")
        self.status = status
        self.code = code
        self.field = field

    def body(self) -> dict[str, Any]:
        """The error in OpenAI's format."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        if self.status == 429:
            kind = "rate_limit_error"
        return {"error": {"message": str(self), "type": kind, "param": self.field, "code": self.code}}

    def headers(self) -> dict[str, str]:
        """Headers of the response in addition to the status."""
        return dict(_STATUS_HEADERS.get(self.status, {}))


def rejected(message: str, remedy: str, field: str | None = None) -> ApiError:
    """A request that the endpoint does not support."""
    return ApiError(400, "VALIDATION", message, remedy, field)


def context_too_long(prompt_tokens: int, max_context: int) -> ApiError:
    """A prompt that leaves no tokens for the response; the code is OpenAI's."""
    message = f"The prompt has {prompt_tokens} tokens; the model's context is {max_context}, including the response"
    return ApiError(400, "context_length_exceeded", message, "Shorten the conversation.", "messages")


def unknown_model(name: str) -> ApiError:
    """A model that is not loaded."""
    remedy = "GET /v1/models lists the models; POST /v1/chat/completions calls one."
    return ApiError(404, "NOT_FOUND", f'Unknown model "{name}"', remedy, "model")


def model_paused(name: str) -> ApiError:
    """A paused model."""
    remedy = "Send the request again after the delay in Retry-After."
    return ApiError(503, "RUNTIME_UNAVAILABLE", f'The model "{name}" is paused', remedy)


def queue_full(waiting: int) -> ApiError:
    """The queue of the endpoint is full."""
    remedy = "Send the request again after the delay in Retry-After, or run fewer rollouts at a time."
    return ApiError(429, "RESOURCE_EXHAUSTED", f"The queue is full with {waiting} responses", remedy)


def out_of_memory(responses: int) -> ApiError:
    """Memory ran out during sampling."""
    remedy = "Send the request again; run fewer rollouts at a time, or shorter conversations, if it fails again."
    return ApiError(503, "OUT_OF_MEMORY", f"The sampler ran out of memory with {responses} running responses", remedy)


def cancelled(reason: str) -> ApiError:
    """A response that was cancelled before it was complete."""
    return ApiError(503, "CANCELLED", reason, "Send the request again after the delay in Retry-After.")


def failed() -> ApiError:
    """An unexpected error; its message stays in the process's log."""
    return ApiError(500, "INTERNAL", "The runtime failed", "See its log for the cause.")
