"""Publishes a model's weights to the sampler."""

from __future__ import annotations

import copy
import dataclasses
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.results import PublishedWeights
from agentlightning_runtime.engine.experimental.gathered_model import GatheredModel
from agentlightning_runtime.engine.publication.weight_digest import digest_of
from agentlightning_runtime.engine.publication.weight_probe import WeightProbe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from torch import Tensor, nn

    from agentlightning_runtime.contract.inference_backend import ServedModel
    from agentlightning_runtime.contract.results import Endpoint
    from agentlightning_runtime.engine.model_parts import ModelParts
    from agentlightning_runtime.engine.publication.weight_probe import Score


class Publisher:
    """Delivers weights to the inference backend and verifies that it samples from them. All ranks must call it.

    Args:
        parts: The components of the model.
        weights: Its trained weights by name.
        score: Log-probabilities of trained tokens under the current weights.
    """

    def __init__(self, parts: ModelParts, weights: Mapping[str, nn.Parameter], score: Score) -> None:
        self._parts = parts
        self._weights = weights
        self._probe = WeightProbe(parts.served, parts.inference, parts.ranks, score)
        self._published: PublishedWeights | None = None
        self._gathered = _gathered(parts)
        module = parts.served.module if self._gathered is None else self._gathered.module
        self._served = dataclasses.replace(parts.served, module=module, export=self._export)

    def serve(self) -> None:
        """Serves the initial weights as policy version 0.

        Raises:
            EngineError: WEIGHT_MISMATCH when the endpoint samples from other weights; the model is then not served.
        """
        inference = self._parts.inference
        self._deliver(inference.serve, 0)
        try:
            self.verify(0)
        except BaseException:
            inference.remove(self._parts.request.model_id)
            raise

    def publish(self, version: int) -> None:
        """Serves the current weights as a policy version; call `verify` next."""
        self._deliver(self._parts.inference.publish, version)

    def verify(self, version: int) -> None:
        """Compares the endpoint's log-probabilities with the trained network's.

        Raises:
            EngineError: WEIGHT_MISMATCH when the endpoint samples from other weights.
        """
        probe = self._probe.check(version)
        if self._published is not None:
            self._published = dataclasses.replace(self._published, probe=probe)

    def endpoint(self) -> Endpoint:
        """The endpoint that serves the model, with the identity of its weights."""
        endpoint = self._parts.inference.endpoint(self._parts.request.model_id)
        return dataclasses.replace(endpoint, weights=self._published)

    def _deliver(self, deliver: Callable[[ServedModel, int], None], version: int) -> None:
        with self._ready_to_serve():
            self._parts.ranks.agree(lambda: deliver(self._served, version))
            self._published = PublishedWeights(digest_of(self._whole())) if self._parts.ranks.index == 0 else None

    def _export(self, directory: Path) -> None:
        """Exports the current weights without communication: sharded ones are gathered before."""
        self._parts.write(self._whole(), "safetensors" if self._parts.lora is None else "peft", directory)

    def _whole(self) -> Mapping[str, Tensor]:
        """The weights that are served: all but the value head."""
        if self._gathered is not None:
            return self._gathered.weights()
        return {name: weight.detach() for name, weight in self._weights.items() if not name.startswith("value_head.")}

    def _ready_to_serve(self) -> AbstractContextManager[None]:
        """Within it the backend of rank 0 can read the whole weights."""
        return nullcontext() if self._gathered is None else self._gathered.gathered(self._weights)


def _gathered(parts: ModelParts) -> GatheredModel | None:
    """Of a sharded model; the others are served without a copy."""
    if parts.lora is not None or parts.ranks.count == 1:
        return None
    outline = parts.base.outline().causal_lm
    return GatheredModel(partial(copy.deepcopy, outline), outline.dtype, parts.settings.device, parts.ranks)
