"""The routes of vLLM for weights that change in flight, and its token API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    import threading

    from starlette.requests import Request


class ScriptedTokenApi:
    """Every response has two tokens; the second is sampled when `hold` is set.

    Args:
        hold: the second tokens wait for it.
        asked: set when a first token is sampled.
    """

    def __init__(self, hold: threading.Event, asked: threading.Event) -> None:
        self._hold = hold
        self._asked = asked
        self._version = "default"
        self._is_paused = False
        #: Of each change of the version, whether generation was paused.
        self.changes: list[bool] = []
        #: Of each abort of all requests, whether generation was paused.
        self.aborts: list[bool] = []

    def routes(self) -> list[Route]:
        return [
            Route("/pause", self._pause, methods=["POST"]),
            Route("/resume", self._resume, methods=["POST"]),
            Route("/abort_requests", self._abort, methods=["POST"]),
            Route("/update_weight_version", self._update, methods=["POST"]),
            Route("/v1/chat/completions/render", self._render, methods=["POST"]),
            Route("/inference/v1/generate", self._generate, methods=["POST"]),
            Route("/v1/chat/completions/derender", self._derender, methods=["POST"]),
        ]

    async def _pause(self, request: Request) -> Response:
        if request.query_params.get("mode") != "keep":
            return JSONResponse({"error": "Requests would be aborted"}, 400)
        self._is_paused = True
        return JSONResponse({"status": "paused"})

    async def _resume(self, request: Request) -> Response:
        self._is_paused = False
        return JSONResponse({"status": "resumed"})

    async def _abort(self, request: Request) -> Response:
        if not isinstance(await request.json(), dict):
            return JSONResponse({"detail": "Request body must be a JSON object"}, 400)
        self.aborts.append(self._is_paused)
        return JSONResponse({"status": "aborted", "aborted": 0})

    async def _update(self, request: Request) -> Response:
        self._version = (await request.json())["new_version"]
        self.changes.append(self._is_paused)
        return JSONResponse({"success": True, "new_version": self._version})

    async def _render(self, request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        if body.get("temperature", 1) < 0:
            return JSONResponse({"error": {"message": "temperature must be non-negative"}}, 400)
        return JSONResponse({"model": body["model"], "token_ids": [7, 8, 9], "sampling_params": {"max_tokens": 2}})

    async def _generate(self, request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        if body["token_ids"][:3] != [7, 8, 9]:
            return JSONResponse({"error": {"message": "The prompt is not the rendered one"}}, 400)
        first = self._version
        self._asked.set()
        await asyncio.to_thread(self._hold.wait, 60)
        spans = [{"version": first, "start": 0, "end": 1}, {"version": self._version, "start": 1, "end": 2}]
        choice = {"index": 0, "token_ids": [1, 2], "weight_versions": spans, "finish_reason": "length"}
        return JSONResponse({"request_id": "r", "choices": [choice]})

    async def _derender(self, request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        message = {"role": "assistant", "content": "12", "refusal": None}
        choices = [
            {"index": each["index"], "message": message, "token_ids": each["token_ids"], "finish_reason": "length"}
            for each in body["generate_response"]["choices"]
        ]
        usage = {"prompt_tokens": body["prompt_tokens"], "completion_tokens": 2, "total_tokens": 5}
        answer = {"id": "r", "object": "chat.completion", "created": 0, "model": body["model"], "choices": choices}
        return JSONResponse({**answer, "usage": usage})
