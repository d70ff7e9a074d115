"""The state of a runtime server: its engine, sessions and models."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.users import current_user, is_own, scoped_id
from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError
from agentlightning_runtime.service.hosting.engine_thread import EngineThread
from agentlightning_runtime.service.hosting.hosted_model import HostedModel
from agentlightning_runtime.service.hosting.inflight_budget import InflightBudget
from agentlightning_runtime.service.hosting.metrics_log import MetricsLog
from agentlightning_runtime.service.hosting.model_request import check_model_request
from agentlightning_runtime.service.hosting.model_surroundings import ModelSurroundings
from agentlightning_runtime.service.hosting.operation_record import OperationRecord, OperationWork
from agentlightning_runtime.service.hosting.session_registry import SessionRegistry

if TYPE_CHECKING:
    from agentlightning_runtime.contract.engine import EngineModel, Progress, RuntimeEngine
    from agentlightning_runtime.contract.settings import ModelRequest
    from agentlightning_runtime.gen.agentlightning.runtime.v1.model_pb2 import ModelInfo
    from agentlightning_runtime.service.base.clock import Clock
    from agentlightning_runtime.service.base.limits import ServiceLimits

LOG = logging.getLogger(__name__)

TICK_SECONDS = 1.0
"""Interval at which waiting operations report their queue position."""

_OWN_SHARE = ("",)
"""The runtime's own operations in the queue for the engine."""

GAUGE_TICKS = 5
"""Number of ticks between reads of the engine's gauges."""


