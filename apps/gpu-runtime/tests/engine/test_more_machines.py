"""Two launchers of torchrun, as on two machines, and a checkpoint of two processes that four continue from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.engine.torchrun import run_on_nodes, run_together

pytestmark = pytest.mark.long

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of a training on one process, and of one on two nodes with a process each."""
    one, two = (tmp_path_factory.mktemp(name) for name in ("one", "two"))
    run_together(HERE / "train_together.py", one, 1)
    run_on_nodes(HERE / "train_together.py", two, nodes=2)
    return one, two


def results(directory: Path, name: str = "results.pt") -> dict[str, Any]:
    return torch.load(directory / name, weights_only=False)


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_nodes_serve_what_one_process_serves(trained: tuple[Path, Path], kind: str) -> None:
    one, two = (results(directory)[f"{kind}-served"] for directory in trained)
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-3, atol=2e-4)


def test_four_processes_continue_from_the_checkpoint_of_two(trained: tuple[Path, Path]) -> None:
    one, two = trained
    assert len(list((two / "full").glob("after-full.*/*.distcp"))) == 2
    run_together(HERE / "continue_together.py", two, 4)
    continued = results(two, "continued.pt")
    assert continued["ranks"] == 4
    for kind in ("full", "lora"):
        served = results(one)[f"{kind}-served"]
        assert continued[kind].keys() == served.keys()
        for name, tensor in served.items():
            torch.testing.assert_close(continued[kind][name], tensor, rtol=1e-3, atol=2e-4)
