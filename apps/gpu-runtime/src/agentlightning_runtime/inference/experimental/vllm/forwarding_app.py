"""The model API in front of vLLM, with the pauses, keys and policy versions of the built-in sampler."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx2
from starlette.responses import JSONResponse, Response, StreamingResponse

from agentlightning_runtime.inference.experimental.vllm.engine_terms import RUNTIME
from agentlightning_runtime.inference.experimental.vllm.versioned_response import as_chunks, sample_with_versions
from agentlightning_runtime.inference.experimental.vllm.vllm_model import vllm_failed
from agentlightning_runtime.inference.http.api_error import ApiError, unknown_model
from agentlightning_runtime.inference.http.api_routes import POLICY_VERSION_HEADER, model_api
from agentlightning_runtime.inference.http.http_guard import hang_up
from agentlightning_runtime.inference.http.json_object import json_object
from agentlightning_runtime.inference.text.prompt_images import refuse_addresses

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.applications import Starlette
    from starlette.requests import Request

    from agentlightning_runtime.contract.users import Keys
    from agentlightning_runtime.inference.experimental.vllm.vllm_model import Entered, VllmServedModel

_ABORT_CHECK_S = 0.1
"""Poll interval for the cancellation of a request in flight."""


class ForwardingApp:
    """Forwards requests to the server of their model.

    Args:
        models: models by id; modified by the backend.
        keys: keys of the clients.
    """

    def __init__(self, models: dict[str, VllmServedModel], keys: Keys) -> None:
        self._models = models
        self._keys = keys
        # Responses have no time limit. A connection that waits may be closed by vLLM when a request begins on it.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self._client = httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=10), limits=limits)

    def starlette(self) -> Starlette:
        """The ASGI application."""
        return model_api(
            models=self._listed, chat=self._forward, complete=self._forward, tokenize=self._tokenize, keys=self._keys
        )

    def _listed(self) -> dict[str, dict[str, Any]]:
        return {name: {} for name in list(self._models)}

    async def _forward(self, request: Request, content: bytes) -> Response:
        body = json_object(content)
        model = self._models.get(str(body.get("model")))
        if model is None:
            raise unknown_model(str(body.get("model")))
        refuse_addresses(body.get("messages"))
        entered = await asyncio.to_thread(model.enter)
        target = model.target(entered)
        sent = {**body, "model": target.model}
        path, is_streamed = request.url.path, body.get("stream") is True
        comes_in_chunks = is_streamed and not model.changes_in_flight and target.api.streams(path, body)
        if not comes_in_chunks:
            sent = {name: value for name, value in sent.items() if name not in ("stream", "stream_options")}
        call = self._client.build_request("POST", f"{target.root_url}{path}", json=sent, headers=target.headers)
        if comes_in_chunks:
            return await self._streamed(call, model, entered)
        sending = asyncio.create_task(
            sample_with_versions(self._client, target.root_url, target.headers, path=path, body=sent)
            if model.changes_in_flight
            else self._client.send(call)
        )
        try:
            answer = await _unless_over(sending, request, model, entered)
        finally:
            sending.cancel()
            model.leave(entered)
        if answer is None:
            return Response(status_code=499)
        if answer.status_code != 200:
            return Response(answer.content, answer.status_code, media_type="application/json")
        response = target.api.as_of_vllm(json_object(answer.content))
        body_out = {"policy_version": entered.version, **response, "model": body["model"]}
        version = {POLICY_VERSION_HEADER: str(body_out["policy_version"])}
        if is_streamed:
            options: object = body.get("stream_options")
            includes_usage = isinstance(options, dict) and options.get("include_usage") is True
            events = _events(as_chunks(body_out, includes_usage=includes_usage))
            return Response(events, media_type="text/event-stream", headers=version)
        return JSONResponse(body_out, headers=version)

    async def _tokenize(self, _: Request, content: bytes) -> Response:
        body = json_object(content)
        model = self._models.get(str(body.get("model")))
        if model is None:
            raise unknown_model(str(body.get("model")))
        refuse_addresses(body.get("messages"))
        entered = await asyncio.to_thread(model.enter)
        try:
            target = model.target(entered)
            sent = {**body, "model": target.model}
            answer = await self._client.post(
                f"{target.root_url}{RUNTIME.tokenize_route}", json=sent, headers=target.headers
            )
        except httpx2.TransportError as error:
            raise vllm_failed(error) from error
        finally:
            model.leave(entered)
        return Response(answer.content, answer.status_code, media_type="application/json")

    async def _streamed(self, call: httpx2.Request, model: VllmServedModel, entered: Entered) -> Response:
        try:
            answer = await self._client.send(call, stream=True)
            if answer.status_code == 200:
                headers = {POLICY_VERSION_HEADER: str(entered.version)}
                stream = _stream(answer, model, entered)
                return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
            content = await answer.aread()
        except httpx2.TransportError as error:
            model.leave(entered)
            raise vllm_failed(error) from error
        except BaseException:
            model.leave(entered)
            raise
        await answer.aclose()
        model.leave(entered)
        return Response(content, answer.status_code, media_type="application/json")


async def _unless_over(
    sending: asyncio.Task[httpx2.Response], request: Request, model: VllmServedModel, entered: Entered
) -> httpx2.Response | None:
    """The response; None after the client has disconnected. vLLM stops sampling when its connection is closed."""
    gone = asyncio.create_task(hang_up(request))
    try:
        while not sending.done():
            await asyncio.wait({sending, gone}, timeout=_ABORT_CHECK_S, return_when=asyncio.FIRST_COMPLETED)
            model.check_not_aborted(entered)
            if gone.done() and not sending.done():
                return None
        return sending.result()
    except httpx2.TransportError as error:
        raise vllm_failed(error) from error
    finally:
        gone.cancel()


async def _stream(answer: httpx2.Response, model: VllmServedModel, entered: Entered) -> AsyncIterator[bytes]:
    try:
        async for piece in answer.aiter_raw():
            model.check_not_aborted(entered)
            yield piece
    except ApiError as error:
        yield f"data: {json.dumps(error.body())}\n\n".encode()
    except httpx2.TransportError as error:
        yield f"data: {json.dumps(vllm_failed(error).body())}\n\n".encode()
    finally:
        await answer.aclose()
        model.leave(entered)


def _events(chunks: Sequence[dict[str, Any]]) -> str:
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
