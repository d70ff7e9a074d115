"""After `leave_ranks` a process has no thread that could abort it at exit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.engine.torchrun import run_together


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the names of threads under /proc")
def test_no_thread_of_the_processes_talk_outlives_it(tmp_path: Path) -> None:
    run_together(Path(__file__).with_name("part_from_each_other.py"), tmp_path, processes=2)
    for index in range(2):
        names = (tmp_path / f"threads-of-{index}").read_text().split("\n")
        assert [name for name in names if "gloo" in name] == []
