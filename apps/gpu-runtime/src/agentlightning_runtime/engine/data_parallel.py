"""Several processes that train as one: the first talks to clients and tells the others what it does.

Every process does the same operations in the same order, each on its share of a batch. When one of them fails in a
way that the others do not (its memory runs out, its machine dies), they cannot go on together: the process ends, and
torchrun ends the rest and starts them again, from the last checkpoint.
"""

from __future__ import annotations

import contextlib
import logging
import os
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from agentlightning_runtime.engine.errors import EngineError
from agentlightning_runtime.engine.ranks import Ranks, leave_ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agentlightning_runtime.engine.batch import AdamParameters, Batch, ResolvedLoss
    from agentlightning_runtime.engine.contract import Progress
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
    from agentlightning_runtime.engine.settings import EngineCapabilities, ModelRequest
    from agentlightning_runtime.engine.torch_engine import TorchEngine
    from agentlightning_runtime.engine.torch_model import TorchModel

Result = TypeVar("Result")

LOG = logging.getLogger(__name__)

#: sysexits.h: an internal software error.
_FAILED_EXIT_CODE = 70


@dataclass(frozen=True)
class Order:
    """What all processes are to do now: a method of a model, or the making of one. Without a model id: stop."""

    model_id: str = ""
    method: str = ""
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict[str, Any])


class LeadingEngine:
    """The engine of the first process. Implements `RuntimeEngine`."""

    def __init__(self, engine: TorchEngine, ranks: Ranks) -> None:
        self._engine = engine
        self._ranks = ranks

    def capabilities(self) -> EngineCapabilities:
        """Those of each process's own engine, which are all the same."""
        return self._engine.capabilities()

    def create_model(self, request: ModelRequest) -> LeadingModel:
        """Makes the model in every process."""
        self._ranks.tell(Order(request.model_id, "create", (request,)))
        return LeadingModel(_fail_together(lambda: self._engine.create_model(request)), self._ranks)

    def gauges(self) -> Mapping[str, float]:
        """Those of the first process."""
        return self._engine.gauges()

    def close(self) -> None:
        """Ends all processes."""
        # Told to stop from outside, the others may be gone already.
        with contextlib.suppress(RuntimeError):
            self._ranks.tell(Order())
        self._engine.close()
        leave_ranks(self._ranks)


class LeadingModel:
    """A model of the first process: whatever changes it is done by all. Implements `EngineModel`."""

    def __init__(self, model: TorchModel, ranks: Ranks) -> None:
        self.own = model
        self._ranks = ranks

    def state(self) -> ModelState:
        """The same in all processes."""
        return self.own.state()

    def forward_backward(self, batch: Batch, loss: ResolvedLoss, progress: Progress) -> BatchResult:
        """Adds the gradients of the loss, each process those of its share."""
        return self._together("forward_backward", batch, loss, progress=progress)

    def forward(self, batch: Batch, *, use_reference: bool, progress: Progress) -> ForwardResult:
        """Scores the batch, each process its share."""
        return self._together("forward", batch, use_reference=use_reference, progress=progress)

    def optim_step(self, adam: AdamParameters) -> StepResult:
        """Takes the step in all processes."""
        return self._together("optim_step", adam)

    def discard_gradients(self) -> None:
        """Clears the accumulator of all processes."""
        self._together("discard_gradients")

    def publish_weights(self) -> Endpoint:
        """Serves the weights; only the first process does."""
        return self._together("publish_weights")

    def save_checkpoint(self, name: str, client_state: bytes) -> Checkpoint:
        """Gathers the state of all processes; the first one writes it."""
        return self._together("save_checkpoint", name, client_state)

    def load_checkpoint(self, uri: str) -> Checkpoint:
        """Loads in all processes, so the folder must be seen by all of them."""
        return self._together("load_checkpoint", uri)

    def list_checkpoints(self) -> Sequence[Checkpoint]:
        """What is in the folder."""
        return self.own.list_checkpoints()

    def delete_checkpoint(self, uri: str) -> None:
        """Deletes from the folder."""
        self.own.delete_checkpoint(uri)

    def export_weights(self, uri: str, export_format: ExportFormat, directory: Path) -> int:
        """Gathers the weights of all processes; the first one writes them."""
        return self._together("export_weights", uri, export_format, directory)

    def endpoint(self) -> Endpoint:
        """The first process's."""
        return self.own.endpoint()

    def pause(self, mode: PauseMode) -> InferenceState:
        """Pauses the first process's endpoint."""
        return self.own.pause(mode)

    def resume(self) -> InferenceState:
        """Resumes the first process's endpoint."""
        return self.own.resume()

    def unload(self) -> None:
        """Frees the model in all processes."""
        self._together("unload")

    def _together(self, method: str, *arguments: Any, progress: Progress | None = None, **keywords: Any) -> Any:
        model_id = self.own.parts.request.model_id
        self._ranks.tell(Order(model_id, method, arguments, keywords))
        if progress is not None:
            keywords["progress"] = progress
        return _fail_together(lambda: getattr(self.own, method)(*arguments, **keywords))


def follow(engine: TorchEngine, ranks: Ranks) -> None:
    """Does what the first process says, until it says no more."""
    models: dict[str, TorchModel] = {}
    while True:
        order: Order = ranks.tell(None)
        if not order.model_id:
            break
        try:
            _fail_together(partial(_obey, engine, models, order))
        except EngineError as error:
            # The first process has the same one, and tells the client.
            LOG.debug("%s of %s was refused: %s", order.method, order.model_id, error)
    engine.close()
    leave_ranks(ranks)


def _obey(engine: TorchEngine, models: dict[str, TorchModel], order: Order) -> None:
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
    """Progress is told by the first process."""


def _fail_together(work: Callable[[], Result]) -> Result:
    """Lets refusals through, which all processes come to alike, and ends the process on anything else."""
    try:
        return work()
    except EngineError:
        raise
    except BaseException:
        LOG.critical("One of several training processes failed; they cannot go on without it", exc_info=True)
        os._exit(_FAILED_EXIT_CODE)
