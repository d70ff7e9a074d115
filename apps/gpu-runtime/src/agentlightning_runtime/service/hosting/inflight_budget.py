"""Limit of the total size of waiting batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError

if TYPE_CHECKING:
    from collections.abc import Callable

RETRY_AFTER_MS = 250
"""Retry delay when the queue is full: about the duration of a small batch."""


class InflightBudget:
    """Counts the bytes of batches that are uploading, waiting or running."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._used_bytes = 0

    @property
    def used_bytes(self) -> int:
        """The bytes in use."""
        return self._used_bytes

    def take(self, size: int, *, is_next_in_line: bool) -> Callable[[], None]:
        """Reserves memory for a batch. The next in sequence is always admitted: all others may be waiting for it.

        Returns:
            A function that releases the reservation; further calls have no effect.

        Raises:
            RuntimeFailureError: QUEUE_FULL when the limit would be exceeded.
        """
        if not is_next_in_line and self._used_bytes + size > self._limit_bytes:
            raise RuntimeFailureError(
                error_pb2.ERROR_REASON_QUEUE_FULL,
                f"{self._used_bytes} bytes of batches are in flight; {size} more exceed the limit of "
                f"{self._limit_bytes}",
                retry_after_ms=RETRY_AFTER_MS,
                remedy="Send the batch again a little later.",
            )
        self._used_bytes += size
        is_taken = True

        def give_back() -> None:
            nonlocal is_taken
            if is_taken:
                self._used_bytes -= size
            is_taken = False

        return give_back
