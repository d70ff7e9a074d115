"""What a part of the measurement knows: device, time left, folders, sizes."""

from __future__ import annotations

import contextlib
import math
import signal
import time
import traceback
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from measure.workloads import TINY, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

PEAK_FLOPS = {"A100": 312e12, "H100": 989e12, "H200": 989e12, "B200": 2250e12}
"""Dense bfloat16 operations a second by a part of the device's name (NVIDIA's data sheets)."""


class NotRunError(Exception):
    """The part cannot be run on this machine; the text is the reason."""


class TimeLimitError(BaseException):
    """The time is over. Not an `Exception`, which a compiler or a part would handle."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Generator[None]:
    """Interrupts the block after some seconds. In the main thread; without a limit if they are infinite."""

    def interrupt(_signal: int, _frame: object) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0 if math.isinf(seconds) else max(seconds, 0.1))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes and limits of a measurement.

    Attributes:
        device: `cpu` or a device of CUDA.
        out: Folder of the results.
        folder: Temporary folder.
        deadline: End of the measurement, in seconds of `time.monotonic`.
        is_tiny: Whether shapes and batches have the sizes of `--tiny`.
    """

    device: str
    out: Path
    folder: Path
    deadline: float
    is_tiny: bool

    @property
    def is_cuda(self) -> bool:
        """Whether the device is a GPU of CUDA."""
        return self.device.startswith("cuda")

    @property
    def seconds_left(self) -> float:
        """Time until the deadline."""
        return self.deadline - time.monotonic()

    @property
    def peak_flops(self) -> float | None:
        """Operations a second of the device in bfloat16; None: unknown."""
        name = torch.cuda.get_device_name(self.device) if self.is_cuda else ""
        return next((value for key, value in PEAK_FLOPS.items() if key in name), None)

    def shape(self, shape: Shape) -> Shape:
        """The shape, or the tiny one under its name."""
        return replace(TINY, name=shape.name) if self.is_tiny else shape

    def log(self, title: str) -> None:
        """Appends the traceback of the error that is handled to `log.txt`."""
        with (self.out / "log.txt").open("a", encoding="utf-8") as log:
            log.write(f"== {title}\n{traceback.format_exc()}\n")

    def synchronize(self) -> None:
        """Waits for the device."""
        if self.is_cuda:
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], Any]) -> float:
        """Seconds of some work, with what the device does of it."""
        self.synchronize()
        began = time.perf_counter()
        work()
        self.synchronize()
        return time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the measurement.

    Attributes:
        name: Its name, which `--only` selects by its beginning.
        estimate: Seconds on an H100; with less time left it is skipped.
        measure: Returns what was measured. `is_right: False` in it fails the part.
    """

    name: str
    estimate: float
    measure: Callable[[Plan], dict[str, Any]]
