"""An engine without computation, controlled by the test."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.results import (
    BatchResult,
    Checkpoint,
    Endpoint,
    ForwardResult,
    InferenceState,
    ModelState,
    StepResult,
)
from agentlightning_runtime.contract.settings import (
    BaseModelInfo,
    EngineCapabilities,
    EngineSettings,
    LossInfo,
    ModelRequest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.contract.batch import AdamParameters, Batch, ResolvedLoss
    from agentlightning_runtime.contract.engine import Progress
    from agentlightning_runtime.contract.results import ExportFormat, PauseMode

BASE = BaseModelInfo(name="scripted", max_context=32, vocab_size=16, max_lora_rank=4, lora_target_modules=("q_proj",))
LOSSES = (LossInfo("importance_sampling", 1, {"entropy_coefficient": 0.0}),)
FEATURES = ("lora", "progress", "pause", "export")


@dataclass
class Script:
    """The behaviour of the engine.

    Attributes:
        gate: Operations wait for it while they run.
        running: Set when an operation has begun.
        error: Raised by the next operation, once.
        saving: Completes checkpoints; None: they are complete at once.
        done: Names of the executed calls, in order.
    """

    gate: threading.Event = field(default_factory=threading.Event)
    running: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None
    saving: Future[Checkpoint] | None = None
    done: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.gate.set()

    def play(self, name: str) -> None:
        """Executes one call."""
        self.running.set()
        if not self.gate.wait(timeout=60):
            raise TimeoutError("The gate was not opened")
        error, self.error = self.error, None
        if error is not None:
            raise error
        self.done.append(name)


class ScriptedModel:
    """Implements `EngineModel`."""

    def __init__(self, request: ModelRequest, script: Script) -> None:
        self._request = request
        self._script = script
        self._step = 0
        self._policy_version = 0
        self._checkpoints: dict[str, Checkpoint] = {}

    def state(self) -> ModelState:
        return ModelState(step=self._step, policy_version=self._policy_version)

    def forward_backward(self, batch: Batch, loss: ResolvedLoss, progress: Progress) -> BatchResult:
        del loss
        progress(1, 2)
        self._script.play("forward_backward")
        progress(2, 2)
        return BatchResult(loss=1.5, trained_tokens=sum(datum.trained_tokens for datum in batch.data))

    def forward(self, batch: Batch, *, use_reference: bool, progress: Progress) -> ForwardResult:
        del use_reference, progress
        self._script.play("forward")
        return ForwardResult(logprobs=[np.full(datum.trained_tokens, -1, np.float32) for datum in batch.data])

    def optim_step(self, adam: AdamParameters) -> StepResult:
        del adam
        self._script.play("optim_step")
        self._step += 1
        return StepResult(step=self._step, gradient_norm=2.0, is_skipped=False)

    def discard_gradients(self) -> None:
        self._script.play("discard_gradients")

    def publish_weights(self) -> Endpoint:
        self._script.play("publish_weights")
        self._policy_version += 1
        return self.endpoint()

    def save_checkpoint(self, name: str, client_state: bytes) -> Future[Checkpoint]:
        self._script.play("save_checkpoint")
        saved = Checkpoint(name, name, self._step, self._policy_version, 1, client_state, 0.0)
        self._checkpoints[name] = saved
        saving: Future[Checkpoint] = self._script.saving or Future()
        if self._script.saving is None:
            saving.set_result(saved)
        return saving

    def load_checkpoint(self, uri: str) -> Checkpoint:
        self._script.play("load_checkpoint")
        if uri not in self._checkpoints:
            raise EngineError(EngineErrorReason.NOT_FOUND, f'There is no checkpoint "{uri}"')
        return self._checkpoints[uri]

    def list_checkpoints(self) -> Sequence[Checkpoint]:
        return list(self._checkpoints.values())

    def delete_checkpoint(self, uri: str) -> None:
        self._checkpoints.pop(uri, None)

    def export_weights(self, uri: str, export_format: ExportFormat, directory: Path) -> int:
        del uri, export_format
        (directory / "model.safetensors").write_bytes(b"weights")
        return self._step

    def endpoint(self) -> Endpoint:
        return Endpoint("http://127.0.0.1:1/v1", self._request.model_id, self._policy_version)

    def pause(self, mode: PauseMode) -> InferenceState:
        del mode
        return InferenceState(is_paused=True, in_flight=0, policy_version=self._policy_version)

    def resume(self) -> InferenceState:
        return InferenceState(is_paused=False, in_flight=0, policy_version=self._policy_version)

    def unload(self) -> None:
        self._script.play("unload")


class ScriptedEngine:
    """Implements `RuntimeEngine`."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.is_closed = False

    def capabilities(self) -> EngineCapabilities:
        return EngineCapabilities(
            device="none", models=(BASE,), losses=LOSSES, max_batch_tokens=1_000, features=FEATURES, max_models=3
        )

    def create_model(self, request: ModelRequest) -> ScriptedModel:
        self.script.play("create_model")
        return ScriptedModel(request, self.script)

    def gauges(self) -> dict[str, float]:
        return {"memory/used_bytes": 1.0}

    def trace_next_step(self, directory: Path) -> None:
        logging.getLogger(__name__).info("Trace requested for %s", directory)

    def close(self) -> None:
        self.is_closed = True


def create_engine(settings: EngineSettings) -> ScriptedEngine:
    """Factory for `--engine scripted_engine:create_engine`; a model of the source `broken` cannot be created."""
    if "broken" in settings.base_models.values():
        raise EngineError(EngineErrorReason.INVALID, 'The model "broken" cannot be loaded', remedy="Name another")
    return ScriptedEngine(Script())
