"""Memory of the device for the metrics stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from agentlightning_runtime.engine.memory.device_memory import CudaMemory


class MemoryGauges:
    """Memory of the device in bytes; of the process on a CPU.

    On a GPU `memory/peak_bytes` is that of torch's allocator since the last optimizer step of any model; on a CPU it is
    that of the process since its start.

    Args:
        device: The device.
        cuda: Its memory; None on a CPU.
    """

    def __init__(self, device: torch.device, cuda: CudaMemory | None) -> None:
        self._device = device
        self._cuda = cuda

    def read(self) -> dict[str, float]:
        """The present values; from any thread."""
        if self._cuda is None:
            return process_memory()
        free, total = torch.cuda.mem_get_info(self._device)
        return {
            "memory/used_bytes": float(total - free),
            "memory/total_bytes": float(total),
            "memory/allocated_bytes": float(torch.cuda.memory_allocated(self._device)),
            "memory/peak_bytes": float(self._cuda.peak()),
        }

    def take(self) -> dict[str, float]:
        """The present values; the peak then starts anew. Called at the end of an optimizer step."""
        values = self.read()
        if self._cuda is not None:
            self._cuda.reset_peak()
        return values


def process_memory() -> dict[str, float]:
    """Resident memory of this process in bytes; empty on kernels that do not report it."""
    names = {"VmRSS": "memory/used_bytes", "VmHWM": "memory/peak_bytes"}
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 -- not a file on a disk
            lines = [line.split() for line in status]
    except OSError:
        return {}
    return {names[line[0][:-1]]: float(line[1]) * 1024 for line in lines if line and line[0][:-1] in names}
