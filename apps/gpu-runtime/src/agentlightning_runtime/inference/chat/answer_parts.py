"""Parts shared by responses of chat and plain completions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.inference.sampling.loop_waker import waker_of_this_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.inference.sampling.generation import Generation
    from agentlightning_runtime.inference.sampling.sampling_rule import TokenChoice
    from agentlightning_runtime.inference.text.text_model import TextModel

_IMPOSSIBLE = -9999.0
"""JSON has no minus infinity; OpenAI uses this value for a probability near zero."""


@dataclass(frozen=True)
class AnswerIdentity:
    """The responding model, and the time in Unix seconds."""

    id: str
    created: int
    model: str


def usage_of(generations: Sequence[Generation]) -> dict[str, Any]:
    """Prompt and completion token counts, in OpenAI's format."""
    first = generations[0]
    prompt = len(first.request.prompt_tokens)
    completion = sum(len(generation.choices) for generation in generations)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": first.cached_tokens},
    }


def logprob_entry(model: TextModel, choice: TokenChoice) -> dict[str, Any]:
    """A token's log-probability as chat completions report it."""
    top = [_named(model, token, logprob) for token, logprob in choice.top]
    return {**_named(model, choice.token, choice.logprob), "top_logprobs": top}


def finite(logprob: float) -> float:
    """A log-probability that JSON can represent."""
    return max(logprob, _IMPOSSIBLE)


class Progress:
    """Wakes an event loop when the sampling thread makes progress.

    Args:
        generations: the generations to wait for.
        only_ends: wake at the end of responses only, not for every token.
    """

    def __init__(self, generations: Sequence[Generation], *, only_ends: bool = False) -> None:
        self._waker = waker_of_this_loop()
        self._more = asyncio.Event()
        for generation in generations:
            if only_ends:
                generation.on_end = self._wake
            else:
                generation.on_progress = self._wake

    async def wait(self) -> None:
        """Returns after progress since the last call."""
        await self._more.wait()
        self._more.clear()

    def _wake(self) -> None:
        self._waker.wake(self._more)


async def whole(generations: Sequence[Generation]) -> None:
    """Waits until all responses have ended.

    Raises:
        ApiError: the first error of a response.
    """
    progress = Progress(generations, only_ends=True)
    while not all(generation.is_over for generation in generations):
        await progress.wait()
    raise_failures(generations)


def raise_failures(generations: Sequence[Generation]) -> None:
    """Raises the error of a response, if any."""
    for generation in generations:
        if generation.error is not None:
            raise generation.error


def _named(model: TextModel, token: int, logprob: float) -> dict[str, Any]:
    text, token_bytes = model.token_text(token)
    return {"token": text, "logprob": finite(logprob), "bytes": list(token_bytes)}
