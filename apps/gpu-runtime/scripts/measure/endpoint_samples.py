"""Sampling from the OpenAI-compatible endpoint of a runtime."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.gen.agentlightning.runtime.v1 import model_pb2

CONCURRENT_REQUESTS = 32


@dataclass(frozen=True, slots=True)
class Sample:
    """A sampled response, with the token ids and log-probabilities that training needs."""

    prompt: Sequence[int]
    response: Sequence[int]
    logprobs: Sequence[float]
    text: str


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """Settings of all requests.

    Attributes:
        max_tokens: Largest number of tokens of a response.
        temperature: Sampling temperature; 1 is the policy itself.
    """

    max_tokens: int
    temperature: float = 1.0


def sample(
    endpoint: model_pb2.InferenceEndpoint,
    conversations: Sequence[Sequence[dict[str, str]]],
    settings: SamplingSettings,
) -> list[Sample]:
    """One response for each conversation, in the same order.

    Raises:
        httpx2.HTTPStatusError: When the endpoint rejects a request.
    """
    with (
        httpx2.Client(base_url=endpoint.base_url, timeout=300) as client,
        ThreadPoolExecutor(CONCURRENT_REQUESTS) as pool,
    ):

        def respond(messages: Sequence[dict[str, str]]) -> Sample:
            body = {
                "model": endpoint.model,
                "messages": messages,
                "max_tokens": settings.max_tokens,
                "temperature": settings.temperature,
                "logprobs": True,
                "return_token_ids": True,
            }
            response = client.post("/chat/completions", json=body)
            response.raise_for_status()
            return _sample_of(response.json())

        return list(pool.map(respond, conversations))


def _sample_of(body: Any) -> Sample:
    choice = body["choices"][0]
    return Sample(
        prompt=body["prompt_token_ids"],
        response=choice["token_ids"],
        logprobs=[token["logprob"] for token in choice["logprobs"]["content"]],
        text=choice["message"]["content"] or "",
    )
