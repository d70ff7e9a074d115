"""The replicas that serve a model."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.inference.inference_backend import ProbeResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentlightning_runtime.inference.vllm.vllm_process import RunningVllm

_CONTROL_TIMEOUT_S = 600
"""Timeout of reloading the weights of a large model."""


class Replicas:
    """Sends every change to all replicas, and each request to one.

    Args:
        servers: the servers; at least one.
    """

    def __init__(self, servers: Sequence[RunningVllm]) -> None:
        self._servers = servers
        self._clients = [
            httpx.Client(base_url=each.root_url, headers=_headers(each), timeout=_CONTROL_TIMEOUT_S) for each in servers
        ]
        self._in_flight = [0] * len(servers)

    def enter(self) -> int:
        """Chooses the replica with the fewest requests; call `leave` at their end. Not thread-safe."""
        replica = min(range(len(self._servers)), key=self._in_flight.__getitem__)
        self._in_flight[replica] += 1
        return replica

    def leave(self, replica: int) -> None:
        """A request has ended."""
        self._in_flight[replica] -= 1

    def address(self, replica: int) -> tuple[str, dict[str, str]]:
        """The URL of a replica, without a path, and the headers of its requests."""
        return self._servers[replica].root_url, _headers(self._servers[replica])

    @property
    def base_name(self) -> str:
        """The name of the base model."""
        return self._servers[0].base_name

    def control(self, path: str, body: dict[str, Any] | None = None) -> None:
        """Sends a request to all replicas at the same time; returns when the last has responded.

        Raises:
            EngineError: ENGINE_UNAVAILABLE when one does not respond, or rejects it.
        """
        count = len(self._clients)
        with ThreadPoolExecutor(max_workers=count) as pool:
            list(pool.map(_send, self._clients, [path] * count, [body] * count))

    def complete(self, prompts: Sequence[Sequence[int]], body: Callable[[int], dict[str, Any]]) -> list[ProbeResponse]:
        """Completes prompts at the same time; the replicas take turns, so that each has some.

        Args:
            prompts: Token ids.
            body: The request of the prompt with this index.

        Raises:
            EngineError: ENGINE_UNAVAILABLE when a replica does not respond, or rejects it.
        """

        def sample(index: int) -> ProbeResponse:
            client = self._clients[index % len(self._clients)]
            answer = _send(client, "/v1/completions", {**body(index), "prompt": list(prompts[index])}).json()
            choice: dict[str, Any] = answer["choices"][0]
            return ProbeResponse(prompts[index], choice["token_ids"], choice["logprobs"]["token_logprobs"])

        with ThreadPoolExecutor(max_workers=len(prompts)) as pool:
            return list(pool.map(sample, range(len(prompts))))

    def close(self) -> None:
        """Closes the connections."""
        for client in self._clients:
            client.close()


def _headers(server: RunningVllm) -> dict[str, str]:
    return {"authorization": f"Bearer {server.api_key}"} if server.api_key else {}


def _send(client: httpx.Client, path: str, body: dict[str, Any] | None) -> httpx.Response:
    try:
        answer = client.post(path, json=body)
    except httpx.TransportError as error:
        message = f"vLLM at {client.base_url} did not respond to {path}: {error}"
        raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log") from error
    if answer.is_error:
        message = f"vLLM at {client.base_url} rejected {path} with {answer.status_code}: {answer.text[:500]}"
        raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log")
    return answer
