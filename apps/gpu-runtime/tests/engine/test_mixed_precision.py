"""In bfloat16, two processes with sharded weights compute the gradient of one process, over gloo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.engine.torchrun import run_together

#: Relative to the norm of the gradient; sums over processes are in float32. One rounding to bfloat16 is 4e-3.
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    one, two = (train(processes, tmp_path_factory.mktemp("bfloat16")) for processes in (1, 2))
    return one, two


def train(processes: int, directory: Path) -> dict[str, Any]:
    run_together(Path(__file__).with_name("bfloat16_together.py"), directory, processes)
    return torch.load(directory / "results.pt", weights_only=False)


@pytest.mark.parametrize("source", ["llama-tiny", "llama-untied", "qwen2-tiny"])
def test_sharding_does_not_change_the_gradient(found: tuple[dict[str, Any], dict[str, Any]], source: str) -> None:
    one, two = (each[source] for each in found)
    assert one["residual"] == two["residual"] == {torch.float32}
    assert two["loss"] == pytest.approx(one["loss"], rel=TOLERANCE)
    assert two["gradients"].keys() == one["gradients"].keys()
    for name, gradient in one["gradients"].items():
        assert gradient.dtype == two["gradients"][name].dtype == torch.float32
        assert (two["gradients"][name] - gradient).norm() <= TOLERANCE * gradient.norm()
