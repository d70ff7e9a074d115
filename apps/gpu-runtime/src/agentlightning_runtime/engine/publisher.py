"""Publishes a model's weights to the sampler."""

from __future__ import annotations

import copy
import dataclasses
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from agentlightning_runtime.contract.inference_backend import TensorOutline, WeightStream
from agentlightning_runtime.contract.results import PublishedWeights
from agentlightning_runtime.engine.experimental.gathered_model import GatheredModel
from agentlightning_runtime.engine.publication.weight_digest import digest_of
from agentlightning_runtime.engine.publication.weight_probe import WeightProbe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from torch import Tensor, nn

    from agentlightning_runtime.contract.inference_backend import ServedModel
    from agentlightning_runtime.contract.results import Endpoint
    from agentlightning_runtime.engine.model_parts import ModelParts
    from agentlightning_runtime.engine.publication.weight_probe import Score

Result = TypeVar("Result")

_PREFIX = "causal_lm."
_VALUE_HEAD = "value_head."


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
        self._gathered = _gathered(parts, weights)
        self._served = dataclasses.replace(
            parts.served,
            module=parts.served.module if self._gathered is None else self._gathered.module,
            export=self._export,
            stream=None if parts.lora is not None else self._stream(),
        )

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
        self._parts.ranks.agree(lambda: self._reading(lambda: deliver(self._served, version)))
        # Requests are served again meanwhile.
        digest = self._reading(lambda: digest_of(self._tensors()) if self._parts.ranks.index == 0 else None)
        self._published = None if digest is None else PublishedWeights(digest)

    def _reading(self, work: Callable[[], Result]) -> Result:
        """Runs work that may read sharded weights on rank 0."""
        return work() if self._gathered is None else self._gathered.reading(work)

    def _export(self, directory: Path) -> None:
        weights = dict(self._tensors()) if self._gathered is None else self._gathered.weights()
        self._parts.write(weights, "safetensors" if self._parts.lora is None else "peft", directory)

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        """The weights that are served by their names in the network: all but the value head."""
        if self._gathered is not None:
            return self._gathered.tensors()
        return ((name, weight.detach()) for name, weight in self._weights.items() if not name.startswith(_VALUE_HEAD))

    def _stream(self) -> WeightStream:
        """The tensors of the file that is written for a fully trained model."""
        parts, base = self._parts, self._parts.base.outline().causal_lm
        buffers = {name: value for name, value in base.named_buffers() if name in base.state_dict()}
        weights = [(name, weight) for name, weight in self._weights.items() if not name.startswith(_VALUE_HEAD)]
        outline = [TensorOutline(name.removeprefix(_PREFIX), tuple(each.shape), base.dtype) for name, each in weights]
        outline += [TensorOutline(name, tuple(each.shape), each.dtype) for name, each in buffers.items()]

        def read() -> Iterator[tuple[str, Tensor]]:
            for name, tensor in self._tensors():
                yield name.removeprefix(_PREFIX), tensor.to(base.dtype)
            for name, tensor in buffers.items():
                yield name, tensor.to(parts.settings.device)

        return WeightStream(outline, read, parts.settings.device, self._gathered is not None)


def _gathered(parts: ModelParts, weights: Mapping[str, nn.Parameter]) -> GatheredModel | None:
    """Of a sharded model; the others are served without a copy."""
    if parts.lora is not None or parts.ranks.count == 1:
        return None
    outline = parts.base.outline().causal_lm
    return GatheredModel(weights, partial(copy.deepcopy, outline), outline.dtype, parts.settings.device, parts.ranks)
