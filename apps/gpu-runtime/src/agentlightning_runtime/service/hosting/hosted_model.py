"""One model on the server."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2, model_pb2, operation_pb2
from agentlightning_runtime.service.base.change_log import ChangeLog
from agentlightning_runtime.service.base.failure import RuntimeFailureError, cancelled, is_expected
from agentlightning_runtime.service.base.messages import lora_message
from agentlightning_runtime.service.hosting.gradient_ledger import GradientLedger
from agentlightning_runtime.service.hosting.operation_record import Artifact, OperationRecord, OperationWork
from agentlightning_runtime.service.hosting.ownership import Ownership

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from agentlightning_runtime.contract.engine import EngineModel
    from agentlightning_runtime.contract.settings import ModelRequest
    from agentlightning_runtime.service.hosting.model_surroundings import ModelSurroundings
    from agentlightning_runtime.service.hosting.operation_record import Completion, Outcome

LOG = logging.getLogger(__name__)

PROGRESS_INTERVAL_MS = 1_000
"""Interval of progress reports of a running operation."""

ENDED = frozenset(
    (
        operation_pb2.OPERATION_STATE_SUCCEEDED,
        operation_pb2.OPERATION_STATE_FAILED,
        operation_pb2.OPERATION_STATE_CANCELLED,
    )
)


class HostedModel:
    """A model's operations in strict order of their sequence numbers.

    Each is executed exactly once, regardless of retries and order of arrival.
    """

    def __init__(self, request: ModelRequest, surroundings: ModelSurroundings, user: str = "") -> None:
        self.request = request
        self.model_id = request.model_id
        self.user = user
        self.ownership = Ownership(request.model_id, surroundings.clock())
        self.ledger = GradientLedger()
        self.changes: ChangeLog[OperationRecord] = ChangeLog()
        # Distinguishes this instance of the model id from an earlier one in cursors.
        self.incarnation = uuid.uuid4().hex[:8]
        # Set by operation 0.
        self.engine: EngineModel | None = None
        self.next_seq = 0
        self._surroundings = surroundings
        self._records: dict[int, OperationRecord] = {}
        self._next_to_run = 0
        self._running: asyncio.Task[None] | None = None
        self._completing: set[asyncio.Task[None]] = set()
        self._progress_reported_ms = 0.0
        self._end_reason: RuntimeFailureError | None = None

    @property
    def has_failed_to_start(self) -> bool:
        """True when the creation of the model failed, so that its id is free."""
        record = self._records.get(0)
        return record is not None and record.state == operation_pb2.OPERATION_STATE_FAILED

    def info(self) -> model_pb2.ModelInfo:
        """The state that a restarted client needs to resume."""
        request = self.request
        info = model_pb2.ModelInfo(
            model_id=self.model_id,
            base_model=request.base_model,
            seed=request.seed,
            next_seq=self.next_seq,
            has_pending_gradients=self.ledger.has_pending,
            lora=lora_message(request.lora),
            has_value_head=request.has_value_head,
        )
        if self.engine is not None:
            state = self.engine.state()
            info.step = state.step
            info.policy_version = state.policy_version
            info.is_corrupted = state.is_corrupted
            info.trainable_parameter_count = state.trainable_parameter_count
            if state.lora is not None:
                info.lora.CopyFrom(lora_message(state.lora) or info.lora)
        return info

    def take_over(self, session_id: str) -> None:
        """Assigns the model to a session.

        Operations of an earlier session beyond a gap are cancelled, and their numbers are free.
        """
        if not self.ownership.take(session_id):
            return
        for record in [record for record in self._records.values() if record.seq >= self.next_seq]:
            self._cancel(record, cancelled("A newer session has taken over the model"))
            del self._records[record.seq]

    def assert_living(self) -> None:
        """Raises the reason for which the model was ended, if any."""
        if self._end_reason is not None:
            raise self._end_reason

    def find_or_refuse(self, seq: int, fingerprint: str) -> OperationRecord | None:
        """The operation received earlier under this number, if it is the same.

        Raises:
            RuntimeFailureError: SEQUENCE_REUSED, RESULT_EXPIRED or SEQUENCE_GAP when the number cannot be used.
        """
        known = self._records.get(seq)
        if known is not None:
            if known.fingerprint == fingerprint:
                return known
            raise RuntimeFailureError(
                error_pb2.ERROR_REASON_SEQUENCE_REUSED,
                f'Sequence number {seq} of model "{self.model_id}" was used before with another payload',
                remedy="Use each number once; GetModel returns the next number.",
            )
        if seq < self.next_seq:
            raise self._result_expired(seq)
        if seq >= self.next_seq + self._surroundings.reorder_window:
            raise RuntimeFailureError(
                error_pb2.ERROR_REASON_SEQUENCE_GAP,
                f'Sequence number {seq} of model "{self.model_id}" is too far ahead; {self.next_seq} is expected',
                next_seq=self.next_seq,
                remedy="Send the operations before it first.",
            )
        return None

    def accept(self, seq: int, work: OperationWork) -> OperationRecord:
        """Accepts an operation, or returns the one received earlier."""
        self.assert_living()
        self._forget_old_results()
        known = self.find_or_refuse(seq, work.fingerprint)
        if known is not None:
            if work.release is not None:
                work.release()
            return known
        record = OperationRecord(self.model_id, seq, work, self._now())
        self._records[seq] = record
        self.changes.append(record)
        while self.next_seq in self._records:
            self.next_seq += 1
        if self._running is None:
            self._running = asyncio.create_task(self._run_in_order())
        return record

    def operation(self, seq: int) -> OperationRecord:
        """An operation by its number.

        Raises:
            RuntimeFailureError: NOT_FOUND or RESULT_EXPIRED.
        """
        record = self._records.get(seq)
        if record is not None:
            return record
        if seq < self.next_seq:
            raise self._result_expired(seq)
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_NOT_FOUND,
            f'Operation {seq} of model "{self.model_id}" not found; {self.next_seq} is expected next',
        )

    def artifact(self, artifact_id: str) -> Artifact:
        """The output of an export; raises NOT_FOUND when it does not exist (any more)."""
        for record in self._records.values():
            if record.artifact is not None and artifact_id and record.artifact.info.artifact_id == artifact_id:
                return record.artifact
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_NOT_FOUND,
            f'Model "{self.model_id}" has no artifact "{artifact_id}"',
            remedy="Export again: files are kept as long as the result of the operation.",
        )

    def cancel(self, seq: int) -> OperationRecord:
        """Cancels a waiting operation.

        Raises:
            RuntimeFailureError: PRECONDITION when it is running or has ended.
        """
        record = self.operation(seq)
        if record.is_waiting:
            self._cancel(record, cancelled("Cancelled on request"))
        if record.state == operation_pb2.OPERATION_STATE_CANCELLED:
            return record
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_PRECONDITION,
            f'Operation {seq} of model "{self.model_id}" is not waiting any more and cannot be cancelled',
        )

    async def end(self, reason: RuntimeFailureError) -> None:
        """Rejects new operations, cancels waiting ones and lets the running one finish."""
        self._end_reason = self._end_reason or reason
        for record in self._records.values():
            if record.is_waiting:
                self._cancel(record, reason)
        if self._running is not None:
            await asyncio.shield(self._running)
        await asyncio.gather(*self._completing)
        for record in self._records.values():
            record.discard_artifact()
        self.changes.close(reason)

    def message_of(self, record: OperationRecord) -> operation_pb2.Operation:
        """An operation as a message of the contract, with its queue position."""
        self._place(record)
        return record.to_message()

    def tell_moves(self) -> None:
        """Records waiting operations that moved up in the queue as changed."""
        # Operations that have started no longer wait, and are numerous.
        last = self.next_seq + self._surroundings.reorder_window
        waiting = (self._records.get(seq) for seq in range(self._next_to_run, last))
        for record in [record for record in waiting if record is not None]:
            before = (record.queue_position, record.queue_reason)
            self._place(record)
            if record.is_waiting and before != (record.queue_position, record.queue_reason):
                self.changes.append(record)

    def note_progress(self, seq: int, done: int, total: int) -> None:
        """Records the progress of a running operation, and publishes it about once a second."""
        record = self._records.get(seq)
        if record is None or record.state != operation_pb2.OPERATION_STATE_RUNNING:
            return
        record.tell_progress(done, total)
        if self._now() - self._progress_reported_ms >= PROGRESS_INTERVAL_MS:
            self._progress_reported_ms = self._now()
            self.changes.append(record)

    async def _run_in_order(self) -> None:
        while (record := self._due()) is not None:
            share = self.user, self.ownership.session_id, self.model_id
            async with self._surroundings.thread.queue.turn(share):
                await self._run(record)
            self._next_to_run += 1
        self._running = None

    def _due(self) -> OperationRecord | None:
        return self._records.get(self._next_to_run) if self._next_to_run < self.next_seq else None

    async def _run(self, record: OperationRecord) -> None:
        if record.is_waiting:
            execute = record.start(self._now())
            self._progress_reported_ms = self._now()
            self.changes.append(record)
            loop = asyncio.get_running_loop()

            def progress(done: int, total: int) -> None:
                loop.call_soon_threadsafe(self.note_progress, record.seq, done, total)

            await self._complete(record, execute(progress))
        if not record.adds_gradients:
            return
        if record.state == operation_pb2.OPERATION_STATE_SUCCEEDED:
            self.ledger.add(record.seq)
        else:
            self.ledger.miss(record.seq)

    async def _complete(self, record: OperationRecord, work: Awaitable[Outcome | Completion]) -> None:
        try:
            outcome = await work
            if callable(outcome):
                task = asyncio.create_task(self._complete(record, outcome()))
                self._completing.add(task)
                task.add_done_callback(self._completing.discard)
                return
            record.succeed(outcome, self._now())
        except Exception as error:  # Any exception of an engine ends this operation, not the server.
            if not is_expected(error):
                LOG.exception("Operation %d of model %s failed unexpectedly", record.seq, self.model_id)
            record.fail(error, self._now())
        self.changes.append(record)
        LOG.info("%s", record.summary())

    def _cancel(self, record: OperationRecord, reason: RuntimeFailureError) -> None:
        record.cancel(reason, self._now())
        self.changes.append(record)

    def _place(self, record: OperationRecord) -> None:
        if not record.is_waiting:
            return
        record.queue_position = max(0, record.seq - self._next_to_run)
        if record.seq > self.next_seq:
            record.queue_reason = operation_pb2.QUEUE_REASON_SEQUENCE_GAP
        elif record.queue_position > 0:
            record.queue_reason = operation_pb2.QUEUE_REASON_EARLIER_OPERATION
        else:
            is_busy = self._surroundings.thread.queue.is_busy
            busy, ready = operation_pb2.QUEUE_REASON_ENGINE_BUSY, operation_pb2.QUEUE_REASON_UNSPECIFIED
            record.queue_reason = busy if is_busy else ready

    def _forget_old_results(self) -> None:
        """Operation 0 is kept: reattaching to the model returns it."""
        oldest = self._now() - self._surroundings.result_ttl_ms
        old = [
            record
            for record in self._records.values()
            if 0 < record.seq < self._next_to_run
            and record.state in ENDED
            and record.ended_at_ms is not None
            and record.ended_at_ms < oldest
        ]
        for record in old:
            record.discard_artifact()
            del self._records[record.seq]
        if old:
            self.changes.compact(lambda record: record.seq in self._records)

    def _result_expired(self, seq: int) -> RuntimeFailureError:
        return RuntimeFailureError(
            error_pb2.ERROR_REASON_RESULT_EXPIRED,
            f'Operation {seq} of model "{self.model_id}" has expired: its result was removed',
            remedy="Fetch results within result_ttl_ms of the capabilities.",
        )

    def _now(self) -> float:
        return self._surroundings.clock()
