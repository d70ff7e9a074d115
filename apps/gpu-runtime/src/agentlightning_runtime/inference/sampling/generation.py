"""One response in progress."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from agentlightning_runtime.inference.http.api_error import ApiError, cancelled
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule, TokenChoice
from agentlightning_runtime.inference.sampling.served_weights import ServedWeights

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True)
class GenerationRequest:
    """A request for one response.

    Attributes:
        prompt_tokens: the prompt's token ids, at least one.
        max_tokens: maximum number of sampled tokens.
        rule: sampling parameters.
        seed: with the same prompt, rule and weights, the same seed gives the same response.
        end_tokens: tokens that end the response; they are part of it.
        find_stop: returns the stop text in the tokens so far, or ``None``.
        forced_tokens: the ``max_tokens`` tokens of the response; ``None``: they are sampled.
    """

    prompt_tokens: tuple[int, ...]
    max_tokens: int
    rule: SamplingRule
    seed: int
    end_tokens: frozenset[int]
    find_stop: Callable[[list[int]], str | None] | None = None
    forced_tokens: tuple[int, ...] | None = None


@dataclass
class Generation:
    """A response being sampled. It keeps the weights it started with, so it comes from exactly one policy version.

    Attributes:
        is_probe: a response of the runtime itself; it is admitted beyond the limit of running responses.
        on_progress: called in the sampling thread after every token and at the end; it must not block.
        on_end: called by the sampling thread only at the end; it must not block.
        choices: every sampled token with its log-probability, including the end token.
        stop: the stop text that ended it, if any; the tokens include it.
    """

    request: GenerationRequest
    weights: ServedWeights
    is_probe: bool = False
    on_progress: Callable[[], None] | None = None
    on_end: Callable[[], None] | None = None
    choices: list[TokenChoice] = field(default_factory=list)
    cached_tokens: int = 0
    finish_reason: FinishReason | None = None
    stop: str | None = None
    error: ApiError | None = None

    def __post_init__(self) -> None:
        # Not for secrets. Each response has a separate generator, so its tokens do not depend on the batch.
        self._random = random.Random(self.request.seed)  # noqa: S311
        self._ended = threading.Event()
        self._cancel_reason: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the response has ended."""
        return self._ended.is_set()

    @property
    def policy_version(self) -> int:
        """The policy version of the response."""
        return self.weights.version

    @property
    def tokens(self) -> list[int]:
        """The sampled tokens so far."""
        return [choice.token for choice in self.choices]

    @property
    def sequence(self) -> tuple[int, ...]:
        """The prompt and the sampled tokens so far."""
        return (*self.request.prompt_tokens, *self.tokens) if self.choices else self.request.prompt_tokens

    @property
    def length(self) -> int:
        """Number of tokens of prompt and response so far."""
        return len(self.request.prompt_tokens) + len(self.choices)

    @property
    def next_forced(self) -> int | None:
        """The next token of a forced response; None when it is sampled."""
        forced = self.request.forced_tokens
        return None if forced is None else forced[len(self.choices)]

    def next_uniform(self) -> float:
        """The random number that selects the next token."""
        return self._random.random()

    def suspend(self) -> None:
        """Prepares to continue from its tokens alone: the next random number is again that of the next token."""
        self._random.seed(self.request.seed)
        for _ in self.choices:
            self.next_uniform()

    def cancel(self, reason: str) -> None:
        """Requests the end of the response at the next token."""
        self._cancel_reason = self._cancel_reason or reason

    def fail_if_cancelled(self) -> bool:
        """Ends a cancelled response. Called in the sampling thread."""
        if self._cancel_reason is None or self.is_over:
            return False
        self.fail(cancelled(self._cancel_reason))
        return True

    def fail(self, error: ApiError) -> None:
        """Ends it with an error."""
        self.error = error
        self._ended.set()
        self._announce()

    def add(self, choice: TokenChoice, max_context: int) -> None:
        """Appends the next token; ends the response when that was the last."""
        self.choices.append(choice)
        request = self.request
        if choice.token in request.end_tokens:
            self.finish_reason = "stop"
        elif request.find_stop is not None and (stop := request.find_stop(self.tokens)) is not None:
            self.finish_reason, self.stop = "stop", stop
        elif len(self.choices) >= request.max_tokens or len(request.prompt_tokens) + len(self.choices) >= max_context:
            self.finish_reason = "length"
        if self.finish_reason is not None:
            self._ended.set()
        self._announce()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Blocks until the response has ended; for callers without an event loop."""
        return self._ended.wait(timeout_s)

    def _announce(self) -> None:
        if self.on_progress is not None:
            self.on_progress()
        if self.on_end is not None and self.is_over:
            self.on_end()
