"""The model API of the front process: forwards requests to rank 0, again when its worker group is replaced."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
from starlette.responses import Response, StreamingResponse

from agentlightning_runtime.inference.api_error import ApiError
from agentlightning_runtime.inference.api_routes import model_api
from agentlightning_runtime.inference.http_guard import hang_up
from agentlightning_runtime.inference.inference_app import POLICY_VERSION_HEADER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from starlette.applications import Starlette
    from starlette.requests import Request

    from agentlightning_runtime.cluster.call_queue import Upstream
    from agentlightning_runtime.contract.users import Keys

    FindUpstream = Callable[[int, float], Awaitable[Upstream | None]]

#: How long to wait for a new worker group before the last one is tried again, in seconds.
_WAIT_S = 5.0

#: Number of such waits after which a request fails: ten minutes, in which a large model is loaded.
_MOST_WAITS = 120

#: Response headers that clients need.
_HEADERS = ("content-type", "cache-control", "retry-after", POLICY_VERSION_HEADER)


class RelayApp:
    """Forwards requests to the endpoint of rank 0.

    A request whose response has not begun is sent again to the next worker group.

    Args:
        models: returns the ids of the models.
        keys: keys of the clients.
        worker_key: key of the endpoint of rank 0.
        find_upstream: finds a later endpoint than that of a worker group, within a time in seconds.
    """

    def __init__(
        self, models: Callable[[], Iterable[str]], keys: Keys, worker_key: str, find_upstream: FindUpstream
    ) -> None:
        self._models = models
        self._keys = keys
        self._find_upstream = find_upstream
        self._upstream: Upstream | None = None
        # Responses have no time limit.
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=10),
            limits=httpx.Limits(max_connections=None),
            headers={"authorization": f"Bearer {worker_key}"},
        )

    def starlette(self) -> Starlette:
        """The ASGI application."""
        forward = self._forward
        return model_api(models=self._listed, chat=forward, complete=forward, tokenize=forward, keys=self._keys)

    def _listed(self) -> dict[str, dict[str, Any]]:
        return {name: {} for name in list(self._models())}

    async def _forward(self, request: Request, body: bytes) -> Response:
        sending = asyncio.create_task(self._send(request.url.path, body))
        gone = asyncio.create_task(hang_up(request))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                return Response(status_code=499)
            return _relayed(sending.result())
        finally:
            sending.cancel()
            gone.cancel()

    async def _send(self, path: str, body: bytes) -> httpx.Response:
        """The response with its headers; its body is still to be read."""
        failed_generation = 0
        for _ in range(_MOST_WAITS):
            upstream = self._upstream
            if upstream is None or upstream.generation <= failed_generation:
                upstream = self._upstream = await self._find_upstream(failed_generation, _WAIT_S) or upstream
            if upstream is None:
                continue
            call = self._client.build_request(
                "POST", f"{upstream.url}{path}", content=body, headers={"content-type": "application/json"}
            )
            try:
                answer = await self._client.send(call, stream=True)
                if "text/event-stream" not in answer.headers.get("content-type", ""):
                    await answer.aread()
            except httpx.TransportError:
                failed_generation = upstream.generation
            else:
                return answer
        message = "The training workers have failed and were not restored in time"
        raise ApiError(503, "RUNTIME_UNAVAILABLE", message, "See the log of the runtime, and send the request again.")


def _relayed(answer: httpx.Response) -> Response:
    headers = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
    if answer.is_stream_consumed:
        return Response(answer.content, answer.status_code, headers)
    return StreamingResponse(_stream(answer), answer.status_code, headers)


async def _stream(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    finally:
        await answer.aclose()
