"""The HTTP API of a sampler server beyond OpenAI's, in which vLLM and SGLang differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from agentlightning_runtime.inference.experimental.vllm.engine_terms import SGLANG, VLLM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ServerRequest = tuple[str, dict[str, Any] | None]
"""Path and JSON body of a POST request."""


class ServerApi(Protocol):
    """The requests that change the weights of a server, and its form of OpenAI's API."""

    @property
    def name(self) -> str:
        """The name of the program, for messages."""
        ...

    @property
    def reports_token_versions(self) -> bool:
        """Whether it reports the version of the weights of each token."""
        ...

    @property
    def has_weight_transfer(self) -> bool:
        """Whether it has vLLM's weight transfer."""
        ...

    def load_adapter(self, adapter: str, folder: Path) -> Sequence[ServerRequest]:
        """Loads an adapter in the format of PEFT under a new name."""
        ...

    def unload_adapter(self, adapter: str) -> Sequence[ServerRequest]:
        """Unloads it."""
        ...

    def reload_weights(self, folder: Path) -> Sequence[ServerRequest]:
        """Replaces the weights of the base, and drops the cached prompts."""
        ...

    def drop_cached_prompts(self) -> Sequence[ServerRequest]:
        """Empties the prefix cache after a weight transfer."""
        ...

    def model_name(self, base: str, adapter: str | None) -> str:
        """The `model` of a request to the base, or to an adapter on it."""
        ...

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        """Whether it can stream the response to this request."""
        ...

    def as_of_vllm(self, response: dict[str, Any]) -> dict[str, Any]:
        """A whole response with the field names of vLLM."""
        ...


class VllmApi:
    """The API of vLLM 0.32."""

    name = VLLM.name
    reports_token_versions = True
    has_weight_transfer = True

    def load_adapter(self, adapter: str, folder: Path) -> Sequence[ServerRequest]:
        """Loads an adapter."""
        return [(VLLM.load_adapter_route, {"lora_name": adapter, "lora_path": str(folder)})]

    def unload_adapter(self, adapter: str) -> Sequence[ServerRequest]:
        """Unloads it."""
        return [(VLLM.unload_adapter_route, {"lora_name": adapter})]

    def reload_weights(self, folder: Path) -> Sequence[ServerRequest]:
        """Replaces the weights."""
        reload = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
        return [(VLLM.reload_weights_route, reload), *self.drop_cached_prompts()]

    def drop_cached_prompts(self) -> Sequence[ServerRequest]:
        """Empties the prefix cache."""
        return [(VLLM.reset_prefix_cache_route, None)]

    def model_name(self, base: str, adapter: str | None) -> str:
        """An adapter is a model."""
        return base if adapter is None else adapter

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        """Every response."""
        del path, body
        return True

    def as_of_vllm(self, response: dict[str, Any]) -> dict[str, Any]:
        """The response."""
        return response


class SglangApi:
    """The API of SGLang 0.5.23."""

    name = SGLANG.name
    reports_token_versions = False
    has_weight_transfer = False

    def load_adapter(self, adapter: str, folder: Path) -> Sequence[ServerRequest]:
        """Loads an adapter."""
        return [(SGLANG.load_adapter_route, {"lora_name": adapter, "lora_path": str(folder)})]

    def unload_adapter(self, adapter: str) -> Sequence[ServerRequest]:
        """Unloads it."""
        return [(SGLANG.unload_adapter_route, {"lora_name": adapter})]

    def reload_weights(self, folder: Path) -> Sequence[ServerRequest]:
        """Replaces the weights; SGLang drops the cached prompts with it."""
        return [(SGLANG.reload_weights_route, {"model_path": str(folder), "flush_cache": True})]

    def drop_cached_prompts(self) -> Sequence[ServerRequest]:
        """SGLang has no weight transfer."""
        return []

    def model_name(self, base: str, adapter: str | None) -> str:
        """An adapter is a suffix of the base's name."""
        return base if adapter is None else f"{base}:{adapter}"

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        """All but chats with token ids, which it rejects."""
        return SGLANG.streams_token_ids or not (path.endswith("/chat/completions") and body.get(SGLANG.token_ids_flag))

    def as_of_vllm(self, response: dict[str, Any]) -> dict[str, Any]:
        """The token ids of a chat have another name."""
        choices: list[dict[str, Any]] = response["choices"]
        return {**response, "choices": [_with_token_ids(choice) for choice in choices]}


def _with_token_ids(choice: dict[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in choice.items() if name not in SGLANG.token_ids_fields}
    token_ids = next((choice[name] for name in SGLANG.token_ids_fields if name in choice), None)
    return others if token_ids is None else {**others, VLLM.token_ids_fields[0]: token_ids}
