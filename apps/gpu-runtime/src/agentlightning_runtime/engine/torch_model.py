"""A model of the torch engine: the operations in the order of the contract."""

from __future__ import annotations

import dataclasses
import math
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.engine.adam import Adam
from agentlightning_runtime.engine.checkpoint_folder import CheckpointFacts
from agentlightning_runtime.engine.checkpoint_tensors import prefixed
from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.gradient_pass import GradientPass
from agentlightning_runtime.engine.models.gathered_model import GatheredModel
from agentlightning_runtime.engine.models.network_factory import trained_weights
from agentlightning_runtime.engine.out_of_memory import free_cached_memory, report_out_of_memory
from agentlightning_runtime.engine.ranks import whole
from agentlightning_runtime.engine.results import ModelState, StepResult
from agentlightning_runtime.engine.throughput import ModelCost, memory_gauges
from agentlightning_runtime.engine.weight_export import export_weights

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from torch import Tensor

    from agentlightning_runtime.engine.batch import AdamParameters, Batch, ResolvedLoss
    from agentlightning_runtime.engine.contract import Progress
    from agentlightning_runtime.engine.models.model_parts import ModelParts
    from agentlightning_runtime.engine.results import (
        BatchResult,
        Checkpoint,
        Endpoint,
        ExportFormat,
        ForwardResult,
        InferenceState,
        PauseMode,
    )

#: Prefixes of the names of tensors in a checkpoint.
_WEIGHTS = "weights/"
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
        self._adam = Adam(self.weights)
        cost = ModelCost.of(parts.network.causal_lm, trains_all=parts.lora is None)
        self._passes = GradientPass(parts.network, self.weights, parts.settings, cost, parts.ranks)
        self._step = 0
        self._policy_version = 0
        self._highest_version = 0
        self._is_corrupted = False
        self._has_pending_gradients = False
        self._trainable = sum(weight.numel() for weight in self.weights.values())
        is_sharded = parts.lora is None and parts.ranks.count > 1
        self._gathered = (
            GatheredModel(parts.base.outline().causal_lm, parts.settings.device, parts.ranks) if is_sharded else None
        )
        module = parts.served.module if self._gathered is None else self._gathered.module
        self._served = dataclasses.replace(parts.served, module=module, export=self._export_for_serving)
        with self._ready_to_serve():
            parts.inference.serve(self._served, 0)

    def state(self) -> ModelState:
        """Must be fast; called at any time."""
        return ModelState(
            step=self._step,
            policy_version=self._policy_version,
            is_corrupted=self._is_corrupted,
            trainable_parameter_count=self._trainable,
            lora=self.parts.lora,
        )

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

    def forward(self, batch: Batch, *, use_reference: bool, progress: Progress) -> ForwardResult:
        """Log-probabilities (and values) of the trained tokens; does not change gradients."""
        if not use_reference:
            return self._passes.forward(batch, self.parts.network, progress)
        return self._passes.forward(batch, self.parts.reference(), progress)

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
        started = time.perf_counter()
        self.parts.ranks.sum_up_gradients(self.weights.values())
        norm = self._adam.gradient_norm()
        is_skipped = not math.isfinite(norm)
        try:
            if not is_skipped:
                with self._corrupted_when_it_fails(), self._report_out_of_memory():
                    self._adam.step(adam, norm)
                self._step += 1
        finally:
            self.discard_gradients()
        metrics = {"optimizer/seconds": time.perf_counter() - started, **memory_gauges(self.parts.settings.device)}
        return StepResult(self._step, norm, is_skipped, metrics)

    def discard_gradients(self) -> None:
        """Clears the accumulator without a step."""
        self._adam.clear_gradients()
        self._has_pending_gradients = False

    def publish_weights(self) -> Endpoint:
        """Serves the current weights at the endpoint.

        Their policy version is one more than the highest so far, so it is unique also after an earlier checkpoint was
        loaded.
        """
        version = self._highest_version + 1
        with self._ready_to_serve():
            self.parts.inference.publish(self._served, version)
        self._policy_version = self._highest_version = version
        return self.endpoint()

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
        tensors = {**prefixed(_WEIGHTS, self.weights), **prefixed(_OPTIMIZER, self._adam.state())}
        return self.parts.checkpoints.save(name, facts, tensors)

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
            checkpoints.load(uri, {**prefixed(_WEIGHTS, weights), **prefixed(_OPTIMIZER, moments)})
        self._step, self._policy_version = facts.step, facts.policy_version
        self._highest_version = max(self._highest_version, facts.policy_version)
        self._is_corrupted = False
        with self._ready_to_serve():
            self.parts.inference.publish(self._served, self._policy_version)
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

    def export_weights(self, uri: str, export_format: ExportFormat, directory: Path) -> int:
        """Exports a checkpoint, or the current weights when `uri` is empty, for other programs."""
        checkpoints = self.parts.checkpoints
        checkpoints.finish()
        step = checkpoints.find(uri)[0].step if uri else self._step
        weights = checkpoints.whole_tensors(uri, _WEIGHTS) if uri else self._whole_weights()
        if self.parts.ranks.index == 0:
            self._write(weights, export_format, directory)
        return step

    def _export_for_serving(self, directory: Path) -> None:
        """Exports the current weights without communication: sharded ones are gathered before."""
        if self._gathered is not None:
            weights = self._gathered.weights()
        else:
            weights = {name: weight.detach() for name, weight in self.weights.items()}
        self._write(weights, "safetensors" if self.parts.lora is None else "peft", directory)

    def _write(self, weights: Mapping[str, Tensor], export_format: ExportFormat, directory: Path) -> None:
        parts = self.parts
        base = parts.base.outline() if parts.lora is None else parts.base.load()
        source = parts.base.source
        export_weights(base, weights, parts.lora, export_format=export_format, base_source=source, directory=directory)

    def endpoint(self) -> Endpoint:
        """The endpoint that serves the model."""
        return self.parts.inference.endpoint(self.parts.request.model_id)

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

    def _ready_to_serve(self) -> AbstractContextManager[None]:
        """Within it the backend of rank 0 can read the whole weights. All ranks must call this."""
        return nullcontext() if self._gathered is None else self._gathered.gathered(self.weights)

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
        return report_out_of_memory(self.parts.settings.device, what, is_alone=self.parts.ranks.count == 1)
