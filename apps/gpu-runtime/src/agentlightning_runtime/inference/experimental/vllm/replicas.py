"""The replicas that serve a model."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.inference_backend import ProbeResponse
from agentlightning_runtime.inference.experimental.vllm.daemon_thread import start_daemon

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from agentlightning_runtime.inference.experimental.vllm.server_api import ServerApi, ServerRequest
    from agentlightning_runtime.inference.experimental.vllm.vllm_process import RunningServer

_CONTROL_TIMEOUT_S = 600
"""Timeout of reloading the weights of a large model."""
_ATTEMPT_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go.

    Attributes:
        root_url: the URL of the server, without a path.
        headers: headers of its requests.
        api: its API.
        model: its name of the weights.
    """

    root_url: str
    headers: Mapping[str, str]
    api: ServerApi
    model: str


class Replicas:
    """Sends every change to all replicas, and each request to one.

    Args:
        servers: the servers; at least one.
    """

    def __init__(self, servers: Sequence[RunningServer]) -> None:
        self._servers = servers
        # vLLM closes the connection of a failed request after its response, when another may have begun on it.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._clients = [
            httpx2.Client(base_url=each.root_url, headers=_headers(each), timeout=_CONTROL_TIMEOUT_S, limits=limits)
            for each in servers
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

    def target(self, replica: int, adapter: str | None) -> Target:
        """Where the requests to a replica go.

        Args:
            replica: Its index.
            adapter: The name of the adapter; None: the base.
        """
        server = self._servers[replica]
        return Target(server.root_url, _headers(server), server.api, server.api.model_name(server.base_name, adapter))

    @property
    def base_name(self) -> str:
        """The name of the base model."""
        return self._servers[0].base_name

    def control(self, path: str, body: dict[str, Any] | None = None) -> None:
        """Sends a request to all replicas at the same time; returns when the last has responded.

        Raises:
            EngineError: ENGINE_UNAVAILABLE when one does not respond, or rejects it.
        """
        self._control(lambda _api: [(path, body)])

    def control_each(self, path: str, bodies: Sequence[dict[str, Any] | None] | None = None) -> None:
        """As `control`, with a body for each replica; raises as soon as one fails, without waiting for the others."""
        for request in as_completed(self._submit(path, bodies, _CONTROL_TIMEOUT_S)):
            request.result()

    def attempt(self, path: str, body: dict[str, Any] | None = None) -> None:
        """Sends a request to all replicas, and leaves those that fail or do not respond soon."""
        wait(self._submit(path, [body] * len(self._servers), _ATTEMPT_TIMEOUT_S))

    def ask(self, path: str) -> list[dict[str, Any]]:
        """The responses of all replicas to a GET request.

        Raises:
            EngineError: ENGINE_UNAVAILABLE as `control`.
        """
        return [_get(server, client, path) for server, client in zip(self._servers, self._clients, strict=True)]

    @property
    def root_urls(self) -> list[str]:
        """The URLs of all replicas, without a path."""
        return [server.root_url for server in self._servers]

    @property
    def can_transfer(self) -> bool:
        """Whether all are programs with a weight transfer."""
        return all(server.api.has_weight_transfer for server in self._servers)

    def load_adapter(self, adapter: str, folder: Path) -> None:
        """Loads an adapter into all replicas, as `control`."""
        self._control(lambda api: api.load_adapter(adapter, folder))

    def unload_adapter(self, adapter: str) -> None:
        """Unloads it from all replicas, as `control`."""
        self._control(lambda api: api.unload_adapter(adapter))

    def reload_weights(self, folder: Path) -> None:
        """Replaces the weights of the base in all replicas, as `control`."""
        self._control(lambda api: api.reload_weights(folder))

    def drop_cached_prompts(self) -> None:
        """Empties the prefix caches of all replicas after a weight transfer, as `control`."""
        self._control(lambda api: api.drop_cached_prompts())

    def check_token_versions(self) -> None:
        """Checks that all replicas report the version of each token.

        Raises:
            EngineError: PRECONDITION when one does not.
        """
        for server in self._servers:
            if not server.api.reports_token_versions:
                message = f"{server.api.name} at {server.root_url} does not report the weights that sampled each token"
                raise EngineError(EngineErrorReason.PRECONDITION, message, remedy="Remove --sampler-in-flight")

    def complete(
        self, prompts: Sequence[Sequence[int]], adapter: str | None, body: Callable[[int], dict[str, Any]]
    ) -> list[ProbeResponse]:
        """Completes prompts at the same time; the replicas take turns, so that each has some.

        Args:
            prompts: Token ids.
            adapter: The name of the adapter; None: the base.
            body: Further fields of the request of the prompt with this index.

        Raises:
            EngineError: ENGINE_UNAVAILABLE when a replica does not respond, or rejects it.
        """

        def sample(index: int) -> ProbeResponse:
            replica = index % len(self._clients)
            sent = {**body(index), "model": self.target(replica, adapter).model, "prompt": list(prompts[index])}
            answer = _send(self._servers[replica], self._clients[replica], "/v1/completions", sent).json()
            choice: dict[str, Any] = answer["choices"][0]
            return ProbeResponse(prompts[index], choice["token_ids"], choice["logprobs"]["token_logprobs"])

        with ThreadPoolExecutor(max_workers=len(prompts)) as pool:
            return list(pool.map(sample, range(len(prompts))))

    def close(self) -> None:
        """Closes the connections."""
        for client in self._clients:
            client.close()

    def _submit(
        self, path: str, bodies: Sequence[dict[str, Any] | None] | None, timeout_s: float
    ) -> list[Future[httpx2.Response]]:
        sent = bodies or [None] * len(self._servers)
        return [
            start_daemon(partial(_send, server, client, path, body, timeout_s))
            for server, client, body in zip(self._servers, self._clients, sent, strict=True)
        ]

    def _control(self, requests: Callable[[ServerApi], Sequence[ServerRequest]]) -> None:
        def send(server: RunningServer, client: httpx2.Client) -> None:
            for path, body in requests(server.api):
                _send(server, client, path, body)

        with ThreadPoolExecutor(max_workers=len(self._clients)) as pool:
            list(pool.map(send, self._servers, self._clients))


def _headers(server: RunningServer) -> dict[str, str]:
    return {"authorization": f"Bearer {server.api_key}"} if server.api_key else {}


def _send(
    server: RunningServer,
    client: httpx2.Client,
    path: str,
    body: dict[str, Any] | None,
    timeout_s: float = _CONTROL_TIMEOUT_S,
) -> httpx2.Response:
    return _checked(server, client, path, lambda: client.post(path, json=body, timeout=timeout_s))


def _get(server: RunningServer, client: httpx2.Client, path: str) -> dict[str, Any]:
    found: dict[str, Any] = _checked(server, client, path, lambda: client.get(path)).json()
    return found


def _checked(
    server: RunningServer, client: httpx2.Client, path: str, ask: Callable[[], httpx2.Response]
) -> httpx2.Response:
    try:
        answer = ask()
    except httpx2.TransportError as error:
        message = f"{server.api.name} at {client.base_url} did not respond to {path}: {error}"
        raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log") from error
    if answer.is_error:
        message = (
            f"{server.api.name} at {client.base_url} rejected {path} with {answer.status_code}: {answer.text[:500]}"
        )
        raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log")
    return answer
