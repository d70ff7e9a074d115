"""Serves with vLLM on GPUs. The built-in sampler is the alternative without vLLM."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.results import Endpoint, InferenceState
from agentlightning_runtime.inference.forwarding_app import ForwardingApp
from agentlightning_runtime.inference.http_server import EndpointSettings, HttpServer
from agentlightning_runtime.inference.vllm.vllm_model import VllmServedModel
from agentlightning_runtime.inference.vllm.vllm_process import VllmProcess
from agentlightning_runtime.inference.vllm.vllm_servers import VllmServers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentlightning_runtime.engine.results import PauseMode
    from agentlightning_runtime.inference.inference_backend import ProbeResponse, ServedModel
    from agentlightning_runtime.inference.vllm.vllm_process import RunningVllm, VllmModel

_log = logging.getLogger(__name__)


class VllmBackend:
    """vLLM servers behind one endpoint: one for each fully trained model, one for all adapters on the same base.

    Args:
        endpoint: listener settings.
        start: starts a vLLM server.

    Raises:
        EngineError: when the port is not available.
    """

    def __init__(self, endpoint: EndpointSettings, start: Callable[[VllmModel], RunningVllm] = VllmProcess) -> None:
        self._models: dict[str, VllmServedModel] = {}
        self._servers = VllmServers(start)
        self._server = HttpServer(ForwardingApp(self._models, endpoint.api_key).starlette(), endpoint)
        self.base_url = self._server.base_url

    def serve(self, model: ServedModel, version: int) -> None:
        """Serves the current weights as this policy version."""
        self._models[model.model_id] = VllmServedModel(model, version, self._servers)

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

    def _model(self, model_id: str) -> VllmServedModel:
        model = self._models.get(model_id)
        if model is None:
            raise EngineError(EngineErrorReason.NOT_FOUND, f'Unknown model "{model_id}"', remedy="Create it first")
        return model

    def _state(self, model_id: str) -> InferenceState:
        model = self._model(model_id)
        return InferenceState(model.is_paused, model.in_flight, model.version)
