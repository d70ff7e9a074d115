"""Memory that runs out on one of two ranks with sharded weights, over gloo: the launcher ends with a message."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.engine.torchrun import launch_together

#: Two imports of torch on a busy machine, a batch, and 30 seconds in which torchrun waits for a rank to end.
BOUND_S = 150


@pytest.mark.parametrize(
    ("rank", "place", "remedy"),
    [
        (1, "forward", "start with --micro-batch-tokens"),
        (0, "backward", "send shorter sequences"),
        (1, "optimizer", "Unload other models, or train a LoRA"),
    ],
)
def test_a_rank_that_runs_out_of_memory_ends_all(tmp_path: Path, rank: int, place: str, remedy: str) -> None:
    launched = launch_together(
        Path(__file__).with_name("exhaust_together.py"), [str(tmp_path), str(rank), place], processes=2
    )
    try:
        _, log = launched.communicate(timeout=BOUND_S)
    finally:
        launched.kill()
    assert launched.returncode != 0
    assert not (tmp_path / "went-on").exists()
    # Rank 0 returns the error before it ends, also when it waits for the exhausted rank.
    error = (tmp_path / "error").read_text()
    assert error.startswith("OUT_OF_MEMORY: Memory ran out on cpu")
    assert remedy in error
    assert "OUT_OF_MEMORY: Memory ran out on cpu" in log
    assert f"Rank {rank} of 2 ends" in log
    assert remedy in log
    assert not any(is_running(int(file.read_text())) for file in tmp_path.glob("rank-*.pid"))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
