"""Runs a command until standard input ends: `python supervisor.py COMMAND...`.

The runtime starts vLLM with it. When the runtime is killed, its end of the pipe closes, and vLLM ends with all of its
processes. Otherwise it would keep the GPU's memory, and the next runtime could not start.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

_GRACE_S = 30
"""Time for vLLM to end after SIGTERM."""

_PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that the process receives when its parent ends."""


def main() -> int:
    """Returns the exit code of the command."""
    # A separate process group, for vLLM's own subprocesses.
    process = subprocess.Popen(  # noqa: S603
        sys.argv[1:],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_end_with_parent,  # noqa: PLW1509 -- no other thread has been started
    )
    # torchrun sends it to the group of a rank, with this process.
    signal.signal(signal.SIGTERM, lambda number, _: _signal(process, number))
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    code = process.wait()
    _signal(process, signal.SIGKILL)
    return code


def _end_with_parent() -> None:
    """Also when this program is killed; on Linux, where vLLM runs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _end_with_input(process: subprocess.Popen[bytes]) -> None:
    sys.stdin.buffer.read()
    _signal(process, signal.SIGTERM)
    try:
        process.wait(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """To all processes of the group; those that remain after the leader as well."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


if __name__ == "__main__":
    # Ctrl+C reaches the runtime, which ends the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main())
