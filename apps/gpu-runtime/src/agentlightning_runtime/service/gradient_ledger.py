"""Which batches the next optimizer step would use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.failure import RuntimeFailureError

if TYPE_CHECKING:
    from collections.abc import Collection


class GradientLedger:
    """Which batches of a model have gone into its gradients since the last step, and which should have but did not.

    A step must never use half of what was meant, nor more, such as what an earlier session left.
    """

    def __init__(self) -> None:
        self._added: set[int] = set()
        self._missing: set[int] = set()

    @property
    def has_pending(self) -> bool:
        """True when gradients are accumulated that no step has used."""
        return bool(self._added)

    def add(self, seq: int) -> None:
        """Notes a batch whose gradients were added."""
        self._added.add(seq)

    def miss(self, seq: int) -> None:
        """Notes a batch that failed or was cancelled."""
        self._missing.add(seq)

    def clear(self) -> None:
        """Forgets everything: the gradients were used or dropped."""
        self._added.clear()
        self._missing.clear()

    def why_not(self, required: Collection[int]) -> RuntimeFailureError | None:
        """Why a step that means to use these batches must not be taken; None when it may.

        No batch at all stands for whatever there is.
        """
        if self._missing:
            return _refusal(f"Operation {min(self._missing)}, a batch since the last step, did not succeed")
        absent = next((seq for seq in required if seq not in self._added), None)
        if absent is not None:
            return _refusal(f"Operation {absent} is required but is no batch since the last step")
        foreign = next((seq for seq in sorted(self._added) if seq not in required), None) if required else None
        if foreign is not None:
            return _refusal(f"Operation {foreign}, a batch since the last step, is none that the step requires")
        if not self._added:
            return _refusal("No gradients are accumulated")
        return None


def _refusal(what: str) -> RuntimeFailureError:
    return RuntimeFailureError(
        error_pb2.ERROR_REASON_PRECONDITION,
        f"{what}; the step was not taken and accumulated gradients were dropped",
        remedy="Send the batches again, then the step.",
        gradients_discarded=True,
    )
