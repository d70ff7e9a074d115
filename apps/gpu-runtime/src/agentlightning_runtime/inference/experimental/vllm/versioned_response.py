"""Responses of vLLM while weights change in flight, with the policy version of each token.

vLLM reports the versions of tokens at its token API only, so a request is rendered, sampled and put into OpenAI's
format in three requests to the same server.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx2

from agentlightning_runtime.inference.experimental.vllm.engine_terms import RUNTIME, VLLM

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHAT_PATH = "/v1/chat/completions"


class RejectedError(Exception):
    """vLLM rejected a request. Its response is passed on."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(response.text)
        self.response = response


async def sample_with_versions(
    client: httpx2.AsyncClient, root_url: str, headers: Mapping[str, str], *, path: str, body: dict[str, Any]
) -> httpx2.Response:
    """A whole response. `policy_version` is that of its oldest token, `choices[].policy_versions` has each token's.

    Args:
        client: Sends the requests.
        root_url: URL of the server.
        headers: Headers of its requests.
        path: `/v1/chat/completions` or `/v1/completions`.
        body: The request, without `stream` and its options.
    """

    async def post(where: str, content: object) -> Any:
        response = await client.post(f"{root_url}{where}", json=content, headers=headers)
        if response.status_code != 200:
            raise RejectedError(response)
        return response.json()

    try:
        rendered = await post(f"{path}/render", body)
        prompts: list[dict[str, Any]] = rendered if isinstance(rendered, list) else [rendered]
        if path == _CHAT_PATH and (given := body.get(RUNTIME.prompt_token_ids_parameter)):
            prompts[0]["token_ids"] = given
        generated = await asyncio.gather(*(post(VLLM.generate_route, {**each, "stream": False}) for each in prompts))
        answer = await post(f"{path}/derender", _to_format(path, body, prompts, generated))
    except RejectedError as rejection:
        return rejection.response
    versions = [_versions_of(choice) for each in generated for choice in each["choices"]]
    for choice, of_tokens in zip(answer["choices"], versions, strict=True):
        choice["policy_versions"] = of_tokens
    answer["policy_version"] = min(min(of_tokens) for of_tokens in versions)
    if body.get(RUNTIME.token_ids_flag) and path == _CHAT_PATH:
        answer[RUNTIME.prompt_token_ids_field] = prompts[0]["token_ids"]
    return httpx2.Response(200, json=answer)


def as_chunks(answer: dict[str, Any], *, includes_usage: bool) -> list[dict[str, Any]]:
    """The events of a streamed response: the whole response, and its usage where the client asks for it."""
    usage = answer.pop("usage", None)
    chunks = [{**answer, "choices": [_as_delta(choice) for choice in answer["choices"]]}]
    if answer["object"] == "chat.completion":
        chunks[0]["object"] = "chat.completion.chunk"
    if includes_usage:
        chunks.append({**chunks[0], "choices": [], "usage": usage})
    return chunks


def _to_format(
    path: str, asked: dict[str, Any], prompts: list[dict[str, Any]], generated: list[dict[str, Any]]
) -> dict[str, Any]:
    tokens = [each["token_ids"] for each in prompts]
    counts = [len(each) for each in tokens]
    if path == _CHAT_PATH:
        prompt = {"prompt_tokens": counts[0], "prompt_token_ids": tokens[0]}
        return {"model": asked["model"], "generate_response": generated[0], "chat_request": asked, **prompt}
    prompt = {"prompt_tokens": counts, "prompt_token_ids": tokens}
    return {"model": asked["model"], "generate_responses": generated, "completion_request": asked, **prompt}


def _versions_of(choice: dict[str, Any]) -> list[int]:
    """The version of each token, from the spans that vLLM reports."""
    return [int(span["version"]) for span in choice["weight_versions"] for _ in range(span["start"], span["end"])]


def _as_delta(choice: dict[str, Any]) -> dict[str, Any]:
    if "message" not in choice:
        return choice
    delta = {name: value for name, value in choice["message"].items() if value is not None}
    if calls := delta.pop("tool_calls", None):
        delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(calls)]
    return {**{name: value for name, value in choice.items() if name != "message"}, "delta": delta}
