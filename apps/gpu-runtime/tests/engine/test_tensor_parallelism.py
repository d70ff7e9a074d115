"""Processes of torchrun, over gloo, that share the base of a LoRA compute the result of one that has all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress
from tests.engine.same_results import assert_same_gradients, assert_same_training, assert_same_weights
from tests.engine.torchrun import run_together
from tests.engine.train_together import ADAM
from transformers import GPT2Config, GPT2LMHeadModel

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.create_engine import create_engine
from agentlightning_runtime.engine.experimental.tensor_parallelism import sharding_plan
from agentlightning_runtime.engine.models.base_model import BaseModel


def results(processes: int, directory: Path) -> dict[str, Any]:
    directory.mkdir(parents=True)
    run_together(Path(__file__).with_name("share_base_together.py"), directory, processes)
    return torch.load(directory / "results.pt", weights_only=False)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    directory = tmp_path_factory.mktemp("alone") / "1"
    return results(1, directory), directory


@pytest.mark.long
@pytest.mark.parametrize("processes", [2, 4])
def test_processes_share_bases_in_pairs(tmp_path: Path, alone: tuple[dict[str, Any], Path], processes: int) -> None:
    one, directory = alone
    shared = tmp_path / str(processes) / "2"
    two = results(processes, shared)
    assert two["local"] < 0.7 * one["local"]
    for name, weight in one["initial"].items():
        assert torch.equal(two["initial"][name], weight)
    assert_same_gradients(one["gradients"], two["gradients"])
    assert_same_training(one["lora"], two["lora"])
    exported = [load_file(each / "export-lora" / "model.safetensors") for each in (directory, shared)]
    for tensors in ((one["served"], two["served"]), exported):
        assert_same_weights(tensors[0], tensors[1])
    # One process continues from the checkpoint of those that share a base.
    resumed = an_engine(shared).create_model(
        ModelRequest("lora", "tiny", 99, LoraSettings(rank=4, alpha=8.0), has_value_head=True)
    )
    assert resumed.load_checkpoint("lora/after-lora").step == 1
    resumed.forward_backward(a_batch(4), a_loss("cispo"), no_progress)
    resumed.optim_step(ADAM)
    assert_same_weights(dict(resumed.parts.network.causal_lm.named_parameters()), two["served"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [({}, "1 processes cannot be divided into groups of 2"), ({"load_in_4bit": True}, "quantised")],
)
def test_unsupported_settings_are_refused_at_start(tmp_path: Path, flags: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message) as caught:
        create_engine(EngineSettings({"tiny": "random:llama-tiny"}, tmp_path, device="cpu", tensor_parallel=2, **flags))
    assert caught.value.reason == EngineErrorReason.INVALID


@pytest.mark.parametrize(
    ("source", "size", "message"),
    [("random:llama-tiny", 4, "4 heads and 2 key heads cannot be divided by 4"), ("gpt2", 2, "no plan")],
)
def test_models_that_cannot_be_divided_are_refused(tmp_path: Path, source: str, size: int, message: str) -> None:
    if source == "gpt2":
        source = str(tmp_path / "gpt2")
        GPT2LMHeadModel(GPT2Config(vocab_size=260, n_embd=16, n_layer=1, n_head=2)).save_pretrained(source)
    outline = BaseModel("base", source, torch.device("cpu"), torch.float32).outline()
    with pytest.raises(EngineError, match=message) as caught:
        sharding_plan(outline.causal_lm, size)
    assert caught.value.reason == EngineErrorReason.INVALID
