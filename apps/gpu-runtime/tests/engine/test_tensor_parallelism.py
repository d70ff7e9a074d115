"""Processes of torchrun, over gloo, that share the base of a LoRA compute the result of one that has all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress
from tests.engine.torchrun import run_together
from tests.engine.train_together import ADAM
from transformers import GPT2Config, GPT2LMHeadModel

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.models.base_model import BaseModel
from agentlightning_runtime.engine.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.tensor_parallelism import sharding_plan
from agentlightning_runtime.engine.torch_engine import create_engine


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
    assert two["gradients"].keys() == one["gradients"].keys()
    for name, gradient in one["gradients"].items():
        assert (two["gradients"][name] - gradient).norm() <= 1e-4 * gradient.norm()
    assert two["lora"]["norm"] == pytest.approx(one["lora"]["norm"], rel=1e-5)
    assert two["lora"]["loss"] == pytest.approx(one["lora"]["loss"], rel=1e-5)
    assert two["lora"]["tokens"] == one["lora"]["tokens"]
    for name, value in one["lora"]["metrics"].items():
        if name.startswith(("policy/", "value/")):
            assert two["lora"]["metrics"][name] == pytest.approx(value, rel=1e-4, abs=1e-6)
    for scores in ("logprobs-False", "logprobs-True"):
        flat = [np.concatenate(each["lora"][scores]) for each in (one, two)]
        assert flat[1] == pytest.approx(flat[0], abs=2e-4)
    exported = [load_file(each / "export-lora" / "model.safetensors") for each in (directory, shared)]
    for tensors in ((one["served"], two["served"]), exported):
        assert tensors[0].keys() == tensors[1].keys()
        for name, weight in tensors[0].items():
            torch.testing.assert_close(tensors[1][name], weight, rtol=1e-3, atol=2e-4)
    # One process continues from the checkpoint of those that share a base.
    resumed = an_engine(shared).create_model(
        ModelRequest("lora", "tiny", 99, LoraSettings(rank=4, alpha=8.0), has_value_head=True)
    )
    assert resumed.load_checkpoint("lora/after-lora").step == 1
    resumed.forward_backward(a_batch(4), a_loss("cispo"), no_progress)
    resumed.optim_step(ADAM)
    for name, weight in resumed.parts.network.causal_lm.named_parameters():
        torch.testing.assert_close(two["served"][name], weight.detach(), rtol=1e-3, atol=2e-4)


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
