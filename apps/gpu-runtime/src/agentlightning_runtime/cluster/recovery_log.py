"""The calls that restore the models after the workers were restarted.

The state of a model is its last checkpoint and the calls after it. A call is recorded once it has finished, so that the
call during which a worker failed is executed again, from the state before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentlightning_runtime.cluster.call import Call, Reply

if TYPE_CHECKING:
    from agentlightning_runtime.contract.results import Checkpoint, PauseMode

#: Calls that change a model; the others are not repeated.
_CHANGES = frozenset(
    ("forward_backward", "optim_step", "discard_gradients", "publish_weights", "save_checkpoint", "load_checkpoint")
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorded call and its number."""

    number: int
    call: Call


@dataclass(slots=True)
class History:
    """How to restore one model.

    Attributes:
        creation: The call that created it.
        base: Checkpoint to load before the entries; None: none yet.
        entries: The calls after it, in order.
        paused: Mode in which its endpoint is paused; None: not paused.
        is_lost: The entries cannot be repeated: the model is created anew and is corrupted until a checkpoint is
            loaded.
    """

    creation: Call
    base: Checkpoint | None = None
    entries: list[Entry] = field(default_factory=list[Entry])
    paused: PauseMode | None = None
    is_lost: bool = False
    highest_version: int = 0


class RecoveryLog:
    """The histories of all models of an engine."""

    def __init__(self) -> None:
        self._histories: dict[str, History] = {}

    def histories(self) -> list[History]:
        """Copies of the histories, in order of creation."""
        return [replace(each, entries=list(each.entries)) for each in self._histories.values()]

    def finished(self, number: int, call: Call, reply: Reply) -> None:
        """Records a call that rank 0 has finished."""
        if call.method == "create_model":
            if reply.failure is None:
                self._histories[call.model_id] = History(call)
            return
        history = self._histories.get(call.model_id)
        if history is None:
            return
        if reply.state is not None:
            history.highest_version = max(history.highest_version, reply.state.policy_version)
        if call.method == "unload":
            del self._histories[call.model_id]
        elif reply.failure is not None:
            self._failed(history, number, call)
        elif call.method in _CHANGES:
            if call.method == "load_checkpoint":
                history.is_lost = False
            history.entries.append(Entry(number, call))

    def saved(self, number: int, checkpoint: Checkpoint | None) -> None:
        """Records the end of the save with this number; None: it failed. The calls before it are not needed then."""
        for history in self._histories.values():
            position = next((at for at, entry in enumerate(history.entries) if entry.number == number), None)
            if position is None:
                continue
            if checkpoint is None or checkpoint.policy_version < history.highest_version:
                # After the load of an older checkpoint the version is lower than those in use, and must stay unique.
                del history.entries[position]
            else:
                history.base = checkpoint
                del history.entries[: position + 1]
            return

    def paused(self, model_id: str, mode: PauseMode | None) -> None:
        """Records that an endpoint was paused, or resumed."""
        if model_id in self._histories:
            self._histories[model_id].paused = mode

    def lose(self) -> None:
        """Gives up the repetition of all entries."""
        for history in self._histories.values():
            history.is_lost = True
            history.base = None
            history.entries.clear()

    @staticmethod
    def _failed(history: History, number: int, call: Call) -> None:
        """A failed pass or step leaves no gradients; a failed publication uses up its version."""
        if call.method in ("forward_backward", "optim_step"):
            history.entries.append(Entry(number, Call("discard_gradients", call.model_id)))
        elif call.method == "publish_weights":
            history.entries.append(Entry(number, call))
