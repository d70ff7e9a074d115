"""Errors of the model API, in the words and statuses that OpenAI's clients know."""

from __future__ import annotations

from typing import Any

_STATUS_HEADERS: dict[int, dict[str, str]] = {
    # The rest of the body is still to come on this connection.
    413: {"connection": "close"},
    # The queue moves, and a pause lasts as long as a step: to wait a second is enough.
    429: {"retry-after": "1"},
    503: {"retry-after": "1"},
    401: {"www-authenticate": "Bearer"},
}


class ApiError(Exception):
    """A request that is not answered with a model's words.

    Args:
        status: the HTTP status.
        code: what programs tell errors apart by, such as ``VALIDATION``.
        message: what happened, with the value; ends without a full stop.
        remedy: what to do about it; a sentence.
        field: the field of the request that is wrong.
    """

    def __init__(self, status: int, code: str, message: str, remedy: str, field: str | None = None) -> None:
        super().__init__(f"{message}. {remedy}")
        self.status = status
        self.code = code
        self.field = field

    def body(self) -> dict[str, Any]:
        """The error in OpenAI's form."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        if self.status == 429:
            kind = "rate_limit_error"
        return {"error": {"message": str(self), "type": kind, "param": self.field, "code": self.code}}

    def headers(self) -> dict[str, str]:
        """What the answer's head says beside the status."""
        return dict(_STATUS_HEADERS.get(self.status, {}))


def rejected(message: str, remedy: str, field: str | None = None) -> ApiError:
    """A request that says something the endpoint cannot do."""
    return ApiError(400, "VALIDATION", message, remedy, field)


def context_too_long(prompt_tokens: int, max_context: int) -> ApiError:
    """A prompt that leaves no room for a single token; programs know OpenAI's code for it."""
    message = f"The prompt has {prompt_tokens} tokens; the model's context holds {max_context} with the response"
    return ApiError(400, "context_length_exceeded", message, "Shorten the conversation.", "messages")


def unknown_model(name: str) -> ApiError:
    """A model that is not loaded."""
    remedy = "GET /v1/models lists the models; POST /v1/chat/completions asks one."
    return ApiError(404, "NOT_FOUND", f'There is no model "{name}"', remedy, "model")


def model_paused(name: str) -> ApiError:
    """A model that does not answer for now."""
    remedy = "Send the request again after the time that Retry-After says."
    return ApiError(503, "RUNTIME_UNAVAILABLE", f'The model "{name}" is paused', remedy)


def queue_full(waiting: int) -> ApiError:
    """More requests wait than the endpoint takes."""
    remedy = "Send the request again after the time that Retry-After says, or run fewer rollouts at a time."
    return ApiError(429, "RESOURCE_EXHAUSTED", f"{waiting} responses wait already", remedy)


def out_of_memory(responses: int) -> ApiError:
    """Memory did not suffice for the responses in hand."""
    remedy = "Send the request again; run fewer rollouts at a time, or shorter conversations, when it comes again."
    return ApiError(503, "OUT_OF_MEMORY", f"The sampler ran out of memory with {responses} responses in hand", remedy)


def cancelled(reason: str) -> ApiError:
    """A response that was ended before it was whole."""
    return ApiError(503, "CANCELLED", reason, "Send the request again after the time that Retry-After says.")


def failed() -> ApiError:
    """A failure nobody foresaw; its message stays in the process's log."""
    return ApiError(500, "INTERNAL", "The runtime failed", "Its log says why.")
