"""The batches that the next optimizer step would apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError

if TYPE_CHECKING:
    from collections.abc import Collection


class GradientLedger:
    """The batches in a model's accumulated gradients since the last step, and the failed ones.

    A step must apply exactly the intended batches, without those of an earlier session.
    """

    def __init__(self) -> None:
        self._added: set[int] = set()
        self._missing: set[int] = set()

    @property
    def has_pending(self) -> bool:
        """True when unused gradients are accumulated."""
        return bool(self._added)

    def add(self, seq: int) -> None:
        """Records a batch whose gradients were added."""
        self._added.add(seq)

    def miss(self, seq: int) -> None:
        """Records a batch that failed or was cancelled."""
        self._missing.add(seq)

    def clear(self) -> None:
        """Clears the records: the gradients were applied or discarded."""
        self._added.clear()
        self._missing.clear()

    def why_not(self, required: Collection[int]) -> RuntimeFailureError | None:
        """The reason to reject a step that requires these batches; None when it is valid.

        An empty list accepts all accumulated batches.
        """
        if self._missing:
            return _refusal(f"Operation {min(self._missing)}, a batch since the last step, did not succeed")
        absent = next((seq for seq in required if seq not in self._added), None)
        if absent is not None:
            return _refusal(f"Operation {absent} is required but is not a batch since the last step")
        foreign = next((seq for seq in sorted(self._added) if seq not in required), None) if required else None
        if foreign is not None:
            return _refusal(f"Operation {foreign}, a batch since the last step, is not required by the step")
        if not self._added:
            return _refusal("No gradients are accumulated")
        return None


def _refusal(what: str) -> RuntimeFailureError:
    return RuntimeFailureError(
        error_pb2.ERROR_REASON_PRECONDITION,
        f"{what}; the step was not taken, and accumulated gradients were discarded",
        remedy="Send the batches again, then the step.",
        gradients_discarded=True,
    )
