"""Data-parallel training in several processes: rank 0 communicates with clients and broadcasts its calls.

Every process runs the same operations in the same order, each on its shard of a batch. When memory runs out on one in a
pass over replicas, all repeat the batch with smaller micro-batches. After any other failure of one process alone the
ranks are out of step: the process ends, torchrun ends the others, and trainers resume from the last checkpoint. Memory
that runs out in a pass over shards is such a failure; rank 0 returns it to the client first (`exhaustion.py`).
"""

from __future__ import annotations

import contextlib
import logging
import os
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agentlightning_runtime.contract.engine import EngineModel, RuntimeEngine, TracedEngine
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.engine.base.ranks import Ranks, leave_ranks
from agentlightning_runtime.engine.experimental.exhaustion import FAILED_EXIT_CODE, WatchedCalls, end_exhausted
from agentlightning_runtime.engine.memory.out_of_memory import RankExhaustedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from agentlightning_runtime.contract.batch import AdamParameters, Batch, ResolvedLoss
    from agentlightning_runtime.contract.engine import Progress
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
    from agentlightning_runtime.contract.settings import EngineCapabilities, ModelRequest

Result = TypeVar("Result")

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Order:
    """The next call of all processes: a method of a model, or its creation. Without a model id: stop."""

    model_id: str = ""
    method: str = ""
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict[str, Any])


class RankModel(EngineModel, Protocol):
    """A model of one rank."""

    def finish(self) -> None:
        """Waits until no checkpoint is being written."""
        ...


class RankEngine(RuntimeEngine, TracedEngine, Protocol):
    """The engine of one rank."""

    def create_model(self, request: ModelRequest) -> RankModel:
        """Creates the part of the model that this rank holds."""
        ...


class LeadingEngine:
    """The engine of rank 0. Implements `RuntimeEngine`."""

    def __init__(self, engine: RankEngine, ranks: Ranks) -> None:
        self._engine = engine
        self._ranks = ranks
        self._calls = WatchedCalls(ranks)

    def capabilities(self) -> EngineCapabilities:
        """The capabilities of the local engine, which are the same on all ranks."""
        return self._engine.capabilities()

    def create_model(self, request: ModelRequest) -> LeadingModel:
        """Creates the model on all ranks."""

        def create() -> RankModel:
            self._ranks.tell(Order(request.model_id, "create", (request,)))
            return _fail_together(lambda: self._engine.create_model(request))

        return LeadingModel(request.model_id, self._calls.run(create), self._ranks, self._calls)

    def gauges(self) -> Mapping[str, float]:
        """The gauges of rank 0."""
        return self._engine.gauges()

    def trace_next_step(self, directory: Path) -> None:
        """Profiles rank 0."""
        self._engine.trace_next_step(directory)

    def close(self) -> None:
        """Stops all ranks."""
        # After an external stop signal the other ranks may already have ended.
        with contextlib.suppress(RuntimeError):
            self._ranks.tell(Order())
        self._calls.close()
        self._engine.close()
        leave_ranks(self._ranks)


