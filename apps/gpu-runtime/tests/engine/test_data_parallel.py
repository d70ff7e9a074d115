"""Two processes of torchrun, over gloo, compute the result of one: FSDP2 for whole models, copies for LoRAs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress
from tests.engine.same_results import assert_same_gradients, assert_same_training, assert_same_weights
from tests.engine.torchrun import run_together

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest


def train(processes: int, directory: Path, script: str = "train_together.py") -> dict[str, Any]:
    directory.mkdir()
    run_together(Path(__file__).with_name(script), directory, processes)
    files = {path.name: path.stat().st_size for path in (directory / "full").glob("after-full.*/*.distcp")}
    return {**torch.load(directory / "results.pt", weights_only=False), "files": files, "directory": directory}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    directory = tmp_path_factory.mktemp("together")
    return train(1, directory / "one"), train(2, directory / "two")


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_processes_do_what_one_does(found: tuple[dict[str, Any], dict[str, Any]], kind: str) -> None:
    one, two = (each[kind] for each in found)
    assert_same_training(one, two)


@pytest.mark.parametrize("kind", ["full", "lora", "full-vision", "lora-vision"])
def test_gradients_are_those_of_one_process(found: tuple[dict[str, Any], dict[str, Any]], kind: str) -> None:
    one, two = (each[f"{kind}-gradients"] for each in found)
    assert_same_gradients(one, two)


def test_each_process_writes_its_shards(found: tuple[dict[str, Any], dict[str, Any]]) -> None:
    one, two = (each["files"] for each in found)
    assert set(one) == {"__0_0.distcp"}
    assert set(two) == {"__0_0.distcp", "__1_0.distcp"}
    for size in two.values():
        assert size == pytest.approx(one["__0_0.distcp"] / 2, rel=0.1)


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_one_process_continues_from_the_checkpoint_of_two(
    found: tuple[dict[str, Any], dict[str, Any]], kind: str
) -> None:
    lora = LoraSettings(rank=4, alpha=8.0) if kind == "lora" else None
    model = an_engine(found[1]["directory"]).create_model(ModelRequest(kind, "tiny", 99, lora, has_value_head=True))
    assert model.load_checkpoint(f"{kind}/after-{kind}").step == 1
    model.forward_backward(a_batch(4), a_loss("cispo"), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.01, weight_decay=0.01))
    served = model.parts.network.causal_lm.state_dict()
    for name, tensor in found[1][f"{kind}-served"].items():
        torch.testing.assert_close(served[name], tensor, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_processes_serve_what_one_serves(found: tuple[dict[str, Any], dict[str, Any]], kind: str) -> None:
    one, two = (each[f"{kind}-served"] for each in found)
    assert_same_weights(one, two)


def test_a_lora_on_a_sharded_base_does_what_one_process_does(
    found: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    one, sharded = found[0], train(2, tmp_path / "sharded", "shard_base_together.py")
    assert sharded["held"] == pytest.approx(0.5, abs=0.05)
    for name in ("lora-gradients", "lora-vision-gradients"):
        assert_same_gradients(one[name], sharded[name])
    assert_same_training(one["lora"], sharded["lora"])
    assert_same_weights({name: one["lora-served"][name] for name in sharded["lora-served"]}, sharded["lora-served"])
    # Written with the base from host memory: no process has all of it.
    exported = [load_file(each["directory"] / "export-lora" / "model.safetensors") for each in (one, sharded)]
    assert_same_weights(*exported)
