"""A model of the torch engine: the operations in the order of the contract."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.results import ModelState, StepResult
from agentlightning_runtime.engine.adam import Adam
from agentlightning_runtime.engine.base.ranks import whole
from agentlightning_runtime.engine.checkpoints.checkpoint_folder import CheckpointFacts
from agentlightning_runtime.engine.checkpoints.checkpoint_tensors import WEIGHTS_PREFIX, prefixed
from agentlightning_runtime.engine.gradient_pass import GradientPass
from agentlightning_runtime.engine.memory.out_of_memory import free_cached_memory, report_out_of_memory
from agentlightning_runtime.engine.models.network_factory import trained_weights
from agentlightning_runtime.engine.observation.throughput import ModelCost
from agentlightning_runtime.engine.publisher import Publisher
from agentlightning_runtime.engine.timed import timed

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from agentlightning_runtime.contract.batch import AdamParameters, Batch, ResolvedLoss
    from agentlightning_runtime.contract.engine import Progress
    from agentlightning_runtime.contract.results import (
        BatchResult,
        Checkpoint,
        Endpoint,
        ExportFormat,
        ForwardResult,
        InferenceState,
        PauseMode,
    )
    from agentlightning_runtime.engine.model_parts import ModelParts

#: Prefix of the names of Adam's moments in a checkpoint.
_OPTIMIZER = "optimizer/"


class TorchModel:
    """A model that trains and is served. Implements `EngineModel`.

    Attributes:
        parts: Its components.
        weights: The trained weights by name.
    """

    def __init__(self, parts: ModelParts) -> None:
        self.parts = parts
        self.weights = trained_weights(parts.network)
        if parts.initial is not None:
            parts.initial.load(self.weights, self._shape())
        self._adam = Adam(self.weights, parts.eight_bit)
        # Of the outline: quantised weights have fewer elements.
        cost = ModelCost.of(parts.base.outline().causal_lm, trains_all=parts.lora is None)
        self._passes = GradientPass(parts.network, self.weights, parts.settings, cost, parts.ranks)
        self._step = 0
        self._policy_version = 0
        self._highest_version = 0
        self._is_corrupted = False
        self._has_pending_gradients = False
        self._trainable = sum(weight.numel() for weight in self.weights.values())
        self._publisher = Publisher(parts, self.weights, self._score)
        self._publisher.serve()

    def state(self) -> ModelState:
        """Must be fast; called at any time."""
        return ModelState(
            step=self._step,
            policy_version=self._policy_version,
            is_corrupted=self._is_corrupted,
            trainable_parameter_count=self._trainable,
            lora=self.parts.lora,
        )

    @timed("forward_backward", trains=True)
    def forward_backward(self, batch: Batch, loss: ResolvedLoss, progress: Progress) -> BatchResult:
        """Adds the gradients of the plain weighted loss sum. On failure all accumulated gradients are discarded.

        Raises:
            EngineError: NON_FINITE when the loss is not finite, OUT_OF_MEMORY when memory ran out.
        """
        if loss.parameters["value_coefficient"] != 0 and self.parts.network.value_head is None:
            message = "value_coefficient is not 0, but the model has no value head"
            raise EngineError(EngineErrorReason.INVALID, message, field="loss.parameters.value_coefficient")
        try:
            result = self._passes.forward_backward(batch, loss, progress)
        except BaseException as error:
            self.discard_gradients()
            if isinstance(error, EngineError):
                error.gradients_discarded = True
            raise
        # Also for a batch of weight 0: its gradient is zero, and a step with it counts.
        self._has_pending_gradients = True
        return result

    @timed("forward", trains=True)
    def forward(self, batch: Batch, *, use_reference: bool, progress: Progress) -> ForwardResult:
        """Log-probabilities (and values) of the trained tokens; does not change gradients."""
        if not use_reference:
            return self._passes.forward(batch, self.parts.network, progress)
        return self._passes.forward(batch, self.parts.reference(), progress)

    @timed("optim_step", trains=True)
    def optim_step(self, adam: AdamParameters) -> StepResult:
        """Applies and clears the accumulated gradients; also clears them when the step is skipped as non-finite.

        Raises:
            EngineError: PRECONDITION without gradients, OUT_OF_MEMORY when the moments do not fit.
        """
        if not self._has_pending_gradients:
            raise EngineError(
                EngineErrorReason.PRECONDITION,
                "There are no gradients to take a step with",
                remedy="Send a forward-backward batch before the optimizer step",
            )
        timeline, started = self.parts.settings.timeline, time.perf_counter()
        with timeline.phase("sync"):
            self.parts.ranks.sum_up_gradients(self.weights.values())
        try:
            with timeline.phase("checkpoint"):
                self.parts.checkpoints.wait_for_copy()
            with timeline.phase("optimizer"):
                norm = self._adam.gradient_norm()
                is_skipped = not math.isfinite(norm)
                if not is_skipped:
                    with self._corrupted_when_it_fails(), self._report_out_of_memory():
                        self._adam.step(adam, norm)
                    self._step += 1
        finally:
            self.discard_gradients()
        times = timeline.finish_step(self.parts.request.model_id, self.parts.settings.peak_flops)
        seconds = {"optimizer/seconds": time.perf_counter() - started, **times}
        return StepResult(self._step, norm, is_skipped, {**seconds, **self.parts.settings.memory.take()})

    def discard_gradients(self) -> None:
        """Clears the accumulator without a step."""
        self._adam.clear_gradients()
        self._has_pending_gradients = False

    @timed("publish_weights")
    def publish_weights(self) -> Endpoint:
        """Serves the current weights at the endpoint.

        Their policy version is one more than the highest so far, so it is unique also after an earlier checkpoint was
        loaded.
        """
        version = self._highest_version + 1
        with self.parts.settings.timeline.phase("publish"):
            self._publisher.publish(version)
            # Before the verification: the version is used also when the sampler does not serve it correctly.
            self._policy_version = self._highest_version = version
            self._publisher.verify(version)
        return self.endpoint()

    @timed("save_checkpoint")
    def save_checkpoint(self, name: str, client_state: bytes) -> Future[Checkpoint]:
        """Copies the state and writes it in the background, atomically; each rank writes its shards.

        Raises:
            EngineError: PRECONDITION while gradients are accumulated.
        """
        if self._has_pending_gradients:
            raise EngineError(
                EngineErrorReason.PRECONDITION,
                "A checkpoint cannot include accumulated gradients",
                remedy="Take the optimizer step, or discard the gradients, before saving",
            )
        facts = CheckpointFacts(
            step=self._step,
            policy_version=self._policy_version,
            shape=self._shape(),
            client_state=client_state,
            created_at_ms=time.time() * 1000,
        )
        tensors = {**prefixed(WEIGHTS_PREFIX, self.weights), **prefixed(_OPTIMIZER, self._adam.state())}
        with self.parts.settings.timeline.phase("checkpoint"):
            return self.parts.checkpoints.save(name, facts, tensors)

    @timed("load_checkpoint")
    def load_checkpoint(self, uri: str) -> Checkpoint:
        """Restores a checkpoint, clears the accumulator, and serves the loaded weights.

        Raises:
            EngineError: NOT_FOUND when it does not exist, INVALID when it is of an incompatible model.
        """
        checkpoints = self.parts.checkpoints
        checkpoints.finish()
        checkpoint, facts = checkpoints.find(uri)
        if facts.shape != self._shape():
            message = f'Checkpoint "{uri}" has the shape {facts.shape}; this model has {self._shape()}'
            raise EngineError(EngineErrorReason.INVALID, message, field="uri")
        stored = checkpoints.stored_names(uri)
        self.discard_gradients()
        with self._corrupted_when_it_fails():
            moments = self._adam.prepare_state(
                name.removeprefix(_OPTIMIZER) for name in stored if name.startswith(_OPTIMIZER)
            )
            weights = {name: weight.detach() for name, weight in self.weights.items()}
            checkpoints.load(uri, {**prefixed(WEIGHTS_PREFIX, weights), **prefixed(_OPTIMIZER, moments)})
        self._step, self._policy_version = facts.step, facts.policy_version
        self._highest_version = max(self._highest_version, facts.policy_version)
        self._is_corrupted = False
        self._publisher.publish(self._policy_version)
        self._publisher.verify(self._policy_version)
        return checkpoint

    def list_checkpoints(self) -> Sequence[Checkpoint]:
        """The checkpoints of this model id, newest first, including those of earlier processes."""
        return self.parts.checkpoints.list()

    def delete_checkpoint(self, uri: str) -> None:
        """Deletes a checkpoint.

        Raises:
            EngineError: NOT_FOUND when this model has no such checkpoint.
        """
        self.parts.checkpoints.delete(uri)

    @timed("export_weights")
    def export_weights(self, uri: str, export_format: ExportFormat, directory: Path) -> int:
        """Exports a checkpoint, or the current weights when `uri` is empty, for other programs."""
        checkpoints = self.parts.checkpoints
        checkpoints.finish()
        step = checkpoints.find(uri)[0].step if uri else self._step
        weights = checkpoints.whole_tensors(uri, WEIGHTS_PREFIX) if uri else self._whole_weights()
        if self.parts.ranks.index == 0:
            self.parts.write(weights, export_format, directory)
        return step

    def endpoint(self) -> Endpoint:
        """The endpoint that serves the model, with the identity of its weights."""
        return self._publisher.endpoint()

    def pause(self, mode: PauseMode) -> InferenceState:
        """Rejects new inference requests; returns when the mode's guarantee for requests in flight holds."""
        return self.parts.inference.pause(self.parts.request.model_id, mode)

    def resume(self) -> InferenceState:
        """Accepts inference requests again; does nothing when not paused."""
        return self.parts.inference.resume(self.parts.request.model_id)

    def unload(self) -> None:
        """Frees the model's memory and stops serving it. Checkpoints stay."""
        self.finish()
        self.parts.inference.remove(self.parts.request.model_id)
        self.parts.settings.timeline.forget(self.parts.request.model_id)
        self._adam.clear_gradients()
        self._adam.prepare_state(())
        for weight in self.weights.values():
            weight.data = weight.data.new_empty(0)
        free_cached_memory(self.parts.settings.device)

    def finish(self) -> None:
        """Waits until no checkpoint is being written."""
        self.parts.checkpoints.finish()

    def _whole_weights(self) -> dict[str, Tensor]:
        """Gathered from all ranks; copied off the device when sharded."""
        gathers = self.parts.ranks.count > 1
        return {
            name: whole(weight.detach()).cpu() if gathers else weight.detach() for name, weight in self.weights.items()
        }

    def _score(self, batch: Batch) -> Sequence[NDArray[np.float32]]:
        return self._passes.forward(batch, self.parts.network, lambda _done, _total: None).logprobs

    def _shape(self) -> dict[str, Any]:
        request, lora = self.parts.request, self.parts.lora
        described = None
        if lora is not None:
            described = {"rank": lora.rank, "alpha": lora.alpha, "target_modules": list(lora.target_modules)}
        return {"base_model": request.base_model, "lora": described, "has_value_head": request.has_value_head}

    @contextmanager
    def _corrupted_when_it_fails(self) -> Generator[None]:
        try:
            yield
        except EngineError:
            # Rejected before any change.
            raise
        except BaseException:
            self._is_corrupted = True
            raise

    def _report_out_of_memory(self) -> AbstractContextManager[None]:
        """The first step allocates the moments before it changes anything."""
        what = f"allocating Adam's moments of {self._trainable} weights"
        return report_out_of_memory(self.parts.settings.device, what, ranks=self.parts.ranks)
