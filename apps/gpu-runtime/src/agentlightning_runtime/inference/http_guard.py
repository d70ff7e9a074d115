"""What every route of the model API has: a key, a largest body, and errors in OpenAI's form."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from agentlightning_runtime.inference.api_error import ApiError, failed

if TYPE_CHECKING:
    from starlette.requests import Request

    Handler = Callable[[Request], Awaitable[Response]]

_log = logging.getLogger(__name__)

MAX_BODY_BYTES = 8 * 1024 * 1024
"""The largest request body."""

_MOST_DROPPED_BYTES = 4 * MAX_BODY_BYTES
_DROPPING_S = 10


def guarded(handler: Handler, api_key: str) -> Handler:
    """A handler that asks for the key first, and whose errors are answers; an empty key is not asked for."""

    async def answer(request: Request) -> Response:
        try:
            _check_key(request, api_key)
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
    remedy = "Send a shorter conversation."
    error = ApiError(413, "PAYLOAD_TOO_LARGE", f"A request may have {MAX_BODY_BYTES} bytes at most", remedy)
    if int(request.headers.get("content-length", 0)) > MAX_BODY_BYTES:
        raise error
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise error
    return bytes(body)


async def hang_up(request: Request) -> None:
    """Returns when the client has gone; for requests whose body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _drop_body(request: Request) -> None:
    """Lets come what is left of a refused body: a connection that closes on it may take the answer along."""
    if "expect" in request.headers:
        return  # The client sends nothing before it is asked to.
    dropped = 0
    # A body that was read is said to be consumed, by a RuntimeError.
    with contextlib.suppress(TimeoutError, ClientDisconnect, RuntimeError):
        async with asyncio.timeout(_DROPPING_S):
            async for piece in request.stream():
                dropped += len(piece)
                if dropped > _MOST_DROPPED_BYTES:
                    return


def error_response(error: ApiError) -> Response:
    """An error as an answer."""
    return JSONResponse(error.body(), status_code=error.status, headers=error.headers())


def _check_key(request: Request, api_key: str) -> None:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if api_key and not hmac.compare_digest(given.encode(), api_key.encode()):
        remedy = "Send the runtime's inference key as `Authorization: Bearer <key>`."
        raise ApiError(401, "UNAUTHENTICATED", "The request has no valid API key", remedy)
