"""Responses to completion requests, complete and streamed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.inference.chat.answer_parts import Progress, finite, raise_failures, usage_of
from agentlightning_runtime.inference.chat.response_reader import response_text, stop_reason
from agentlightning_runtime.inference.chat.shown_text import ShownText

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agentlightning_runtime.inference.chat.answer_parts import AnswerIdentity
    from agentlightning_runtime.inference.chat.completion_request import CompletionRequest
    from agentlightning_runtime.inference.sampling.generation import Generation
    from agentlightning_runtime.inference.sampling.sampling_rule import TokenChoice
    from agentlightning_runtime.inference.text.text_model import TextModel


@dataclass(frozen=True)
class CompletionAnswer:
    """A response in progress: one generation for each choice, all from the same weights."""

    identity: AnswerIdentity
    request: CompletionRequest
    model: TextModel
    generations: Sequence[Generation]

    @property
    def policy_version(self) -> int:
        """The policy version of the response."""
        return self.generations[0].policy_version

    def body(self) -> dict[str, Any]:
        """The response when all choices have ended."""
        choices = [
            {
                "index": index,
                "text": response_text(self.model, generation),
                **self._end_fields(generation),
                **self._token_fields(generation.choices, 0),
                **self._prompt_fields(generation),
            }
            for index, generation in enumerate(self.generations)
        ]
        return {**self._head(), "choices": choices, "usage": usage_of(self.generations)}

    async def chunks(self) -> AsyncIterator[dict[str, Any]]:
        """The response as a stream, choices interleaved, with the usage if requested."""
        head = {**self._head(), **({"usage": None} if self.request.includes_usage else {})}
        progress = Progress(self.generations)
        shown = [ShownText(self.model, self.request.stops, has_tools=False) for _ in self.generations]
        taken = [0] * len(self.generations)
        running = set(range(len(self.generations)))
        while running:
            has_more = False
            for index in sorted(running):
                generation = self.generations[index]
                is_over = generation.is_over
                choices = generation.choices[taken[index] :]
                if not choices and not is_over:
                    continue
                has_more = True
                part = self._part(index, choices, taken[index], shown[index])
                taken[index] += len(choices)
                if is_over:
                    raise_failures([generation])
                    running.discard(index)
                    part["text"] += shown[index].rest(response_text(self.model, generation))
                    part.update(self._end_fields(generation))
                yield {**head, "choices": [part]}
            if running and not has_more:
                await progress.wait()
        if self.request.includes_usage:
            yield {**head, "choices": [], "usage": usage_of(self.generations)}

    def _part(self, index: int, choices: Sequence[TokenChoice], taken: int, shown: ShownText) -> dict[str, Any]:
        generation = self.generations[index]
        ends = generation.request.end_tokens
        return {
            "index": index,
            "text": shown.take([choice.token for choice in choices if choice.token not in ends]),
            "finish_reason": None,
            **self._token_fields(choices, taken),
            **(self._prompt_fields(generation) if taken == 0 else {}),
        }

    def _head(self) -> dict[str, Any]:
        identity = self.identity
        head = {"id": identity.id, "object": "text_completion", "created": identity.created, "model": identity.model}
        return {**head, "policy_version": self.policy_version}

    def _end_fields(self, generation: Generation) -> dict[str, Any]:
        return {"finish_reason": generation.finish_reason, "stop_reason": stop_reason(self.model, generation)}

    def _prompt_fields(self, generation: Generation) -> dict[str, Any]:
        if not self.request.return_token_ids:
            return {}
        return {"prompt_token_ids": list(generation.request.prompt_tokens)}

    def _token_fields(self, choices: Sequence[TokenChoice], first: int) -> dict[str, Any]:
        ids = {"token_ids": [choice.token for choice in choices]} if self.request.return_token_ids else {}
        if self.request.logprobs is None:
            return {"logprobs": None, **ids}
        texts = [self.model.token_text(choice.token)[0] for choice in choices]
        tops = [
            {self.model.token_text(token)[0]: finite(logprob) for token, logprob in choice.top} for choice in choices
        ]
        logprobs = {
            "tokens": texts,
            "token_logprobs": [finite(choice.logprob) for choice in choices],
            "top_logprobs": tops,
            "text_offset": [first + index for index in range(len(choices))],
        }
        return {"logprobs": logprobs, **ids}
