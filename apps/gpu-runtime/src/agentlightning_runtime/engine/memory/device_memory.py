"""Memory of a device, as far as the size of micro-batches depends on it."""

from __future__ import annotations

from typing import Protocol

import torch


class DeviceMemory(Protocol):
    """Free memory, and the memory that a computation needs. All values are in bytes."""

    def available(self) -> int:
        """The memory that this process can still allocate."""
        ...

    def start_measurement(self) -> None:
        """Starts to record the peak."""
        ...

    def peak_increase(self) -> int:
        """The peak since the start of the measurement, less the memory in use then."""
        ...


class CudaMemory:
    """Memory of a GPU. Implements `DeviceMemory`."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before = 0
        self._peak = 0

    def available(self) -> int:
        """Free memory, including what torch has reserved and does not use."""
        free, _total = torch.cuda.mem_get_info(self._device)
        return free + torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)

    def start_measurement(self) -> None:
        """Resets the peak of torch's allocator."""
        self._peak = self.peak()
        self._before = torch.cuda.memory_allocated(self._device)
        torch.cuda.reset_peak_memory_stats(self._device)

    def peak(self) -> int:
        """The peak of torch's allocator since `reset_peak`, also across measurements."""
        return max(self._peak, torch.cuda.max_memory_allocated(self._device))

    def reset_peak(self) -> None:
        """Starts a new peak, outside of a measurement."""
        self._peak = 0
        torch.cuda.reset_peak_memory_stats(self._device)

    def peak_increase(self) -> int:
        """The peak of torch's allocator since the start, less the memory allocated then."""
        return torch.cuda.max_memory_allocated(self._device) - self._before
