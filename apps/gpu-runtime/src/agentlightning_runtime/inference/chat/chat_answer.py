"""Responses to chat completion requests, complete and streamed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.inference.chat.answer_parts import Progress, logprob_entry, raise_failures, usage_of
from agentlightning_runtime.inference.chat.reasoning import SplitResponse, StreamedMessage, reasoning_place
from agentlightning_runtime.inference.chat.response_reader import ReadResponse, read_response
from agentlightning_runtime.inference.chat.shown_text import ShownText

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agentlightning_runtime.inference.chat.answer_parts import AnswerIdentity
    from agentlightning_runtime.inference.chat.chat_request import ChatRequest
    from agentlightning_runtime.inference.sampling.generation import Generation
    from agentlightning_runtime.inference.sampling.sampling_rule import TokenChoice
    from agentlightning_runtime.inference.text.text_model import TextModel


@dataclass(frozen=True)
class ChatAnswer:
    """A response in progress: one generation for each choice, all from the same weights."""

    identity: AnswerIdentity
    request: ChatRequest
    model: TextModel
    generations: Sequence[Generation]
    has_tools: bool

    @property
    def policy_version(self) -> int:
        """The policy version of the response."""
        return self.generations[0].policy_version

    def body(self) -> dict[str, Any]:
        """The response when all choices have ended."""
        choices = [self._choice(index, generation) for index, generation in enumerate(self.generations)]
        prompt = {"prompt_token_ids": list(self.generations[0].request.prompt_tokens)}
        return {
            **self._head("chat.completion"),
            "choices": choices,
            **(prompt if self.request.return_token_ids else {}),
            "usage": usage_of(self.generations),
        }

    async def chunks(self) -> AsyncIterator[dict[str, Any]]:
        """The response as a stream: roles, texts or whole tool calls, finish reasons, and the usage if requested.

        Token ids are placed as by vLLM: the prompt's in the first chunk, the response's in the chunks of its tokens.
        """
        usage = {"usage": None} if self.request.includes_usage else {}
        head = {**self._head("chat.completion.chunk"), **usage}
        for index, generation in enumerate(self.generations):
            delta = {"role": "assistant", "content": ""}
            start = {**head, "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": None}]}
            if index == 0 and self.request.return_token_ids:
                start["prompt_token_ids"] = list(generation.request.prompt_tokens)
            yield start
        progress = Progress(self.generations)
        streams = [_ChoiceStream(self, index) for index in range(len(self.generations))]
        while streams:
            parts = [part for stream in streams for part in stream.parts()]
            for part in parts:
                yield {**head, "choices": [part]}
            streams = [stream for stream in streams if not stream.is_done]
            if streams and not parts:
                await progress.wait()
        if self.request.includes_usage:
            yield {**head, "choices": [], "usage": usage_of(self.generations)}

    def read(self, index: int) -> ReadResponse:
        """A finished choice as a message."""
        prefix = f"call_{self.identity.id.removeprefix('chatcmpl-')}_{index}"
        return read_response(self.model, self.generations[index], has_tools=self.has_tools, call_id_prefix=prefix)

    def token_fields(self, choices: Sequence[TokenChoice]) -> dict[str, Any]:
        """Log-probabilities and token ids of these tokens of a choice."""
        content = [logprob_entry(self.model, choice) for choice in choices] if self.request.logprobs else []
        ids = {"token_ids": [choice.token for choice in choices]} if self.request.return_token_ids else {}
        return {"logprobs": {"content": content, "refusal": None} if self.request.logprobs else None, **ids}

    def _head(self, kind: str) -> dict[str, Any]:
        identity = self.identity
        head = {"id": identity.id, "object": kind, "created": identity.created, "model": identity.model}
        return {**head, "policy_version": self.policy_version}

    def _choice(self, index: int, generation: Generation) -> dict[str, Any]:
        read = self.read(index)
        reasoning = {"reasoning_content": read.reasoning} if read.reasoning else {}
        calls = {"tool_calls": list(read.tool_calls)} if read.tool_calls else {}
        return {
            "index": index,
            "message": {"role": "assistant", "content": read.content, "refusal": None, **reasoning, **calls},
            "finish_reason": read.finish_reason,
            "stop_reason": read.stop_reason,
            **self.token_fields(generation.choices),
        }


class _ChoiceStream:
    """One choice of a streamed response."""

    def __init__(self, answer: ChatAnswer, index: int) -> None:
        self._answer = answer
        self._index = index
        self._generation = answer.generations[index]
        self._text = ShownText(answer.model, answer.request.stops, has_tools=answer.has_tools)
        prompt = self._generation.request.prompt_tokens
        self._message = StreamedMessage(reasoning_place(answer.model, prompt))
        self._taken = 0
        self.is_done = False

    def parts(self) -> list[dict[str, Any]]:
        """The progress since the last call; at the end, the remainder."""
        # In this order: progress between the two is included in the next call.
        is_over = self._generation.is_over
        choices = self._generation.choices[self._taken :]
        self._taken += len(choices)
        parts = [self._token_part(choices)] if choices else []
        if is_over:
            raise_failures([self._generation])
            self.is_done = True
            parts.append(self._last_part())
        return parts

    def _token_part(self, choices: Sequence[TokenChoice]) -> dict[str, Any]:
        ends = self._generation.request.end_tokens
        text = self._text.take([choice.token for choice in choices if choice.token not in ends])
        delta = self._message.take(text)
        fields = self._answer.token_fields(choices)
        return {"index": self._index, "delta": delta, **fields, "finish_reason": None}

    def _last_part(self) -> dict[str, Any]:
        read = self._answer.read(self._index)
        delta: dict[str, Any] = {**self._message.rest(SplitResponse(read.reasoning, read.content or ""))}
        if read.tool_calls:
            delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(read.tool_calls)]
        finish = {"finish_reason": read.finish_reason, "stop_reason": read.stop_reason}
        return {"index": self._index, "delta": delta, "logprobs": None, **finish}
