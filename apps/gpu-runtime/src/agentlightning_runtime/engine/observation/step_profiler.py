"""Profiles one optimizer step on request, with `torch.profiler`."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch.profiler import ProfilerActivity, profile, record_function, supported_activities

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

LOG = logging.getLogger(__name__)


class StepProfiler:
    """Records the operations after a request, until an optimizer step ends, and writes them for Perfetto.

    Without a request nothing is recorded. Operations and phases have their names in the trace, beside those of PyTorch
    and the kernels of the device.

    Args:
        rank: The rank of this process, in the names of the files.
    """

    def __init__(self, rank: int = 0) -> None:
        self._rank = rank
        self._requested: Path | None = None
        self._directory: Path | None = None
        self._profile: profile | None = None

    def request(self, directory: Path) -> None:
        """Profiles from the next operation on; from any thread. A request during a profile is ignored.

        Args:
            directory: Folder of the file; created when missing.
        """
        self._requested = directory

    @contextmanager
    def operation(self, name: str, *, ends_step: bool) -> Generator[None]:
        """Surrounds an operation, in the thread of the engine.

        Args:
            name: Its name in the trace.
            ends_step: Whether a running profile ends with it.
        """
        if self._profile is None and self._requested is not None:
            self._directory, self._requested = self._requested, None
            self._profile = profile(activities=supported_activities() & {ProfilerActivity.CPU, ProfilerActivity.CUDA})
            self._profile.start()
        with self.phase(name):
            yield
        if ends_step:
            self._finish()

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Names a part of an operation."""
        if self._profile is None:
            yield
            return
        with record_function(name):
            yield

    def _finish(self) -> None:
        running, directory = self._profile, self._directory
        if running is None or directory is None:
            return
        self._profile = self._requested = None
        running.stop()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file = _new_file(directory, self._rank)
            temporary = file.with_suffix(".partial")
            running.export_chrome_trace(str(temporary))
            temporary.replace(file)
        except OSError as error:
            LOG.warning("No trace was written: %s", error)
        else:
            LOG.info("Trace written to %s", file)


def _new_file(directory: Path, rank: int) -> Path:
    stem = f"{time.strftime('trace-%Y%m%dT%H%M%SZ', time.gmtime())}-rank{rank}"
    file, number = directory / f"{stem}.json", 2
    while file.exists():
        file, number = directory / f"{stem}-{number}.json", number + 1
    return file
