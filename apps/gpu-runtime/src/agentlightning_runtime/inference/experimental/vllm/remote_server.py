"""A vLLM or SGLang server that was started elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.inference.experimental.vllm.server_api import SglangApi, VllmApi

if TYPE_CHECKING:
    from agentlightning_runtime.inference.experimental.vllm.server_api import ServerApi

_TIMEOUT_S = 30


class RemoteServer:
    """A running vLLM or SGLang server. Implements `RunningServer`.

    Args:
        root_url: its address, without `/v1`.
        api_key: its key; empty: none.

    Raises:
        EngineError: ENGINE_UNAVAILABLE when it does not respond as vLLM or SGLang does; PRECONDITION when it would
            sample with parameters that the trainer does not know.
    """

    def __init__(self, root_url: str, api_key: str = "") -> None:
        self.root_url = root_url.rstrip("/").removesuffix("/v1")
        self.api_key = api_key
        self.api: ServerApi = VllmApi()
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        with httpx2.Client(base_url=self.root_url, headers=headers, timeout=_TIMEOUT_S) as client:
            try:
                models: list[dict[str, Any]] = _get(client, "/v1/models")["data"]
                base = next(model for model in models if not model.get("parent"))
                self.base_name = str(base["id"])
                if base.get("owned_by") == "sglang":
                    self.api = SglangApi()
                    _check_sampling_defaults(self.root_url, _get(client, "/server_info"))
            except (httpx2.HTTPError, ValueError, KeyError, StopIteration) as error:
                message = f"No vLLM or SGLang server responds at {self.root_url}: {error}"
                remedy = "Start it, or correct --sampler-url and its key"
                raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy=remedy) from error

    def stop(self) -> None:
        """Leaves it running: it belongs to another program."""


def _get(client: httpx2.Client, path: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(path).raise_for_status().json()
    return found


def _check_sampling_defaults(root_url: str, info: dict[str, Any]) -> None:
    """By default, SGLang takes top-p, top-k and others from the model's `generation_config.json`."""
    if info["sampling_defaults"] != "openai":
        message = f"SGLang at {root_url} samples with the defaults of the model, which the trainer does not know"
        remedy = "Start it with --sampling-defaults openai"
        raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy)
