"""Common behaviour of all routes: authentication, body size limit, and errors in OpenAI's format."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from agentlightning_runtime.inference.http.api_error import ApiError, failed

if TYPE_CHECKING:
    from starlette.requests import Request

    from agentlightning_runtime.contract.users import Keys

    Handler = Callable[[Request], Awaitable[Response]]

_log = logging.getLogger(__name__)

MAX_BODY_BYTES = 32 * 1024 * 1024
"""The largest request body."""

_MOST_DROPPED_BYTES = 2 * MAX_BODY_BYTES
_DROPPING_S = 10


def guarded(handler: Handler, keys: Keys) -> Handler:
    """Wraps a handler with authentication and error responses. The handler runs as the user of the key."""

    async def answer(request: Request) -> Response:
        try:
            _check_key(request, keys)
            return await handler(request)
        except ApiError as error:
            await _drop_body(request)
            return error_response(error)
        except Exception:  # noqa: BLE001
            _log.exception("%s %s failed", request.method, request.url.path)
            return error_response(failed())

    return answer


async def body_of(request: Request) -> bytes:
    """The request's body.

    Raises:
        ApiError: when it is too large.
    """
    remedy = "Shorten the conversation, or send smaller images."
    error = ApiError(413, "PAYLOAD_TOO_LARGE", f"The request exceeds {MAX_BODY_BYTES} bytes", remedy)
    if int(request.headers.get("content-length", 0)) > MAX_BODY_BYTES:
        raise error
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise error
    return bytes(body)


async def hang_up(request: Request) -> None:
    """Returns when the client has disconnected; for requests whose body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _drop_body(request: Request) -> None:
    """Drains a rejected body: closing the connection early could lose the response."""
    if "expect" in request.headers:
        return  # The client waits for 100 Continue.
    dropped = 0
    # Starlette reports a body that was read by a RuntimeError.
    with contextlib.suppress(TimeoutError, ClientDisconnect, RuntimeError):
        async with asyncio.timeout(_DROPPING_S):
            async for piece in request.stream():
                dropped += len(piece)
                if dropped > _MOST_DROPPED_BYTES:
                    return


def error_response(error: ApiError) -> Response:
    """An error as a response."""
    return JSONResponse(error.body(), status_code=error.status, headers=error.headers())


def _check_key(request: Request, keys: Keys) -> None:
    if not keys.identify(request.headers.get("authorization", "").encode()):
        remedy = "Send the runtime's inference key as `Authorization: Bearer <key>`."
        raise ApiError(401, "UNAUTHENTICATED", "The request has no valid API key", remedy)
