"""Two processes of torchrun, over gloo, compute the result of one: quantised moments of shards, and quantised bases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.engine.quantise_together import KINDS
from tests.engine.test_quantization import make, save_wide_model, train
from tests.engine.torchrun import run_together

pytest.importorskip("bitsandbytes")


def results(processes: int, directory: Path) -> dict[str, Any]:
    directory.mkdir(parents=True)
    run_together(Path(__file__).with_name("quantise_together.py"), directory, processes)
    return torch.load(directory / "results.pt")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_processes_do_what_one_does(tmp_path: Path, kind: str) -> None:
    source = save_wide_model(tmp_path / "base")
    one = results(1, tmp_path / "1" / kind)
    two = results(2, tmp_path / "2" / kind)
    for found, wanted in zip(two["scores"], one["scores"], strict=True):
        assert found == pytest.approx(wanted, abs=2e-3)
    assert one["served"].keys() == two["served"].keys()
    # One process continues from the checkpoint of two, and the shards have the blocks of the whole weights.
    resumed = make(
        tmp_path / "2" / kind,
        source,
        lora=KINDS[kind],
        load_in_4bit=kind == "lora",
        optimizer="adamw-8bit",
        seed=99,
    )
    resumed.load_checkpoint("m/two")
    train(resumed, 2)
    continued = dict(resumed.parts.network.causal_lm.named_parameters())
    for weights in (one["served"], continued):
        for name, wanted in two["served"].items():
            difference = (weights[name].float() - wanted.float()).norm()
            assert difference <= 1e-3 * wanted.float().norm(), name