class LeadingModel:
    """A model of rank 0: all ranks run the calls that change it. Implements `EngineModel`."""

    def __init__(self, model_id: str, own: RankModel, ranks: Ranks, calls: WatchedCalls) -> None:
        self._model_id = model_id
        self.own = own
        self._ranks = ranks
        self._calls = calls

    def state(self) -> ModelState:
        """The same on all ranks."""
        return self.own.state()

    def forward_backward(self, batch: Batch, loss: ResolvedLoss, progress: Progress) -> BatchResult:
        """Adds the gradients of the loss; each rank computes its shard."""
        return self._together("forward_backward", batch, loss, progress=progress)

    def forward(self, batch: Batch, *, use_reference: bool, progress: Progress) -> ForwardResult:
        """Scores the batch; each rank computes its shard."""
        return self._together("forward", batch, use_reference=use_reference, progress=progress)

    def optim_step(self, adam: AdamParameters) -> StepResult:
        """Takes the step on all ranks."""
        return self._together("optim_step", adam)

    def discard_gradients(self) -> None:
        """Clears the accumulator of all ranks."""
        self._together("discard_gradients")

    def publish_weights(self) -> Endpoint:
        """Serves the weights; only rank 0 does."""
        return self._together("publish_weights")

    def save_checkpoint(self, name: str, client_state: bytes) -> Future[Checkpoint]:
        """Writes the state; each rank writes its shards."""
        return self._together("save_checkpoint", name, client_state)

    def load_checkpoint(self, uri: str) -> Checkpoint:
        """Loads on all ranks, each its shards; all of them must have access to the folder."""
        # Rank 0 completes a checkpoint: the others must not look for it before.
        self.own.finish()
        return self._together("load_checkpoint", uri)

    def list_checkpoints(self) -> Sequence[Checkpoint]:
        """The checkpoints in the folder."""
        return self.own.list_checkpoints()

    def delete_checkpoint(self, uri: str) -> None:
        """Deletes from the folder."""
        self.own.delete_checkpoint(uri)

    def export_weights(self, uri: str, export_format: ExportFormat, directory: Path) -> int:
        """Gathers the weights of all ranks; rank 0 writes them."""
        self.own.finish()
        return self._together("export_weights", uri, export_format, directory)

    def endpoint(self) -> Endpoint:
        """The endpoint of rank 0."""
        return self.own.endpoint()

    def pause(self, mode: PauseMode) -> InferenceState:
        """Pauses the endpoint of rank 0."""
        return self.own.pause(mode)

    def resume(self) -> InferenceState:
        """Resumes the endpoint of rank 0."""
        return self.own.resume()

    def unload(self) -> None:
        """Unloads the model on all ranks."""
        self._together("unload")

    def _together(self, method: str, *arguments: Any, progress: Progress | None = None, **keywords: Any) -> Any:
        own_keywords = keywords if progress is None else {**keywords, "progress": progress}

        def call() -> Any:
            self._ranks.tell(Order(self._model_id, method, arguments, keywords))
            return _fail_together(lambda: getattr(self.own, method)(*arguments, **own_keywords))

        return self._calls.run(call)


def follow(engine: RankEngine, ranks: Ranks) -> None:
    """Executes the calls that rank 0 broadcasts until it stops."""
    models: dict[str, RankModel] = {}
    while True:
        order: Order = ranks.tell(None)
        if not order.model_id:
            break
        try:
            _fail_together(partial(_obey, engine, models, order))
        except RankExhaustedError as error:
            end_exhausted(ranks, error)
        except EngineError as error:
            # Rank 0 raises the same error and returns it to the client.
            LOG.debug("%s of %s was rejected: %s", order.method, order.model_id, error)
    for model in models.values():
        model.finish()
    engine.close()
    leave_ranks(ranks)


def _obey(engine: RankEngine, models: dict[str, RankModel], order: Order) -> None:
    if order.method == "create":
        models[order.model_id] = engine.create_model(*order.arguments)
        return
    keywords = dict(order.keywords)
    if order.method in ("forward", "forward_backward"):
        keywords["progress"] = _ignore
    getattr(models[order.model_id], order.method)(*order.arguments, **keywords)
    if order.method == "unload":
        del models[order.model_id]


def _ignore(_done: int, _total: int) -> None:
    """Progress is reported by rank 0."""


def _fail_together(work: Callable[[], Result]) -> Result:
    """Ends the process on any exception besides those of engines, which all ranks raise alike, and exhaustion."""
    try:
        return work()
    except (EngineError, RankExhaustedError):
        raise
    except BaseException:
        LOG.critical("A training process failed; the others cannot continue without it", exc_info=True)
        os._exit(FAILED_EXIT_CODE)