class RuntimeHost:
    """State shared by the handlers of all services. Created on the event loop that serves."""

    def __init__(self, engine: RuntimeEngine, limits: ServiceLimits, clock: Clock) -> None:
        self.engine = engine
        self.capabilities = engine.capabilities()
        self.limits = limits
        self.clock = clock
        self.sessions = SessionRegistry(clock, limits.session_ttl_ms)
        self.budget = InflightBudget(limits.max_inflight_bytes)
        self.metrics = MetricsLog(clock)
        self.thread = EngineThread()
        self._models: dict[str, HostedModel] = {}
        self._stop_reason: RuntimeFailureError | None = None
        self._ticking = asyncio.create_task(self._tick())
        self._looking = asyncio.create_task(self._look_for_abandoned())

    def touch(self, session_id: str) -> None:
        """Records activity of a session.

        Raises:
            RuntimeFailureError: SESSION_EXPIRED, or SHUTTING_DOWN when the server is stopping.
        """
        if self._stop_reason is not None:
            raise self._stop_reason
        self.sessions.touch(session_id)

    def model(self, model_id: str) -> HostedModel:
        """A model by its id; raises NOT_FOUND."""
        model = self._models.get(scoped_id(model_id))
        if model is not None:
            return model
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_NOT_FOUND,
            f'Model "{model_id}" not found',
            remedy="Create it with CreateModel and resume from its last checkpoint with LoadCheckpoint: a runtime that "
            "was restarted, or that unloaded an abandoned model, has its checkpoints only.",
        )

    def owned_model(self, session_id: str, model_id: str) -> HostedModel:
        """A model for a session that changes it."""
        self.touch(session_id)
        model = self.model(model_id)
        model.ownership.assert_is(session_id)
        return model

    def create_model(self, session_id: str, wanted: ModelRequest) -> tuple[HostedModel, OperationRecord]:
        """Creates a model as its operation 0, or finds it, and assigns it to the session."""
        self.touch(session_id)
        if wanted.initial_checkpoint and not is_own(wanted.initial_checkpoint):
            message = f'Unknown checkpoint "{wanted.initial_checkpoint}"'
            raise RuntimeFailureError(error_pb2.ERROR_REASON_NOT_FOUND, message, field="initial_checkpoint")
        request = check_model_request(wanted, self.capabilities)
        found = self._models.get(scoped_id(request.model_id))
        model = self._add_model(request) if found is None or found.has_failed_to_start else found
        # An existing model ignores the checkpoint: it began with its own.
        if model.request != replace(request, initial_checkpoint=model.request.initial_checkpoint):
            raise RuntimeFailureError(
                error_pb2.ERROR_REASON_CONFLICT,
                f'Model "{request.model_id}" exists as {describe(model.request)}, not {describe(request)}',
                remedy="Choose another model id, or the same base, seed, LoRA and value head.",
            )
        model.assert_living()
        model.take_over(session_id)
        return model, model.operation(0)

    async def unload_abandoned(self) -> None:
        """Unloads the models without an owner for longer than the limit."""
        for model in list(self._models.values()):
            abandoned_for_ms = model.ownership.abandoned_for_ms(self.clock(), self.sessions.lives_until_ms)
            if abandoned_for_ms >= self.limits.abandoned_model_ttl_ms:
                LOG.info("Unloading model %s: its session ended %.0f s ago", model.model_id, abandoned_for_ms / 1000)
                await self.unload_model(model, f", because its session ended {abandoned_for_ms:.0f} ms ago")

    async def unload_model(self, model: HostedModel, because: str = "") -> None:
        """Cancels waiting operations, finishes the running one, and frees the model. Its id is then free.

        Args:
            model: The model.
            because: Reason for later requests; follows "was unloaded".
        """
        reason = RuntimeFailureError(
            error_pb2.ERROR_REASON_NOT_FOUND,
            f'Model "{model.model_id}" was unloaded{because}',
            remedy="Create it again with CreateModel and resume from its last checkpoint with LoadCheckpoint.",
        )
        await model.end(reason)
        # A concurrent call waits for the same end; the model is freed once.
        key = next((key for key, each in self._models.items() if each is model), None)
        if key is None:
            return
        del self._models[key]
        # In sequence, so that a new model of the same id is created after the old one is freed.
        async with self.thread.queue.turn(_OWN_SHARE):
            if model.engine is not None:
                await self.thread.run(model.engine.unload)

    async def stop(self) -> None:
        """Rejects new calls, lets the running operation finish, and ends the engine."""
        reason = RuntimeFailureError(
            error_pb2.ERROR_REASON_SHUTTING_DOWN,
            "The runtime is shutting down",
            remedy="Reconnect after the restart and load the last checkpoint.",
        )
        self._stop_reason = reason
        self._ticking.cancel()
        self._looking.cancel()
        await asyncio.gather(*(model.end(reason) for model in self._models.values()))
        self.metrics.close(reason)
        async with self.thread.queue.turn(_OWN_SHARE):
            await self.thread.run(self.engine.close)
        self.thread.close()

    def _add_model(self, request: ModelRequest) -> HostedModel:
        surroundings = ModelSurroundings(
            clock=self.clock,
            thread=self.thread,
            reorder_window=self.limits.reorder_window,
            result_ttl_ms=self.limits.result_ttl_ms,
        )
        model = HostedModel(request, surroundings, current_user.get())
        self._assert_room()
        engine_id = scoped_id(request.model_id)
        self._models[engine_id] = model

        async def execute(progress: Progress) -> ModelInfo:
            del progress
            model.engine = await self.thread.run(self.engine.create_model, replace(request, model_id=engine_id))
            return model.info()

        model.accept(0, OperationWork(fingerprint="", execute=execute))
        return model

    def _assert_room(self) -> None:
        limit = self.capabilities.max_models
        living = sum(not model.has_failed_to_start for model in self._models.values())
        if limit == 0 or living < limit:
            return
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_PRECONDITION,
            f"{living} models are loaded; the limit of this runtime is {limit}",
            remedy="Unload one, or raise the limit of the runtime.",
        )

    async def _tick(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for model in list(self._models.values()):
                model.tell_moves()
            ticks += 1
            if ticks % GAUGE_TICKS == 0:
                await self._read_gauges()

    async def _look_for_abandoned(self) -> None:
        """Unloads abandoned models; clients that have ended do not trigger it."""
        while self.limits.abandoned_model_ttl_ms > 0:
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self.unload_abandoned()
            except Exception:
                LOG.exception("Abandoned models could not be unloaded")

    async def _read_gauges(self) -> None:
        try:
            self.metrics.add(await self.thread.aside(self.engine.gauges))
        except Exception:
            LOG.exception("The engine's gauges could not be read")


def describe(request: ModelRequest) -> str:
    """A short description of a model request."""
    return str(replace(request, model_id=""))


def assert_made(model: HostedModel) -> EngineModel:
    """The model's engine; raises PRECONDITION when the model does not exist yet or failed to start."""
    if model.engine is not None:
        return model.engine
    raise RuntimeFailureError(
        error_pb2.ERROR_REASON_PRECONDITION,
        f'Model "{model.model_id}" does not exist: operation 0 has failed or has not ended',
    )


def assert_sound(model: HostedModel) -> EngineModel:
    """The model's engine; raises DATA_LOSS when the model's state is corrupted."""
    engine = assert_made(model)
    if not engine.state().is_corrupted:
        return engine
    raise RuntimeFailureError(
        error_pb2.ERROR_REASON_DATA_LOSS,
        f'The state of model "{model.model_id}" is corrupted',
        remedy="Load a checkpoint.",
    )
