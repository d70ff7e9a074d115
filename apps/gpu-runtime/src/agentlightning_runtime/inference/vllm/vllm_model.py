"""A model served by vLLM: its weights are pushed into the running server."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.inference.api_error import ApiError, cancelled, model_paused
from agentlightning_runtime.inference.inference_backend import ProbeResponse
from agentlightning_runtime.inference.tool_formats.registry import format_of
from agentlightning_runtime.inference.vllm.vllm_process import VllmModel, adapter_rank_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.inference.inference_backend import ServedModel
    from agentlightning_runtime.inference.vllm.vllm_servers import VllmServers

_CONTROL_TIMEOUT_S = 600
"""Timeout of reloading the weights of a large model."""


class VllmServedModel:
    """Pushes weights and counts requests in flight.

    LoRA: every publication is a separate adapter, `<model>-v<version>-p<publication>`. A name is never used again, also
        when loading a checkpoint lowers the version: vLLM's prefix cache is keyed by the name. Requests in flight end
        with their initial adapter, as with the built-in sampler; an unused adapter is unloaded.

    All weights: they are written to the server's model folder and reloaded while no request is in flight.

    Args:
        model: the model; must have an exporter.
        servers: the running servers.
    """

    def __init__(self, model: ServedModel, version: int, servers: VllmServers) -> None:
        self._model = model
        self._folder = Path(tempfile.mkdtemp(prefix="agentlightning-vllm-"))
        self._changed = threading.Condition()
        self._in_flight: dict[str, int] = {}
        self._abort_count = 0
        self._is_replacing = False
        self.is_paused = False
        self.version = version
        self._publications = 0
        self._adapters: set[str] = set()
        source = model.base_source if model.lora_rank > 0 else str(self._folder / "model")
        if model.lora_rank == 0:
            self._export(Path(source))
        template: object = getattr(model.tokenizer, "chat_template", None)
        parser = format_of(template if isinstance(template, str) else "").name
        self._servers = servers
        self._settings = VllmModel(source, adapter_rank_limit(model.lora_rank), model.max_context, parser)
        self._vllm = servers.acquire(self._settings)
        self._client = httpx.Client(base_url=self._vllm.root_url, timeout=_CONTROL_TIMEOUT_S)
        try:
            self._served_name = self._load_adapter(version) if model.lora_rank > 0 else source
        except BaseException:
            self._release()
            raise

    @property
    def root_url(self) -> str:
        """The URL of the server."""
        return self._vllm.root_url

    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""
        with self._changed:
            return sum(self._in_flight.values())

    def publish(self, model: ServedModel, version: int) -> None:
        """Serves the current weights from the next request on."""
        self._model = model
        if model.lora_rank > 0:
            name = self._load_adapter(version)
            with self._changed:
                self.version, self._served_name = version, name
            self._unload_unused()
            return
        self._replace_weights(version)

    def enter(self) -> tuple[str, int, int]:
        """Registers a request: returns vLLM's model name, the version, and a token for `was_aborted`.

        Raises:
            ApiError: while the model is paused.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._is_replacing)
            if self.is_paused:
                raise model_paused(self._model.model_id)
            self._in_flight[self._served_name] = self._in_flight.get(self._served_name, 0) + 1
            return self._served_name, self.version, self._abort_count

    def leave(self, name: str) -> None:
        """Unregisters a request."""
        with self._changed:
            self._in_flight[name] -= 1
            if self._in_flight[name] == 0:
                del self._in_flight[name]
            self._changed.notify_all()

    def check_not_aborted(self, mark: int) -> None:
        """Raises when requests in flight were cancelled since."""
        if self._abort_count != mark:
            raise cancelled("The model was paused")

    def pause(self, *, abort: bool) -> None:
        """Rejects new requests; returns when those in flight have ended."""
        with self._changed:
            self.is_paused = True
            self._abort_count += 1 if abort else 0
            self._changed.notify_all()
            # A concurrent resume also ends the wait: new requests may then arrive continuously.
            self._changed.wait_for(lambda: not self._in_flight or not self.is_paused)

    def resume(self) -> None:
        """Accepts requests again."""
        with self._changed:
            self.is_paused = False
            self._changed.notify_all()

    def close(self) -> None:
        """Unloads the adapters, and ends the server when no other model uses it."""
        with self._changed:
            self.is_paused = True
            self._abort_count += 1
        # A server that has failed keeps no adapter.
        with contextlib.suppress(EngineError):
            for name in self._adapters:
                self._control("/v1/unload_lora_adapter", {"lora_name": name})
        self._release()

    def probe(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Sequence[ProbeResponse]:
        """Samples a response to each prompt, all at the same time, so that several replicas share them."""

        def sample(prompt: Sequence[int], seed: int) -> ProbeResponse:
            # Explicit values override the defaults of the model's `generation_config.json`.
            settings = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "seed": seed}
            body = {"model": self._served_name, "prompt": list(prompt), "max_tokens": max_tokens, **settings}
            answer = self._control("/v1/completions", {**body, "logprobs": 1, "return_token_ids": True}).json()
            choice: dict[str, Any] = answer["choices"][0]
            return ProbeResponse(prompt, choice["token_ids"], choice["logprobs"]["token_logprobs"])

        with ThreadPoolExecutor(max_workers=len(prompts)) as pool:
            return list(pool.map(sample, prompts, range(len(prompts))))

    def _release(self) -> None:
        self._client.close()
        self._servers.release(self._settings)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _export(self, folder: Path) -> None:
        if self._model.export is None:
            message = f'The model "{self._model.model_id}" has no weight exporter'
            raise EngineError(EngineErrorReason.INVALID, message, remedy="Serve it with the built-in sampler")
        folder.mkdir(parents=True)
        self._model.export(folder)

    def _load_adapter(self, version: int) -> str:
        self._publications += 1
        name = f"{self._model.model_id}-v{version}-p{self._publications}"
        folder = self._folder / name
        self._export(folder)
        self._control("/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})
        self._adapters.add(name)
        return name

    def _unload_unused(self) -> None:
        with self._changed:
            used = {*self._in_flight, self._served_name}
        for name in self._adapters - used:
            self._control("/v1/unload_lora_adapter", {"lora_name": name})
            self._adapters.discard(name)
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _replace_weights(self, version: int) -> None:
        """Writes to a temporary folder and swaps it in while no request is in flight."""
        fresh, place = self._folder / "fresh", self._folder / "model"
        shutil.rmtree(fresh, ignore_errors=True)
        self._export(fresh)
        with self._changed:
            self._is_replacing = True
            self._changed.wait_for(lambda: not self._in_flight)
        try:
            for file in fresh.iterdir():
                file.replace(place / file.name)
            self._control("/collective_rpc", {"method": "reload_weights"})
            self._control("/reset_prefix_cache", None)
            self.version = version
        finally:
            with self._changed:
                self._is_replacing = False
                self._changed.notify_all()

    def _control(self, path: str, body: dict[str, Any] | None) -> httpx.Response:
        try:
            answer = self._client.post(path, json=body)
        except httpx.TransportError as error:
            message = f"vLLM did not respond to {path}: {error}"
            raise EngineError(
                EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log"
            ) from error
        if answer.is_error:
            message = f"vLLM rejected {path} with {answer.status_code}: {answer.text[:500]}"
            raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log")
        return answer


def vllm_failed(error: Exception) -> ApiError:
    """vLLM did not respond to a request."""
    return ApiError(503, "RUNTIME_UNAVAILABLE", f"vLLM did not respond: {error}", "Send the request again.")
