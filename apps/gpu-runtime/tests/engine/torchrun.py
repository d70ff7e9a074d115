"""Runs a test script in one process, or in several started by torchrun."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_together(script: Path, directory: Path, processes: int) -> None:
    """The script receives the directory and writes its results there."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [sys.executable, *(launcher if processes > 1 else []), str(script), str(directory)]
    subprocess.run(command, env=_environment(), check=True, timeout=900)


def launch_together(script: Path, arguments: list[str], *, processes: int) -> subprocess.Popen[str]:
    """Starts the script in several processes, without waiting for it; its standard error is read by the caller."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    return subprocess.Popen(
        [sys.executable, *launcher, str(script), *arguments],
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_on_nodes(script: Path, directory: Path, nodes: int) -> None:
    """The same with a launcher for each node, as on several machines; each starts one process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    launcher = ["-m", "torch.distributed.run", f"--nnodes={nodes}", "--nproc-per-node=1"]
    launcher += ["--master-addr=127.0.0.1", f"--master-port={port}"]
    launched = [
        subprocess.Popen(
            [sys.executable, *launcher, f"--node-rank={node}", str(script), str(directory)], env=_environment()
        )
        for node in range(nodes)
    ]
    try:
        assert [each.wait(900) for each in launched] == [0] * nodes
    finally:
        for each in launched:
            each.kill()


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
