"""The interface between the gRPC service and the training engine.

Implement `RuntimeEngine` and `EngineModel`; the service provides sessions, ordering, retries, validation, cancellation
and results. A client of a Tinker-compatible service, for example, is one file with these two classes and a
`create_engine(settings)`. Register it in the entry-point group `agentlightning_runtime.engines`, or start with
`agentlightning-runtime serve --engine package.module:create_engine`.

Rules of the interface:

- Every method is synchronous and may block. The service calls the operations (`create_model`, `forward_backward` to
`load_checkpoint`, `export_weights`, `unload`) one at a time per engine, always in the same thread, in each model's
order, with validated data.
- The others (`state`, `list_checkpoints`, `delete_checkpoint`, `endpoint`, `pause`, `resume`) may be called from other
  threads while an operation runs.
- Raise `EngineError` for failures with a reason; other exceptions reach the client as `INTERNAL`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from agentlightning_runtime.contract.batch import AdamParameters, Batch, ResolvedLoss
    from agentlightning_runtime.contract.results import (
        BatchResult,
        Checkpoint,
        Endpoint,
        ExportFormat,
        ForwardResult,
        InferenceState,
        ModelState,
        PauseMode,
        StepResult,
    )
    from agentlightning_runtime.contract.settings import EngineCapabilities, EngineSettings, ModelRequest

Progress = Callable[[int, int], None]
"""Progress callback of an engine: completed and total work of the running operation, in tokens for batches."""


class EngineModel(Protocol):
    """One model in an engine."""

    def state(self) -> ModelState:
        """Must be fast; called at any time."""
        ...

    def forward_backward(self, batch: Batch, loss: ResolvedLoss, progress: Progress) -> BatchResult:
        """Adds all gradients of the plain weighted loss sum to the accumulator, or none of them.

        Raises:
            EngineError: NON_FINITE when the loss is not finite, OUT_OF_MEMORY when memory ran out.
        """
        ...

    def forward(self, batch: Batch, *, use_reference: bool, progress: Progress) -> ForwardResult:
        """Log-probabilities (and values) of the trained tokens; does not change gradients.

        Args:
            batch: The sequences.
            use_reference: Use the initial weights: LoRA disabled, no values.
            progress: Receives the progress.
        """
        ...

    def optim_step(self, adam: AdamParameters) -> StepResult:
        """Applies and clears the accumulated gradients; also clears them when the step is skipped as non-finite."""
        ...

    def discard_gradients(self) -> None:
        """Clears the accumulator without a step: after a failed batch its contents are incomplete."""
        ...

    def publish_weights(self) -> Endpoint:
        """Serves the current weights at the endpoint.

        The policy version is one more than the highest the model ever had, also after an earlier one was loaded.

        Raises:
            EngineError: WEIGHT_MISMATCH when the engine finds that the endpoint samples from other weights.
        """
        ...

    def save_checkpoint(self, name: str, client_state: bytes) -> Future[Checkpoint]:
        """Writes weights, optimizer state, step, policy version and client state atomically.

        Overwrites a checkpoint of the same name. Returns once later operations cannot change what is written; the
        future has the checkpoint once it is complete on disk.
        """
        ...

    def load_checkpoint(self, uri: str) -> Checkpoint:
        """Restores a checkpoint, clears the accumulator, and serves the loaded weights.

        Raises:
            EngineError: NOT_FOUND when this model has no such checkpoint.
        """
        ...

    def list_checkpoints(self) -> Sequence[Checkpoint]:
        """The checkpoints of this model id, newest first, including those of earlier processes."""
        ...

    def delete_checkpoint(self, uri: str) -> None:
        """Deletes a checkpoint.

        Raises:
            EngineError: NOT_FOUND when this model has no such checkpoint.
        """
        ...

    def export_weights(self, uri: str, export_format: ExportFormat, directory: Path) -> int:
        """Exports a checkpoint, or the current weights when `uri` is empty, for other programs.

        Args:
            uri: URI of a checkpoint of this model, or empty.
            export_format: Format of the export.
            directory: An empty folder; the service reads it after the call returns and removes it later.

        Returns:
            Number of optimizer steps in the exported weights.

        Raises:
            EngineError: NOT_FOUND when this model has no such checkpoint, INVALID when it has no LoRA for `peft`.
        """
        ...

    def endpoint(self) -> Endpoint:
        """The endpoint that serves the model."""
        ...

    def pause(self, mode: PauseMode) -> InferenceState:
        """Rejects new inference requests; returns when the mode's guarantee for requests in flight holds."""
        ...

    def resume(self) -> InferenceState:
        """Accepts inference requests again; does nothing when not paused."""
        ...

    def unload(self) -> None:
        """Frees the model's memory and stops serving it. Checkpoints stay."""
        ...


class RuntimeEngine(Protocol):
    """The training engine of a runtime."""

    def capabilities(self) -> EngineCapabilities:
        """Called once, when the service starts."""
        ...

    def create_model(self, request: ModelRequest) -> EngineModel:
        """Creates a model; new weights are initialised from the seed. Called once per loaded model id.

        An initial checkpoint is requested only when the capabilities have the feature `initial_checkpoint`.

        Raises:
            EngineError: NOT_FOUND without the initial checkpoint, INVALID when it is of another base or shape.
        """
        ...

    def gauges(self) -> Mapping[str, float]:
        """Current gauges for the metrics stream, such as `memory/used_bytes`; fast, called from any thread."""
        ...

    def close(self) -> None:
        """Called after the service has stopped; ends the inference endpoint and frees all resources."""
        ...


@runtime_checkable
class TracedEngine(Protocol):
    """An engine that profiles itself. Optional."""

    def trace_next_step(self, directory: Path) -> None:
        """Profiles the operations until the next optimizer step, and writes a Chrome trace; called from any thread.

        Returns immediately; the engine logs the new file, or the failure.

        Args:
            directory: Folder of the file; created when missing.
        """
        ...


class EngineFactory(Protocol):
    """Factory registered in the entry-point group `agentlightning_runtime.engines`."""

    def __call__(self, settings: EngineSettings) -> RuntimeEngine:
        """Creates the engine and starts its inference endpoint.

        Raises:
            EngineError: When the settings cannot be met, with a remedy.
        """
        ...
