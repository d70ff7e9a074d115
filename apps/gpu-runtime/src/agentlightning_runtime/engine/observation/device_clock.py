"""Time of work on a device, which may run behind the program."""

from __future__ import annotations

import time
from typing import Any, Protocol

import torch


class DeviceClock(Protocol):
    """Marks instants in the work of a device. All times are in seconds of `time.perf_counter`."""

    def start(self) -> float:
        """The present; called before an operation, when it has no work on the device."""
        ...

    def mark(self) -> Any:
        """Marks the end of the work requested so far; does not wait for it."""
        ...

    def finish(self) -> float:
        """Waits for all work requested so far; the present."""
        ...

    def seconds(self, mark: Any) -> float:
        """The time of a mark of this operation; call `finish` before."""
        ...


class HostClock:
    """Work that is done when the call returns, as on a CPU. Implements `DeviceClock`."""

    def start(self) -> float:
        """The present."""
        return time.perf_counter()

    def mark(self) -> float:
        """The present."""
        return time.perf_counter()

    def finish(self) -> float:
        """The present."""
        return time.perf_counter()

    def seconds(self, mark: float) -> float:
        """The mark itself."""
        return mark


class CudaClock:
    """Events in the stream of a GPU, so that measuring does not make the program wait. Implements `DeviceClock`.

    It waits for this thread's stream only: sampling and the copies of a checkpoint continue on other streams.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._anchor: Any = None
        self._anchor_s = 0.0

    def start(self) -> float:
        """Records the event that the marks of the operation are measured from."""
        torch.cuda.current_stream(self._device).synchronize()
        self._anchor, self._anchor_s = self.mark(), time.perf_counter()
        return self._anchor_s

    def mark(self) -> torch.cuda.Event:
        """Records an event."""
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def finish(self) -> float:
        """Waits for the stream."""
        torch.cuda.current_stream(self._device).synchronize()
        return time.perf_counter()

    def seconds(self, mark: torch.cuda.Event) -> float:
        """The time of an event."""
        return self._anchor_s + self._anchor.elapsed_time(mark) / 1000


def clock_of(device: torch.device) -> DeviceClock:
    """The clock of a device."""
    return CudaClock(device) if device.type == "cuda" else HostClock()
