"""Runs a test script in one process, or in several started by torchrun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_together(script: Path, directory: Path, processes: int) -> None:
    """The script receives the directory and writes its results there."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *(launcher if processes > 1 else []), str(script), str(directory)]
    subprocess.run(command, env=environment, check=True, timeout=900)
