"""Serves with vLLM on GPUs. The built-in sampler is the alternative without vLLM."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.results import Endpoint, InferenceState
from agentlightning_runtime.inference.experimental.vllm.device_gate import DeviceGate
from agentlightning_runtime.inference.experimental.vllm.forwarding_app import ForwardingApp
from agentlightning_runtime.inference.experimental.vllm.publication_folder import make_publication_folder
from agentlightning_runtime.inference.experimental.vllm.replicas import Replicas
from agentlightning_runtime.inference.experimental.vllm.vllm_model import VllmServedModel
from agentlightning_runtime.inference.experimental.vllm.vllm_servers import VllmServers
from agentlightning_runtime.inference.http.http_server import EndpointSettings, HttpServer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentlightning_runtime.contract.inference_backend import ProbeResponse, ServedModel
    from agentlightning_runtime.contract.results import PauseMode
    from agentlightning_runtime.inference.experimental.vllm.vllm_servers import StartVllm

_log = logging.getLogger(__name__)


class VllmBackend:
    """vLLM servers behind one endpoint: one for each fully trained model, one for all adapters on the same base.

    Args:
        endpoint: listener settings.
        starts: starts each replica of a server; one process by default.
        folder: parent folder of published weights; None: those that are files are in memory, all weights are
            transferred where the servers can.
        shares_device: whether the trainer computes on the same GPU; the servers then sleep meanwhile.
        in_flight: whether weights of fully trained models change under running requests.

    Raises:
        EngineError: when the port is not available.
    """

    def __init__(
        self,
        endpoint: EndpointSettings,
        starts: Sequence[StartVllm],
        *,
        folder: Path | None = None,
        shares_device: bool = False,
        in_flight: bool = False,
    ) -> None:
        self._in_flight = in_flight
        self._models: dict[str, VllmServedModel] = {}
        self._servers = VllmServers(starts)
        self._folder = folder
        self._gate = DeviceGate(self._sleep, self._wake) if shares_device else None
        self._server = HttpServer(ForwardingApp(self._models, endpoint.keys).starlette(), endpoint)
        self.base_url = self._server.base_url

    def serve(self, model: ServedModel, version: int) -> None:
        """Serves the current weights as this policy version."""
        # Room for the adapters of a few versions; with all weights, for the new file beside the old.
        folder = make_publication_folder(self._folder, 2 * model.published_bytes)
        with nullcontext() if self._gate is None else self._gate.sampling():
            self._models[model.model_id] = VllmServedModel(
                model,
                version,
                self._servers,
                folder=folder,
                gate=self._gate,
                in_flight=self._in_flight,
                prefers_files=self._folder is not None,
            )

    def publish(self, model: ServedModel, version: int) -> None:
        """Serves the current weights from the next request on."""
        self._model(model.model_id).publish(model, version)

    def probe(self, model_id: str, prompts: Sequence[Sequence[int]], max_tokens: int) -> Sequence[ProbeResponse]:
        """Samples a response to each prompt from the served weights, also while the model is paused.

        Raises:
            EngineError: ENGINE_UNAVAILABLE when sampling fails.
        """
        return self._model(model_id).probe(prompts, max_tokens)

    def endpoint(self, model_id: str) -> Endpoint:
        """The endpoint and its policy version."""
        return Endpoint(self.base_url, model_id, self._model(model_id).version)

    def pause(self, model_id: str, mode: PauseMode) -> InferenceState:
        """Rejects new requests with 503; returns when those in flight have ended."""
        self._model(model_id).pause(abort=mode == "abort")
        return self._state(model_id)

    def resume(self, model_id: str) -> InferenceState:
        """Accepts requests again."""
        self._model(model_id).resume()
        return self._state(model_id)

    def begin_training(self) -> bool:
        """Frees the GPU when it is shared, after the requests in flight."""
        if self._gate is not None:
            self._gate.begin_training()
        return self._gate is not None

    def end_training(self) -> None:
        """Lets requests in; the first wakes the servers."""
        if self._gate is not None:
            self._gate.end_training()

    def remove(self, model_id: str) -> None:
        """Stops serving the model."""
        model = self._models.pop(model_id, None)
        if model is not None:
            model.close()

    def close(self) -> None:
        """Ends all requests in flight, the servers, and the endpoint."""
        for model_id in list(self._models):
            self.remove(model_id)
        self._server.close()

    def _sleep(self) -> None:
        """Weights go to the host's memory, the cache is dropped."""
        self._control("/sleep?level=1&mode=wait")

    def _wake(self) -> None:
        self._control("/wake_up")

    def _control(self, path: str) -> None:
        servers = self._servers.running()
        if servers:
            replicas = Replicas(servers)
            try:
                replicas.control(path)
            finally:
                replicas.close()

    def _model(self, model_id: str) -> VllmServedModel:
        model = self._models.get(model_id)
        if model is None:
            raise EngineError(EngineErrorReason.NOT_FOUND, f'Unknown model "{model_id}"', remedy="Create it first")
        return model

    def _state(self, model_id: str) -> InferenceState:
        model = self._model(model_id)
        return InferenceState(model.is_paused, model.in_flight, model.version)
