"""A model served by vLLM: its weights are pushed into the running server."""

from __future__ import annotations

import contextlib
import shutil
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.inference.experimental.vllm.engine_terms import RUNTIME
from agentlightning_runtime.inference.experimental.vllm.replicas import Replicas
from agentlightning_runtime.inference.experimental.vllm.transfer_choice import choose_transfer
from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmModel, adapter_rank_limit
from agentlightning_runtime.inference.http.api_error import ApiError, cancelled, model_paused
from agentlightning_runtime.inference.tool_formats.registry import format_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.contract.inference_backend import ProbeResponse, ServedModel
    from agentlightning_runtime.inference.experimental.vllm.device_gate import DeviceGate
    from agentlightning_runtime.inference.experimental.vllm.replicas import Target
    from agentlightning_runtime.inference.experimental.vllm.vllm_servers import VllmServers
    from agentlightning_runtime.inference.experimental.vllm.weight_transfer import WeightTransfer


@dataclass(frozen=True, slots=True)
class Entered:
    """A request in flight.

    Attributes:
        adapter: the name of the served adapter; None: the base.
        version: their policy version.
        abort_count: number of aborts before it.
        replica: index of its replica.
    """

    adapter: str | None
    version: int
    abort_count: int
    replica: int


class VllmServedModel:
    """Pushes weights and counts requests in flight.

    LoRA: every publication is a separate adapter, `<model>-v<version>-p<publication>`. A name is never used again, also
        when loading a checkpoint lowers the version: vLLM's prefix cache is keyed by the name. Requests in flight end
        with their initial adapter, as with the built-in sampler; an unused adapter is unloaded.

    All weights: they are transferred, or written to a folder and reloaded, while no request is in flight; or, when
        weights change in flight, while the requests are frozen, which then continue from the new weights. When that
        fails, the servers may have parts of them, and requests are rejected until a publication succeeds.

    Args:
        model: the model; must have an exporter.
        servers: the running servers.
        folder: a new folder for published weights.
        gate: turns with the trainer on the same GPU; None: each has its own.
        in_flight: whether weights of a fully trained model change under running requests.
        prefers_files: whether all weights go by file also where they could be transferred.
    """

    def __init__(
        self,
        model: ServedModel,
        version: int,
        servers: VllmServers,
        *,
        folder: Path,
        gate: DeviceGate | None = None,
        in_flight: bool = False,
        prefers_files: bool = False,
    ) -> None:
        self.changes_in_flight = in_flight and model.lora_rank == 0
        self._model = model
        self._folder = folder
        self._gate = gate
        self._changed = threading.Condition()
        self._in_flight: dict[str | None, int] = {}
        self._abort_count = 0
        self._is_replacing = False
        self._is_incomplete = False
        self._transfer: WeightTransfer | None = None
        self.is_paused = False
        self.version = version
        self._publications = 0
        self._adapters: set[str] = set()
        source = model.base_source if model.lora_rank > 0 else str(self._folder / "model")
        template: object = getattr(model.tokenizer, "chat_template", None)
        parser = format_of(template if isinstance(template, str) else "").name
        self._servers = servers
        self._settings = VllmModel(
            source,
            adapter_rank_limit(model.lora_rank),
            model.max_context,
            parser,
            model.dtype,
            model.export_base if model.lora_rank > 0 else None,
            None if model.lora_rank > 0 else lambda: self._write_source(Path(source)),
        )
        self._replicas = Replicas(servers.acquire(self._settings, model.trained_bytes))
        try:
            self._adapter: str | None = None
            if self.changes_in_flight:
                self._replicas.check_token_versions()
            if model.lora_rank > 0:
                self._adapter = self._load_adapter(version)
            else:
                self._transfer = choose_transfer(self._replicas, model, prefers_files=prefers_files)
                self._send_first_weights(Path(source))
            if self.changes_in_flight:
                self._label(version)
        except BaseException:
            self._release()
            raise

    def target(self, entered: Entered) -> Target:
        """Where a request goes."""
        return self._replicas.target(entered.replica, entered.adapter)

    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""
        with self._changed:
            return sum(self._in_flight.values())

    def publish(self, model: ServedModel, version: int) -> None:
        """Serves the current weights from the next request on."""
        self._model = model
        with self._awake():
            if model.lora_rank == 0:
                self._replace_weights(version)
                return
            name = self._load_adapter(version)
            with self._changed:
                self.version, self._adapter = version, name
            self._unload_unused()

    def enter(self) -> Entered:
        """Registers a request; waits while weights are replaced, or the trainer needs the GPU.

        Raises:
            ApiError: while the model is paused.
        """
        if self._gate is not None:
            self._gate.enter()
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._is_replacing)
                if self.is_paused:
                    raise model_paused(self._model.model_id)
                if self._is_incomplete:
                    raise _incomplete(self._model.model_id)
                self._in_flight[self._adapter] = self._in_flight.get(self._adapter, 0) + 1
                return Entered(self._adapter, self.version, self._abort_count, self._replicas.enter())
        except BaseException:
            if self._gate is not None:
                self._gate.leave()
            raise

    def leave(self, entered: Entered) -> None:
        """Unregisters a request."""
        with self._changed:
            self._replicas.leave(entered.replica)
            self._in_flight[entered.adapter] -= 1
            if self._in_flight[entered.adapter] == 0:
                del self._in_flight[entered.adapter]
            self._changed.notify_all()
        if self._gate is not None:
            self._gate.leave()

    def check_not_aborted(self, entered: Entered) -> None:
        """Raises when requests in flight were cancelled since."""
        if self._abort_count != entered.abort_count:
            raise cancelled("The model was paused" if self.is_paused else "The publication of weights failed")

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
        with contextlib.suppress(EngineError), self._awake():
            for name in self._adapters:
                self._replicas.unload_adapter(name)
        self._release()

    def probe(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Sequence[ProbeResponse]:
        """Samples a response to each prompt, all at the same time, so that several replicas share them."""
        # Explicit values override the defaults of the model's `generation_config.json`.
        settings = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "max_tokens": max_tokens}
        body = {**settings, "logprobs": 1, RUNTIME.token_ids_flag: True}
        with self._awake():
            return self._replicas.complete(prompts, self._adapter, lambda index: {**body, "seed": index})

    def _awake(self) -> AbstractContextManager[None]:
        return nullcontext() if self._gate is None else self._gate.sampling()

    def _release(self) -> None:
        if self._transfer is not None:
            self._transfer.close()
        self._replicas.close()
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
        self._replicas.load_adapter(name, folder)
        self._adapters.add(name)
        return name

    def _unload_unused(self) -> None:
        with self._changed:
            used = {*self._in_flight, self._adapter}
        for name in self._adapters - used:
            self._replicas.unload_adapter(name)
            self._adapters.discard(name)
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _write_source(self, source: Path) -> None:
        """Once for all replicas that are started from it."""
        if not source.exists():
            self._export(source)

    def _send_first_weights(self, source: Path) -> None:
        """A server that was started elsewhere has other weights. A transfer that does not work fails the creation."""
        if self._transfer is not None:
            self._send_weights()
            (source / "model.safetensors").unlink(missing_ok=True)
        elif self._replicas.base_name != str(source):
            self._export(source)
            self._send_weights()

    def _send_weights(self) -> None:
        """Gives all servers the current weights: from memory, or those that were written to the folder."""
        if self._transfer is None or self._model.stream is None:
            self._replicas.reload_weights(self._folder / "model")
        else:
            self._transfer.send(self._model.stream)
            self._replicas.drop_cached_prompts()

    def _replace_weights(self, version: int) -> None:
        if self._transfer is None:
            fresh, place = self._folder / "fresh", self._folder / "model"
            shutil.rmtree(fresh, ignore_errors=True)
            self._export(fresh)
            for file in fresh.iterdir():
                file.replace(place / file.name)
        if self.changes_in_flight:
            self._replace_in_flight(version)
            return
        with self._changed:
            self._is_replacing = True
            self._changed.wait_for(lambda: not self._in_flight)
        try:
            self._is_incomplete = True
            self._send_weights()
            self.version, self._is_incomplete = version, False
        finally:
            with self._changed:
                self._is_replacing = False
                self._changed.notify_all()

    def _replace_in_flight(self, version: int) -> None:
        # Clears the keys and values of the frozen requests: vLLM computes them anew with the new weights.
        has_begun = False
        try:
            self._replicas.control("/pause?mode=keep")
            has_begun = True
            self._send_weights()
            self._label(version)
            self.version, self._is_incomplete = version, False
        except BaseException:
            if has_begun:
                # The frozen requests, and those that vLLM has queued, must not continue from parts of the new weights.
                self._is_incomplete = True
                self._abort_count += 1
                self._replicas.attempt("/abort_requests", {})
            self._replicas.attempt("/resume")
            raise
        self._replicas.control("/resume")

    def _label(self, version: int) -> None:
        """The version that vLLM reports with each token."""
        self._replicas.control("/update_weight_version", {"new_version": str(version)})


def _incomplete(model_id: str) -> ApiError:
    message = f'The last publication of the model "{model_id}" failed, and its sampler may have parts of the weights'
    return ApiError(503, "RUNTIME_UNAVAILABLE", message, "Publish again, or restart the runtime.")


def vllm_failed(error: Exception) -> ApiError:
    """vLLM did not respond to a request."""
    return ApiError(503, "RUNTIME_UNAVAILABLE", f"vLLM did not respond: {error}", "Send the request again.")
