"""A training runtime in a separate process, as users start it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

SOURCES = Path(__file__).resolve().parents[2] / "src"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How the runtime is started.

    Attributes:
        model: `NAME=SOURCE`, as in `agentlightning-runtime serve --model`.
        checkpoints: Folder of the checkpoints.
        device: `auto`, `cpu` or `cuda:0`.
        arguments: Further arguments of `serve`.
    """

    model: str
    checkpoints: Path
    device: str
    arguments: tuple[str, ...] = ()


class RuntimeProcess:
    """A running `agentlightning-runtime serve`; ends with the block.

    Raises:
        RuntimeError: When it ends before it serves, with the end of its log.
    """

    def __init__(self, settings: ServeSettings) -> None:
        path = os.pathsep.join(filter(None, (str(SOURCES), os.environ.get("PYTHONPATH"))))
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in `kill`
        self._process = subprocess.Popen(  # noqa: S603 - the arguments are ours
            [
                *(sys.executable, "-m", "agentlightning_runtime", "serve", "--until-stdin-ends"),
                *("--model", settings.model, "--checkpoints", str(settings.checkpoints)),
                *("--device", settings.device, "--port", "0", "--inference-port", "0", *settings.arguments),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self._process.wait()
            self._log.seek(0)
            end = self._log.read()[-2000:]
            self.kill()
            raise RuntimeError(f"The runtime ended before it served: exit code {self._process.returncode}\n{end}")
        self.address = str(json.loads(line)["address"])

    def kill(self) -> None:
        """Ends the process without a chance to clean up, and waits until it has ended."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin and self._process.poll() is None:
            self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
        self.kill()
