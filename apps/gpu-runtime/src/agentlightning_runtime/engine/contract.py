"""The interface between the gRPC service and whatever does the arithmetic.

Implement `RuntimeEngine` and `EngineModel` and the service does the rest: sessions, order, resending,
validation, cancelling, results. A backend on Ray, or one that speaks to a Tinker-compatible service, is one
file with these two classes and a `create_engine(settings)`; name it in the entry-point group
`agentlightning_runtime.engines`, or start with `agentlightning-runtime serve --engine package.module:create_engine`.

Rules of the interface:

- Every method is synchronous and may block. The service calls the operations (`create_model`,
  `forward_backward` to `load_checkpoint`, `export_weights`, `unload`) one at a time in the whole engine, in one
  thread that never changes, in each model's order, with data that was validated.
- The others (`state`, `list_checkpoints`, `delete_checkpoint`, `endpoint`, `pause`, `resume`) may be called from other
  threads while an operation runs.
- Raise `EngineError` to be understood; anything else reaches the client as `INTERNAL`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agentlightning_runtime.engine.batch import AdamParameters, Batch, ResolvedLoss
    from agentlightning_runtime.engine.results import (
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
    from agentlightning_runtime.engine.settings import EngineCapabilities, EngineSettings, ModelRequest

Progress = Callable[[int, int], None]
"""Called by an engine with how much of the running operation is done, and how much there is: tokens for batches."""


class EngineModel(Protocol):
    """One model in an engine."""

    def state(self) -> ModelState:
        """Cheap; may be called while anything runs."""
        ...

    def forward_backward(self, batch: Batch, loss: ResolvedLoss, progress: Progress) -> BatchResult:
        """Adds the gradients of the plain weighted loss sum to the accumulator, all of them or none.

        Raises:
            EngineError: NON_FINITE when the loss is not finite, OUT_OF_MEMORY when memory did not suffice.
        """
        ...

    def forward(self, batch: Batch, *, use_reference: bool, progress: Progress) -> ForwardResult:
        """Log-probabilities (and values) of the trained tokens; touches no gradient.

        Args:
            batch: The sequences.
            use_reference: Use the weights the model began with: LoRA off. No values then.
            progress: Told how far it is.
        """
        ...

    def optim_step(self, adam: AdamParameters) -> StepResult:
        """Uses the accumulated gradients and clears them, also when it skips the step as non-finite."""
        ...

    def discard_gradients(self) -> None:
        """Clears the accumulator without a step: a batch failed, so what is there is not what was meant."""
        ...

    def publish_weights(self) -> Endpoint:
        """Makes the current weights the ones the endpoint serves.

        The policy version is one more than the highest that the model ever had: also after an earlier one was loaded.
        """
        ...

    def save_checkpoint(self, name: str, client_state: bytes) -> Checkpoint:
        """Writes weights, optimizer state, step, policy version and client state, at once or not at all.

        A name in use is overwritten.
        """
        ...

    def load_checkpoint(self, uri: str) -> Checkpoint:
        """Takes everything from a checkpoint, clears the accumulator, and serves the loaded weights.

        Raises:
            EngineError: NOT_FOUND when this model has no such checkpoint.
        """
        ...

    def list_checkpoints(self) -> Sequence[Checkpoint]:
        """The saved states of this model id, newest first, those of earlier processes included."""
        ...

    def delete_checkpoint(self, uri: str) -> None:
        """Deletes a checkpoint.

        Raises:
            EngineError: NOT_FOUND when this model has no such checkpoint.
        """
        ...

    def export_weights(self, uri: str, export_format: ExportFormat, directory: Path) -> int:
        """Writes a checkpoint, or the weights as they are when `uri` is empty, for other programs to read.

        Args:
            uri: Of one of this model's checkpoints, or empty.
            export_format: In what form.
            directory: Empty; the service reads it when this returns, and removes it some time later.

        Returns:
            Optimizer steps in the weights.

        Raises:
            EngineError: NOT_FOUND when this model has no such checkpoint, INVALID when it has no LoRA for `peft`.
        """
        ...

    def endpoint(self) -> Endpoint:
        """Where the model is served."""
        ...

    def pause(self, mode: PauseMode) -> InferenceState:
        """Stops answering inference requests; returns when the mode's promise about those in flight holds."""
        ...

    def resume(self) -> InferenceState:
        """Answers inference requests again; resuming what is not paused is fine."""
        ...

    def unload(self) -> None:
        """Frees the model's memory and stops serving it. Checkpoints stay."""
        ...


class RuntimeEngine(Protocol):
    """The arithmetic behind a training runtime."""

    def capabilities(self) -> EngineCapabilities:
        """Asked once, when the service starts."""
        ...

    def create_model(self, request: ModelRequest) -> EngineModel:
        """Makes a model; what is new in it is drawn from the seed. Never asked twice for a living model id."""
        ...

    def gauges(self) -> Mapping[str, float]:
        """Figures of the moment for the metrics stream, such as `memory/used_bytes`; cheap, from any thread."""
        ...

    def close(self) -> None:
        """Called when the service has stopped; ends the inference endpoint and frees everything."""
        ...


class EngineFactory(Protocol):
    """What an entry point of the group `agentlightning_runtime.engines` names."""

    def __call__(self, settings: EngineSettings) -> RuntimeEngine:
        """Makes the engine and opens its inference endpoint.

        Raises:
            EngineError: When the settings cannot be met, with what to do.
        """
        ...
