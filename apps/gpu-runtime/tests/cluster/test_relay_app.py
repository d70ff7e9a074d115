"""The model API of the front process, with real servers as worker groups."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agentlightning_runtime.cluster.call_queue import Upstream
from agentlightning_runtime.cluster.relay_app import RelayApp
from agentlightning_runtime.contract.users import Keys
from agentlightning_runtime.inference.http_server import EndpointSettings, HttpServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator

    from starlette.requests import Request


async def answer(request: Request) -> Response:
    body = await request.json()
    headers = {"x-agl-policy-version": "7"}
    if body.get("stream") is True:

        async def chunks() -> AsyncIterator[bytes]:
            for text in ("data: a\n\n", "data: [DONE]\n\n"):
                yield text.encode()

        return StreamingResponse(chunks(), media_type="text/event-stream", headers=headers)
    status = 400 if body["model"] == "unknown" else 200
    return JSONResponse({"key": request.headers["authorization"], "asked": body}, status, headers)


class Groups:
    """The endpoints of worker groups, one after another."""

    def __init__(self) -> None:
        self.current: Upstream | None = None
        self.requested = threading.Event()

    async def find(self, newer_than: int, timeout_s: float) -> Upstream | None:
        if self.current is not None and self.current.generation > newer_than:
            return self.current
        self.requested.set()
        await asyncio.sleep(0.01)
        return None


@contextmanager
def a_worker(groups: Groups, generation: int) -> Generator[None]:
    app = Starlette(routes=[Route(path, answer, methods=["POST"]) for path in ("/v1/chat/completions", "/tokenize")])
    server = HttpServer(app, EndpointSettings())
    groups.current = Upstream(generation, server.base_url.removesuffix("/v1"))
    try:
        yield
    finally:
        server.close()


@pytest.fixture
def groups() -> Groups:
    return Groups()


@pytest.fixture
def client(groups: Groups) -> Generator[httpx.Client]:
    relay = RelayApp(lambda: ["policy"], Keys("key"), "worker-key", groups.find)
    server = HttpServer(relay.starlette(), EndpointSettings(keys=Keys("key")))
    with httpx.Client(base_url=server.base_url, headers={"authorization": "Bearer key"}, timeout=30) as client:
        yield client
    server.close()


def test_requests_are_forwarded_with_the_key_of_the_workers(client: httpx.Client, groups: Groups) -> None:
    with a_worker(groups, 1):
        found = client.post("/chat/completions", json={"model": "policy"})
        assert found.json() == {"key": "Bearer worker-key", "asked": {"model": "policy"}}
        assert found.headers["x-agl-policy-version"] == "7"
        assert client.post("/chat/completions", json={"model": "unknown"}).status_code == 400
        streamed = client.post("/chat/completions", json={"model": "policy", "stream": True})
        assert streamed.text == "data: a\n\ndata: [DONE]\n\n"
        assert streamed.headers["content-type"].startswith("text/event-stream")


def test_callers_need_the_key_of_the_runtime(client: httpx.Client) -> None:
    assert [each["id"] for each in client.get("/models").json()["data"]] == ["policy"]
    refused = client.post("/chat/completions", json={"model": "policy"}, headers={"authorization": "Bearer worker-key"})
    assert refused.status_code == 401


def test_a_request_waits_for_the_group_that_replaces_a_failed_one(client: httpx.Client, groups: Groups) -> None:
    with a_worker(groups, 1):
        client.post("/chat/completions", json={"model": "policy"})
    groups.requested.clear()
    found: list[int] = []
    waiting = threading.Thread(
        target=lambda: found.append(client.post("/chat/completions", json={"model": "policy"}).status_code)
    )
    waiting.start()
    assert groups.requested.wait(10)
    assert found == []
    with a_worker(groups, 2):
        waiting.join(10)
    assert found == [200]


def test_bodies_are_forwarded_unchanged(client: httpx.Client, groups: Groups) -> None:
    with a_worker(groups, 1):
        body = json.dumps({"model": "policy", "messages": [{"role": "user", "content": "ü"}]}).encode()
        assert client.post("/chat/completions", content=body).json()["asked"] == json.loads(body)
        tokenize = str(client.base_url).replace("/v1/", "/tokenize")
        assert client.post(tokenize, content=body).json()["asked"] == json.loads(body)
