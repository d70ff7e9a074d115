"""One accepted operation."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import artifact_pb2, error_pb2, model_pb2, operation_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1.operation_pb2 import OperationState
from agentlightning_runtime.service.base.clock import to_timestamp
from agentlightning_runtime.service.base.failure import RuntimeFailureError, to_failure

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.contract.engine import Progress

Outcome = (
    operation_pb2.BatchResult
    | operation_pb2.OptimStepResult
    | model_pb2.CheckpointInfo
    | model_pb2.InferenceEndpoint
    | model_pb2.ModelInfo
    | artifact_pb2.ArtifactInfo
    | error_pb2.RuntimeFailure
)
"""The outcome of an operation."""

FIELD_OF_OUTCOME: dict[type[object], str] = {
    operation_pb2.BatchResult: "batch",
    operation_pb2.OptimStepResult: "optim_step",
    model_pb2.CheckpointInfo: "checkpoint",
    model_pb2.InferenceEndpoint: "endpoint",
    model_pb2.ModelInfo: "model",
    artifact_pb2.ArtifactInfo: "artifact",
    error_pb2.RuntimeFailure: "error",
}
"""The field of `Operation.outcome` for each kind of outcome."""

Completion = Callable[[], Awaitable[Outcome]]
"""The rest of an operation, which runs beside the operations after it."""

Execute = Callable[["Progress"], Awaitable[Outcome | Completion]]
"""Executes an operation in its turn."""


@dataclass(frozen=True, slots=True)
class OperationWork:
    """The work of an operation.

    Attributes:
        fingerprint: Distinguishes a retry from another operation with the same number.
        execute: Executes it; not called when it was rejected on arrival.
        adds_gradients: True when it adds to the gradients of the next step.
        refusal: Set when the content was rejected on arrival: the number is used and the operation failed.
        release: Releases the resources of the operation, once, at its end.
    """

    fingerprint: str
    execute: Execute
    adds_gradients: bool = False
    refusal: RuntimeFailureError | None = None
    release: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """Files of an export; removed with the operation's result."""

    directory: Path
    info: artifact_pb2.ArtifactInfo


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """The output of a forward pass for FetchBatchOutput: packed float32, datum after datum."""

    logprobs: bytes
    values: bytes | None


class OperationRecord:
    """One accepted operation, from staged to ended."""

    def __init__(self, model_id: str, seq: int, work: OperationWork, now_ms: float) -> None:
        self.model_id = model_id
        self.seq = seq
        self.fingerprint = work.fingerprint
        self.adds_gradients = work.adds_gradients
        self.refusal = work.refusal
        self.change_index = 0
        self.output: BatchOutput | None = None
        self.artifact: Artifact | None = None
        self.queue_position = 0
        self.queue_reason = operation_pb2.QUEUE_REASON_UNSPECIFIED
        self._work: OperationWork | None = work
        self._message = operation_pb2.Operation(
            model_id=model_id,
            seq=seq,
            state=operation_pb2.OPERATION_STATE_STAGED,
            create_time=to_timestamp(now_ms),
        )
        self.ended_at_ms: float | None = None
        if work.refusal is not None:
            self.fail(work.refusal, now_ms)

    @property
    def state(self) -> OperationState:
        """Its current state."""
        return self._message.state

    @property
    def is_waiting(self) -> bool:
        """True until it runs or ends."""
        return self.state == operation_pb2.OPERATION_STATE_STAGED

    def start(self, now_ms: float) -> Execute:
        """Marks it as running and returns its work."""
        work = self._work
        if work is None:
            raise AssertionError(f"Operation {self.seq} of {self.model_id} has ended and cannot start")
        self._message.state = operation_pb2.OPERATION_STATE_RUNNING
        self._message.start_time.CopyFrom(to_timestamp(now_ms))
        return work.execute

    def tell_progress(self, done: int, total: int) -> None:
        """Records its progress in tokens."""
        if self.state != operation_pb2.OPERATION_STATE_RUNNING or total <= 0:
            return
        done = max(0, min(done, total))
        self._message.progress.CopyFrom(
            operation_pb2.OperationProgress(fraction=done / total, tokens_done=done, tokens_total=total)
        )

    def succeed(self, outcome: Outcome, now_ms: float) -> None:
        """Marks it as succeeded."""
        self._end(operation_pb2.OPERATION_STATE_SUCCEEDED, outcome, now_ms)

    def fail(self, error: BaseException, now_ms: float) -> None:
        """Marks it as failed."""
        self._end(operation_pb2.OPERATION_STATE_FAILED, to_failure(error), now_ms)

    def cancel(self, error: RuntimeFailureError, now_ms: float) -> None:
        """Cancels it before it ran."""
        self._end(operation_pb2.OPERATION_STATE_CANCELLED, to_failure(error), now_ms)

    def discard_artifact(self) -> None:
        """Removes the files of an export, if any."""
        if self.artifact is not None:
            shutil.rmtree(self.artifact.directory, ignore_errors=True)
            self.artifact = None

    def to_message(self) -> operation_pb2.Operation:
        """The operation as a message of the contract."""
        message = operation_pb2.Operation()
        message.CopyFrom(self._message)
        if self.is_waiting:
            message.queue_position = self.queue_position
            message.queue_reason = self.queue_reason
        return message

    def summary(self) -> str:
        """A log line."""
        request = self.fingerprint.partition(" ")[0].rpartition(".")[2] or "CreateModel"
        kind = request.removesuffix("Request").removesuffix("Header")
        state = OperationState.Name(self.state).removeprefix("OPERATION_STATE_").lower()
        took_ms = self._message.end_time.ToMilliseconds() - self._message.start_time.ToMilliseconds()
        why = f": {self._message.error.message}" if self._message.HasField("error") else ""
        return f"{self.model_id} #{self.seq} {kind} {state} after {took_ms / 1000:.2f} s{why}"

    def _end(self, state: OperationState, outcome: Outcome, now_ms: float) -> None:
        self._message.state = state
        getattr(self._message, FIELD_OF_OUTCOME[type(outcome)]).CopyFrom(outcome)
        self._message.end_time.CopyFrom(to_timestamp(now_ms))
        self.ended_at_ms = now_ms
        if self._work is not None and self._work.release is not None:
            self._work.release()
        # The closure holds the batch; results are kept longer than batches.
        self._work = None
