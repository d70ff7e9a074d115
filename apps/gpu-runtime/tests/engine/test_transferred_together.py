"""The weights of a sharded model go into the sampler while they are gathered."""

from __future__ import annotations

import json
from pathlib import Path

from tests.engine.torchrun import run_together


def test_ranks_gather_what_the_sampler_receives_and_stay_in_step(tmp_path: Path) -> None:
    run_together(Path(__file__).with_name("transfer_together.py"), tmp_path, 2)
    found = json.loads((tmp_path / "found.json").read_text())
    assert max(found["gaps"]) < 1e-4
    assert "lost after a tensor" in found["failure"]
    # At creation and twice more, to both servers; the failed one ended on the first server only.
    assert found["updates"] == [3, 3]
    assert found["tensors"] == 2 * 20
    assert found["most_alive"] <= 2
