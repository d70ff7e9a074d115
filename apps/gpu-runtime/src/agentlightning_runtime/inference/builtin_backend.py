"""Serves with this package's sampler: any causal model, on a GPU or CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.inference_backend import ProbeResponse
from agentlightning_runtime.contract.results import Endpoint, InferenceState
from agentlightning_runtime.inference.http.http_server import EndpointSettings, HttpServer
from agentlightning_runtime.inference.inference_app import InferenceApp
from agentlightning_runtime.inference.sampling.generation import GenerationRequest
from agentlightning_runtime.inference.sampling.model_shape import end_tokens_of, shape_of
from agentlightning_runtime.inference.sampling.sampler import Sampler
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule
from agentlightning_runtime.inference.sampling.served_weights import snapshot_weights
from agentlightning_runtime.inference.text.text_model import TextModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.contract.inference_backend import ServedModel
    from agentlightning_runtime.contract.results import PauseMode


class BuiltinBackend:
    """The sampler and its HTTP endpoint in this process.

    Args:
        endpoint: listener settings.

    Raises:
        EngineError: when the port is not available.
    """

    def __init__(self, endpoint: EndpointSettings) -> None:
        self._models: dict[str, TextModel] = {}
        self._sampler = Sampler()
        app = InferenceApp(self._sampler, self._models, endpoint.keys)
        try:
            self._server = HttpServer(app.starlette(), endpoint)
        except Exception:
            self._sampler.close()
            raise
        self.base_url = self._server.base_url

    def serve(self, model: ServedModel, version: int) -> None:
        """Serves the current weights as this policy version."""
        module = model.module()
        shape = shape_of(module, model.max_context)
        if model.output_size is not None:
            shape = replace(shape, output_size=model.output_size)
        text_model = TextModel(model.model_id, shape, model.tokenizer, end_tokens_of(module), images=model.images)
        self._sampler.add_model(model.model_id, shape, snapshot_weights(module, version, model.compute_dtype))
        self._models[model.model_id] = text_model

    def publish(self, model: ServedModel, version: int) -> None:
        """Serves the current weights from the next request on."""
        weights = snapshot_weights(model.module(), version, model.compute_dtype)
        self._sampler.publish(model.model_id, weights)

    def probe(self, model_id: str, prompts: Sequence[Sequence[int]], max_tokens: int) -> Sequence[ProbeResponse]:
        """Samples a response to each prompt from the served weights, also while the model is paused.

        Raises:
            EngineError: ENGINE_UNAVAILABLE when sampling fails.
        """
        requests = [
            GenerationRequest(tuple(prompt), max_tokens, SamplingRule(), seed=index, end_tokens=frozenset())
            for index, prompt in enumerate(prompts)
        ]
        generations = self._sampler.submit_probe(model_id, requests)
        for generation in generations:
            generation.wait()
            if generation.error is not None:
                message = f'The probe of model "{model_id}" failed: {generation.error}'
                raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message)
        return [
            ProbeResponse(each.request.prompt_tokens, each.tokens, [choice.logprob for choice in each.choices])
            for each in generations
        ]

    def endpoint(self, model_id: str) -> Endpoint:
        """The endpoint and its policy version."""
        return Endpoint(self.base_url, model_id, self._sampler.version(model_id))

    def pause(self, model_id: str, mode: PauseMode) -> InferenceState:
        """Rejects new requests with 503; returns when those in flight have ended."""
        self._sampler.pause(model_id, abort=mode == "abort")
        return self._state(model_id)

    def resume(self, model_id: str) -> InferenceState:
        """Accepts requests again."""
        self._sampler.resume(model_id)
        return self._state(model_id)

    def begin_training(self) -> bool:
        """Does nothing: the memory is not shared with a server."""
        return False

    def end_training(self) -> None:
        """Does nothing."""

    def remove(self, model_id: str) -> None:
        """Stops serving the model; requests in flight end with an error."""
        self._models.pop(model_id, None)
        self._sampler.remove_model(model_id)

    def close(self) -> None:
        """Ends all requests in flight and the endpoint."""
        self._sampler.close()
        self._server.close()

    def _state(self, model_id: str) -> InferenceState:
        sampler = self._sampler
        return InferenceState(sampler.is_paused(model_id), sampler.in_flight(model_id), sampler.version(model_id))
