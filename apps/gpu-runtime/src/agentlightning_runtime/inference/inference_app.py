"""The model API: OpenAI's chat completions, completions and model list, over the models that are served."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import JSONResponse, Response, StreamingResponse

from agentlightning_runtime.inference.chat.answer_parts import AnswerIdentity, whole
from agentlightning_runtime.inference.chat.chat_answer import ChatAnswer
from agentlightning_runtime.inference.chat.chat_request import ChatRequest, TokenizeRequest
from agentlightning_runtime.inference.chat.completion_answer import CompletionAnswer
from agentlightning_runtime.inference.chat.completion_request import CompletionRequest
from agentlightning_runtime.inference.http.api_error import ApiError, failed, unknown_model
from agentlightning_runtime.inference.http.api_routes import POLICY_VERSION_HEADER, model_api
from agentlightning_runtime.inference.http.http_guard import hang_up

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

    from agentlightning_runtime.contract.users import Keys
    from agentlightning_runtime.inference.sampling.generation import Generation, ModelInput
    from agentlightning_runtime.inference.sampling.sampler import Sampler
    from agentlightning_runtime.inference.text.text_model import TextModel

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

_Answer = ChatAnswer | CompletionAnswer

_SHORT_BODY_BYTES = 8 * 1024
"""Body size below which parsing is faster than a thread switch; larger bodies would block the event loop."""

_SHORT_ANSWER_TOKENS = 512
"""The same for a response, counting alternative tokens."""


class InferenceApp:
    """The routes of the API.

    Args:
        sampler: samples the responses.
        models: the served models by id; modified by the backend.
        keys: keys of the clients.
    """

    def __init__(self, sampler: Sampler, models: dict[str, TextModel], keys: Keys) -> None:
        self._sampler = sampler
        self._models = models
        self._keys = keys

    def starlette(self) -> Starlette:
        """The ASGI application."""
        return model_api(
            models=self._listed, chat=self._chat, complete=self._complete, tokenize=self._tokenize, keys=self._keys
        )

    def _listed(self) -> dict[str, dict[str, Any]]:
        return {name: {"max_model_len": model.shape.max_context} for name, model in list(self._models.items())}

    async def _chat(self, request: Request, body: bytes) -> Response:
        asked = ChatRequest.read(body)
        model = self._model(asked.model)
        tools = asked.offered_tools()
        prompt, forced = await _done(
            lambda: _chat_tokens(model, asked, tools),
            is_short=len(body) <= _SHORT_BODY_BYTES and model.is_quick(body),
        )
        requests = model.generation_requests(
            asked, prompt, max_tokens=asked.most_tokens, top_logprobs=asked.top_logprobs or 0, forced=forced
        )
        generations = self._sampler.submit(model.model_id, requests)
        identity = _new_identity("chatcmpl-", model.model_id)
        answer = ChatAnswer(identity, asked, model, generations, has_tools=len(tools) > 0)
        return await self._answered(request, answer, is_streamed=asked.stream is True)

    async def _complete(self, request: Request, body: bytes) -> Response:
        asked = CompletionRequest.read(body)
        model = self._model(asked.model)
        prompt = await _done(
            lambda: model.plain_prompt(asked.single_prompt()),
            is_short=len(body) <= _SHORT_BODY_BYTES and model.is_quick(body),
        )
        requests = model.generation_requests(
            # OpenAI's default for this API.
            asked,
            prompt,
            max_tokens=asked.max_tokens or 16,
            top_logprobs=asked.logprobs or 0,
        )
        generations = self._sampler.submit(model.model_id, requests)
        answer = CompletionAnswer(_new_identity("cmpl-", model.model_id), asked, model, generations)
        return await self._answered(request, answer, is_streamed=asked.stream is True)

    async def _tokenize(self, _: Request, body: bytes) -> Response:
        asked = TokenizeRequest.read(body)
        model = self._model(asked.model)
        conversation, tools = asked.conversation(), asked.offered_tools()
        tokens = await _done(
            lambda: model.rendered(
                conversation, tools, asked.chat_template_kwargs, is_prompt=asked.add_generation_prompt
            ),
            is_short=len(body) <= _SHORT_BODY_BYTES and model.is_quick(body),
        )
        return JSONResponse({"count": len(tokens), "tokens": tokens, "max_model_len": model.shape.max_context})

    async def _answered(self, request: Request, answer: _Answer, *, is_streamed: bool) -> Response:
        headers = {POLICY_VERSION_HEADER: str(answer.policy_version)}
        if is_streamed:
            headers["cache-control"] = "no-cache"
            return StreamingResponse(_events(answer), media_type="text/event-stream", headers=headers)
        gone = asyncio.create_task(hang_up(request))
        gone.add_done_callback(lambda _: _cancel(answer.generations))
        try:
            # After a disconnect the responses end with an error that is not sent.
            await whole(answer.generations)
        finally:
            gone.cancel()
        return JSONResponse(await _done(answer.body, is_short=_is_short(answer.generations)), headers=headers)

    def _model(self, name: str) -> TextModel:
        model = self._models.get(name)
        if model is None:
            raise unknown_model(name)
        return model


def _chat_tokens(
    model: TextModel, asked: ChatRequest, tools: list[dict[str, Any]]
) -> tuple[ModelInput, tuple[int, ...] | None]:
    """The tokens of the prompt, and those of a forced response."""
    conversation, settings = asked.conversation(), asked.chat_template_kwargs
    given = asked.prompt_token_ids
    if given is None:
        prompt = model.chat_prompt(conversation, tools, settings)
    else:
        prompt = model.with_images(given, conversation)
    response = asked.forced_response()
    return prompt, None if response is None else model.chat_response(conversation, tools, response, settings)


async def _events(answer: _Answer) -> AsyncIterator[str]:
    """Server-sent events ending with `[DONE]`. A disconnect cancels the responses."""
    try:
        async for chunk in answer.chunks():
            yield f"data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n"
        yield "data: [DONE]\n\n"
    except ApiError as error:
        # OpenAI's clients raise an event with `error`.
        yield f"data: {json.dumps(error.body())}\n\n"
    except Exception:  # noqa: BLE001
        _log.exception("a streamed response failed")
        yield f"data: {json.dumps(failed().body())}\n\n"
    finally:
        _cancel(answer.generations)


def _is_short(generations: Sequence[Generation]) -> bool:
    entries = sum(len(each.choices) * (1 + each.request.rule.top_logprobs) for each in generations)
    return entries <= _SHORT_ANSWER_TOKENS


async def _done(work: Callable[[], _T], *, is_short: bool) -> _T:
    """Runs work inline when it is short, else in another thread."""
    return work() if is_short else await asyncio.to_thread(work)


def _cancel(generations: Sequence[Generation]) -> None:
    for generation in generations:
        if not generation.is_over:
            generation.cancel("The client disconnected")


def _new_identity(prefix: str, model: str) -> AnswerIdentity:
    return AnswerIdentity(f"{prefix}{secrets.token_hex(12)}", int(time.time()), model)
