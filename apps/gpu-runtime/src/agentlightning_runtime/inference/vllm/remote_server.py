"""A vLLM server that was started elsewhere."""

from __future__ import annotations

from typing import Any

import httpx

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason

_TIMEOUT_S = 30


class RemoteVllm:
    """A running vLLM server. Implements `RunningVllm`.

    Args:
        root_url: its address, without `/v1`.
        api_key: its key; empty: none.

    Raises:
        EngineError: ENGINE_UNAVAILABLE when it does not respond as vLLM does.
    """

    def __init__(self, root_url: str, api_key: str = "") -> None:
        self.root_url = root_url.rstrip("/").removesuffix("/v1")
        self.api_key = api_key
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        try:
            response = httpx.get(f"{self.root_url}/v1/models", headers=headers, timeout=_TIMEOUT_S).raise_for_status()
            models: list[dict[str, Any]] = response.json()["data"]
            self.base_name = str(next(model["id"] for model in models if not model.get("parent")))
        except (httpx.HTTPError, ValueError, KeyError, StopIteration) as error:
            message = f"No vLLM server responds at {self.root_url}: {error}"
            remedy = "Start it, or correct --sampler-url and its key"
            raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy=remedy) from error

    def stop(self) -> None:
        """Leaves it running: it belongs to another program."""
