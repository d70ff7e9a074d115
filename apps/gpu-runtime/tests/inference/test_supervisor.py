"""The process that starts vLLM ends it with itself, whichever way it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentlightning_runtime.inference.experimental.vllm import supervisor

if TYPE_CHECKING:
    from pathlib import Path

# Its file is locked as long as one of its processes runs.
COMMAND = """
import fcntl, subprocess, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
worker = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[file.fileno()])
print("started", flush=True)
worker.wait()
"""

WAIT = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX)"


def started(lock: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, supervisor.__file__, sys.executable, "-c", COMMAND, str(lock)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    return process


def wait_for_end(lock: Path) -> None:
    subprocess.run([sys.executable, "-c", WAIT, str(lock)], check=True, timeout=30)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_supervisor_ends_the_command(tmp_path: Path, number: signal.Signals) -> None:
    lock = tmp_path / "lock"
    process = started(lock)
    process.send_signal(number)
    wait_for_end(lock)
    process.wait(30)


def test_the_end_of_the_input_ends_the_command(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    process = started(lock)
    assert process.stdin is not None
    process.stdin.close()
    wait_for_end(lock)
    assert process.wait(30) != 0
