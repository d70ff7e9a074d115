"""The ranks of a worker group of Ray Train: rank 0 takes calls from the queue, the others follow it."""

from __future__ import annotations

import logging
import socket
import threading
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import ray
import ray.train
import ray.train.torch

from agentlightning_runtime.cluster.call import Call, Failure, Reply
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.create_engine import create_engine, follow_first_process
from agentlightning_runtime.engine.data_parallel import LeadingEngine

if TYPE_CHECKING:
    from concurrent.futures import Future

    from agentlightning_runtime.cluster.call_queue import Lane
    from agentlightning_runtime.cluster.recovery_log import History
    from agentlightning_runtime.contract.engine import EngineModel, RuntimeEngine
    from agentlightning_runtime.contract.results import Checkpoint
    from agentlightning_runtime.contract.settings import EngineSettings

LOG = logging.getLogger(__name__)

#: Interval of progress reports, in seconds.
_PROGRESS_S = 0.5


def run_rank(config: dict[str, Any]) -> None:
    """Runs one rank until the queue ends or the worker group fails. The training function of Ray Train."""
    settings: EngineSettings = replace(config["settings"], device=str(ray.train.torch.get_device()))
    if ray.train.get_context().get_world_rank() > 0:
        follow_first_process(settings)
    else:
        _lead(settings, config["queue"])


def _lead(settings: EngineSettings, queue: Any) -> None:
    generation, histories = ray.get(queue.begin.remote())
    host = ray.util.get_node_ip_address()
    port = _free_port(host)
    try:
        engine = create_engine(replace(settings, inference_host=host, inference_port=port))
    except EngineError as error:
        # Of the settings: another worker group would fail in the same way.
        ray.get(queue.fail.remote(Failure.of(error)))
        return
    leader = Leader(engine, queue, generation)
    leader.restore(histories)
    ray.get(queue.ready.remote(generation, f"http://{host}:{port}"))
    side = threading.Thread(target=leader.serve, args=("side",), name="side-calls", daemon=True)
    side.start()
    leader.serve("operations")
    engine.close()


class Leader:
    """Executes the calls of the queue with the engine of rank 0."""

    def __init__(self, engine: RuntimeEngine, queue: Any, generation: int) -> None:
        self._engine = engine
        self._queue = queue
        self._generation = generation
        self._models: dict[str, EngineModel] = {}
        self._lost: set[str] = set()

    def serve(self, lane: Lane) -> None:
        """Executes calls until the queue ends."""
        while True:
            taken: Any = ray.get(self._queue.next.remote(self._generation, lane))
            if taken is None:
                break
            number, call = taken
            reply = self._reply(number, call)
            ray.get(self._queue.finish.remote(self._generation, number, reply))

    def restore(self, histories: list[History]) -> None:
        """Creates the models again and repeats the calls after their checkpoints."""
        for history in histories:
            started = time.monotonic()
            model_id = history.creation.model_id
            self._execute(0, history.creation)
            if history.is_lost or not self._repeat(history):
                self._lost.add(model_id)
            if history.paused is not None:
                self._models[model_id].pause(history.paused)
            what = "lost; load a checkpoint" if model_id in self._lost else "restored"
            LOG.warning(
                "Model %s is %s, %d calls repeated (%.1f s)",
                model_id,
                what,
                len(history.entries),
                time.monotonic() - started,
            )

    def _repeat(self, history: History) -> bool:
        """Whether the model is as it was: not when its checkpoint was deleted, or a pass fails now."""
        entries = history.entries
        try:
            if history.base is not None:
                found = self._models[history.creation.model_id].load_checkpoint(history.base.uri)
                if found.created_at_ms != history.base.created_at_ms:
                    entries = self._entries_after(found, history)
            for entry in entries:
                try:
                    self._execute(entry.number, entry.call)
                except EngineError as error:
                    # A publication that failed uses up its version, and fails again.
                    if error.reason != EngineErrorReason.WEIGHT_MISMATCH:
                        raise
        except EngineError as error:
            LOG.warning("Model %s cannot be restored: %s", history.creation.model_id, error)
            return False
        return True

    def _entries_after(self, found: Checkpoint, history: History) -> list[Any]:
        """The entries after the save that replaced the checkpoint, which was not reported before the failure."""
        for position, entry in enumerate(history.entries):
            if entry.call.method == "save_checkpoint" and entry.call.arguments[0] == found.name:
                ray.get(self._queue.saved.remote(self._generation, entry.number, found))
                return history.entries[position + 1 :]
        message = f'The checkpoint "{found.uri}" was replaced'
        raise EngineError(EngineErrorReason.DATA_LOSS, message)

    def _reply(self, number: int, call: Call) -> Reply:
        result, failure = None, None
        try:
            self._assert_sound(call)
            result = self._execute(number, call)
        except EngineError as error:
            failure = Failure.of(error)
        except Exception as error:
            if isinstance(self._engine, LeadingEngine) and call.method not in ("pause", "resume"):
                # The ranks are out of step; the next worker group executes the call again.
                raise
            LOG.exception("%s failed", call.method)
            failure = Failure.of(error)
        model = self._models.get(call.model_id)
        if model is None:
            return Reply(result, failure, gauges=self._engine.gauges())
        state = replace(model.state(), is_corrupted=model.state().is_corrupted or call.model_id in self._lost)
        return Reply(result, failure, state, model.endpoint(), self._engine.gauges())

    def _assert_sound(self, call: Call) -> None:
        if call.model_id in self._lost and call.method in ("forward_backward", "forward", "optim_step"):
            message = f'The workers of model "{call.model_id}" failed, and its state could not be restored'
            raise EngineError(EngineErrorReason.DATA_LOSS, message, remedy="Load a checkpoint")

    def _execute(self, number: int, call: Call) -> Any:
        if call.model_id == "":
            return getattr(self._engine, call.method)(*call.arguments)
        if call.method == "create_model":
            self._models[call.model_id] = self._engine.create_model(*call.arguments)
            return None
        keywords = dict(call.keywords)
        if call.method in ("forward", "forward_backward"):
            keywords["progress"] = self._report_progress()
        result = getattr(self._models[call.model_id], call.method)(*call.arguments, **keywords)
        if call.method == "save_checkpoint":
            result.add_done_callback(partial(self._report_save, number))
            return number
        if call.method == "load_checkpoint":
            self._lost.discard(call.model_id)
        if call.method == "unload":
            del self._models[call.model_id]
            self._lost.discard(call.model_id)
        return result

    def _report_save(self, number: int, saving: Future[Checkpoint]) -> None:
        error = saving.exception()
        outcome = saving.result() if error is None else Failure.of(Exception(error))
        self._queue.saved.remote(self._generation, number, outcome)

    def _report_progress(self) -> Any:
        last = time.monotonic()

        def report(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= _PROGRESS_S:
                last = time.monotonic()
                self._queue.report_progress.remote(self._generation, done, total)

        return report


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as probe:
        return probe.getsockname()[1]
