"""The GPU check with tiny models on the CPU."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gpu_smoke import main
from smoke.grpo import group_advantages
from smoke.results import Results

if TYPE_CHECKING:
    from pathlib import Path


def test_a_training_learns_and_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--tiny", "--device", "cpu", "--out", str(tmp_path), "--only", "seed 1"]
    assert main(arguments) == 0
    part = json.loads((tmp_path / "gpu-smoke.json").read_text())["GRPO, seed 1"]
    assert part["status"] == "passed"
    assert part["after"] > part["before"] + 0.25
    assert len(part["curve"]) == 12
    assert "| GRPO, seed 1 | passed |" in (tmp_path / "gpu-smoke.md").read_text()
    capsys.readouterr()
    assert main(arguments) == 0
    assert capsys.readouterr().out == "1 passed or not run here, 0 failed, 0 left\n"


def test_without_time_the_parts_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tiny", "--out", str(tmp_path), "--only", "seed 1", "--minutes", "0"]) == 75
    assert capsys.readouterr().out == "0 passed or not run here, 0 failed, 1 left: repeat the command\n"


def test_invalid_arguments_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--tiny", "--out", str(tmp_path), "--only", "seed 99"])
    assert "no part contains 'seed 99'; parts: machine, doctor" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["--out", str(tmp_path)])


def test_a_runtime_that_cannot_start_is_a_failed_part(tmp_path: Path) -> None:
    model = "missing=/nonexistent/model.gguf"
    assert main(["--model", model, "--device", "cpu", "--out", str(tmp_path), "--only", "resume"]) == 1
    part = Results(tmp_path).parts["resume after a kill"]
    assert part["status"] == "failed"
    assert "/nonexistent/model.gguf" in part["error"]
    assert not Results(tmp_path).is_done("resume after a kill")


def test_advantages_of_a_group() -> None:
    advantages = group_advantages(np.array([0.0, 1.0, 0.5, 0.5]), 2)
    np.testing.assert_allclose(advantages, [-1.0, 1.0, 0.0, 0.0], atol=1e-5)


def test_a_large_model_is_measured_with_and_without_packing(tmp_path: Path) -> None:
    arguments = ["--tiny", "--device", "cpu", "--out", str(tmp_path), "--only"]
    found: list[dict[str, float]] = []
    for part in ("large model", "large model --no-packing"):
        # The name of the first part is also in those of the others.
        assert main([*arguments, f"{part}$"]) == 0
        results = Results(tmp_path).parts[part]
        assert results["status"] == "passed"
        found.append(results["micro-batches of 256"])
    for measured in found:
        assert measured["tokens_per_second"] > 0
        assert measured["memory/peak_bytes"] > 0
        assert measured["time/forward_seconds"] > 0
    assert found[0]["train/computed_tokens_per_second"] == pytest.approx(found[0]["train/tokens_per_second"])
    assert found[1]["train/computed_tokens_per_second"] > found[1]["train/tokens_per_second"]


@pytest.mark.long
def test_every_part(tmp_path: Path) -> None:
    assert main(["--tiny", "--device", "cpu", "--out", str(tmp_path)]) == 0
    statuses = {name: part["status"] for name, part in Results(tmp_path).parts.items()}
    for of_a_gpu in ("vLLM", "tests on the GPU"):
        assert statuses.pop(of_a_gpu) in ("passed", "not run")
    assert set(statuses.values()) == {"passed"}
    assert len(statuses) == 10
