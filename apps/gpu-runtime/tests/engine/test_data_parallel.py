"""Two processes of torchrun, over gloo, compute the result of one: FSDP2 for whole models, copies for LoRAs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.engine.torchrun import run_together


def train(processes: int, directory: Path) -> dict[str, Any]:
    directory.mkdir()
    run_together(Path(__file__).with_name("train_together.py"), directory, processes)
    return torch.load(directory / "results.pt", weights_only=False)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    directory = tmp_path_factory.mktemp("together")
    return train(1, directory / "one"), train(2, directory / "two")


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_processes_do_what_one_does(found: tuple[dict[str, Any], dict[str, Any]], kind: str) -> None:
    one, two = (each[kind] for each in found)
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-5)
    assert two["norm"] == pytest.approx(one["norm"], rel=1e-5)
    assert two["tokens"] == one["tokens"]
    for name, value in one["metrics"].items():
        if name.startswith(("policy/", "value/")):
            assert two["metrics"][name] == pytest.approx(value, rel=1e-4, abs=1e-6)
    assert two["refused"] == one["refused"] == "PRECONDITION"
    assert two["state"] == one["state"]
    for scores in ("logprobs-False", "logprobs-True"):
        flat = [np.concatenate(each[scores]) for each in (one, two)]
        assert flat[1] == pytest.approx(flat[0], abs=2e-4)


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_gradients_are_those_of_one_process(found: tuple[dict[str, Any], dict[str, Any]], kind: str) -> None:
    one, two = (each[f"{kind}-gradients"] for each in found)
    assert one.keys() == two.keys()
    for name, gradient in one.items():
        assert (two[name] - gradient).norm() <= 1e-4 * gradient.norm()


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_processes_serve_what_one_serves(found: tuple[dict[str, Any], dict[str, Any]], kind: str) -> None:
    one, two = (each[f"{kind}-served"] for each in found)
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-3, atol=2e-4)
