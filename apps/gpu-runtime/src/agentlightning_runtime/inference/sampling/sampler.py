"""Samples from any number of models in one thread, a token for every running response in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import torch

from agentlightning_runtime.inference.http.api_error import model_paused, queue_full, unknown_model
from agentlightning_runtime.inference.sampling.generation import Generation, GenerationRequest
from agentlightning_runtime.inference.sampling.model_queue import ModelQueue
from agentlightning_runtime.inference.sampling.model_shape import ModelShape
from agentlightning_runtime.inference.sampling.sampling_device import SamplingDevice, sampling_device
from agentlightning_runtime.inference.sampling.served_weights import ServedWeights


@dataclass(frozen=True)
class SamplerLimits:
    """Concurrency limits of a sampler per model.

    Attributes:
        max_running: maximum number of running responses.
        max_waiting: maximum number of waiting responses; beyond it, 429.
    """

    max_running: int = 256
    max_waiting: int = 4096


class Sampler:
    """Continuous batching over the served models.

    Responses in progress end with the weights they started with; new weights serve from the next request on. All
    methods may be called from any thread, `add_model` and `publish` from the one that copied the weights; sampling runs
    in the sampler's thread.

    Args:
        limits: concurrency limits.
        device_of: sampling on the device with the weights of a model.
    """

    def __init__(
        self,
        limits: SamplerLimits | None = None,
        device_of: Callable[[torch.device], SamplingDevice] = sampling_device,
    ) -> None:
        self._limits = limits or SamplerLimits()
        self._device_of = cache(device_of)
        self._models: dict[str, ModelQueue] = {}
        self._leaving: list[ModelQueue] = []
        self._lock = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def add_model(self, model_id: str, shape: ModelShape, weights: ServedWeights) -> None:
        """Serves a model under this id."""
        device = self._device_of(next(weights.module.parameters()).device)
        weights = replace(weights, copied=device.mark())
        with self._lock:
            self._models[model_id] = ModelQueue(shape, weights, self._limits.max_running, device)

    def publish(self, model_id: str, weights: ServedWeights) -> None:
        """Serves new weights from the next request on."""
        with self._lock:
            model = self._model(model_id)
            model.weights = replace(weights, copied=model.device.mark())

    def remove_model(self, model_id: str) -> None:
        """Ends the model's responses with an error and removes it."""
        with self._lock:
            model = self._models.pop(model_id, None)
            if model is None:
                return
            model.abort("The model was unloaded")
            self._leaving.append(model)
            self._lock.notify_all()

    def shape(self, model_id: str) -> ModelShape:
        """The sizes of a model."""
        with self._lock:
            return self._model(model_id).shape

    def version(self, model_id: str) -> int:
        """The policy version that new requests get."""
        with self._lock:
            return self._model(model_id).weights.version

    def is_paused(self, model_id: str) -> bool:
        """Whether the model is paused."""
        with self._lock:
            return self._model(model_id).is_paused

    def in_flight(self, model_id: str) -> int:
        """The number of waiting and running responses."""
        with self._lock:
            return self._model(model_id).in_flight

    def pause(self, model_id: str, *, abort: bool) -> None:
        """Rejects new requests; returns when those in flight have ended."""
        with self._lock:
            model = self._model(model_id)
            model.is_paused = True
            if abort:
                model.abort("The model was paused")
            self._lock.notify_all()
            # A concurrent resume also ends the wait.
            self._lock.wait_for(lambda: model.in_flight == 0 or not model.is_paused)

    def resume(self, model_id: str) -> None:
        """Accepts requests again."""
        with self._lock:
            self._model(model_id).is_paused = False
            self._lock.notify_all()

    def submit(self, model_id: str, requests: list[GenerationRequest]) -> list[Generation]:
        """Starts responses, all from the same weights.

        Raises:
            ApiError: when the model is unknown, is paused, or its queue is full.
        """
        with self._lock:
            model = self._model(model_id)
            if self._is_closed or model.is_paused:
                raise model_paused(model_id)
            waiting = len(model.waiting)
            if waiting > 0 and waiting + len(requests) > self._limits.max_waiting:
                raise queue_full(waiting)
            return self._start(model, requests, is_probe=False)

    def submit_probe(self, model_id: str, requests: list[GenerationRequest]) -> list[Generation]:
        """Starts responses that need no free slot, also while the model is paused.

        Raises:
            ApiError: when the model is unknown.
        """
        with self._lock:
            return self._start(self._model(model_id), requests, is_probe=True)

    def _start(self, model: ModelQueue, requests: list[GenerationRequest], *, is_probe: bool) -> list[Generation]:
        generations = [Generation(request, model.weights, is_probe=is_probe) for request in requests]
        model.add(generations)
        self._lock.notify_all()
        return generations

    def close(self) -> None:
        """Ends all responses with an error, and the thread."""
        with self._lock:
            self._is_closed = True
            for model in self._models.values():
                model.abort("The runtime is stopping")
            self._lock.notify_all()
        self._thread.join()

    def _model(self, model_id: str) -> ModelQueue:
        model = self._models.get(model_id)
        if model is None:
            raise unknown_model(model_id)
        return model

    def _run(self) -> None:
        with torch.inference_mode():
            while self._take_turn():
                pass

    def _take_turn(self) -> bool:
        with self._lock:
            self._lock.wait_for(lambda: self._is_closed or self._busy())
            busy = self._busy()
            self._leaving = [model for model in self._leaving if model.in_flight > 0]
            if self._is_closed and not busy:
                return False
            idle_s = min(model.idle_s() for model in busy)
            if idle_s > 0:
                self._lock.wait(idle_s)
                return True
        for model in busy:
            model.turn(self._lock)
        return True

    def _busy(self) -> list[ModelQueue]:
        return [model for model in [*self._models.values(), *self._leaving] if model.in_flight > 0]
