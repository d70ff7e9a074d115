"""Processes of torchrun, over gloo, that share the tokens of micro-batches compute the result of one that has all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress
from tests.engine.same_results import assert_same_gradients, assert_same_training, assert_same_weights
from tests.engine.torchrun import run_together
from tests.engine.train_together import ADAM
from transformers import AutoModelForCausalLM, LlamaConfig, MambaConfig, PreTrainedConfig

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.create_engine import create_engine
from agentlightning_runtime.engine.experimental.sequence_parallelism import require_divisible
from agentlightning_runtime.engine.models.packed_attention import is_packable


def results(processes: int, directory: Path) -> dict[str, Any]:
    directory.mkdir(parents=True)
    run_together(Path(__file__).with_name("share_sequences_together.py"), directory, processes)
    return {**torch.load(directory / "results.pt", weights_only=False), "directory": directory}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return results(1, tmp_path_factory.mktemp("alone") / "1")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return results(2, tmp_path_factory.mktemp("pair") / "2")


def assert_same(one: dict[str, Any], shared: dict[str, Any], kind: str) -> None:
    for batch in ("lengths", "prefixes", "end"):
        assert_same_gradients(one[f"{kind}-{batch}"], shared[f"{kind}-{batch}"])
    assert_same_training(one[kind], shared[kind])
    assert_same_weights(one[f"{kind}-served"], shared[f"{kind}-served"])


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_processes_share_sequences(alone: dict[str, Any], pair: dict[str, Any], kind: str) -> None:
    assert_same(alone, pair, kind)


@pytest.mark.long
@pytest.mark.parametrize(("memory", "size"), [("plain", 2), ("checkpointing", 4)])
def test_four_processes_share_sequences(tmp_path: Path, alone: dict[str, Any], memory: str, size: int) -> None:
    # In groups of 4 each of the 2 key heads is on two processes.
    shared = results(4, tmp_path / memory / str(size))
    for kind in ("full", "lora"):
        assert_same(alone, shared, kind)


def test_activations_are_divided(alone: dict[str, Any], pair: dict[str, Any]) -> None:
    assert pair["saved"] < 0.55 * alone["saved"]


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_memory_that_runs_out_on_one_makes_all_repeat_the_batch(pair: dict[str, Any], kind: str) -> None:
    for place in ("model.layers.0.mlp.act_fn", "model.norm", "model.layers.0.mlp"):
        assert_same_gradients(pair[f"{kind}-lengths"], pair[f"{kind}-{place}"])


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_one_process_continues_from_the_checkpoint_of_two(pair: dict[str, Any], kind: str) -> None:
    lora = LoraSettings(rank=4, alpha=8.0) if kind == "lora" else None
    model = an_engine(pair["directory"]).create_model(ModelRequest(kind, "tiny", 99, lora, has_value_head=True))
    assert model.load_checkpoint(f"{kind}/after-{kind}").step == 1
    model.forward_backward(a_batch(4), a_loss("cispo"), no_progress)
    model.optim_step(ADAM)
    assert_same_weights(dict(model.parts.network.causal_lm.named_parameters()), pair[f"{kind}-served"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "1 processes cannot be divided into groups of 2 for sequence"),
        ({"tensor_parallel": 2}, "Tensor parallelism of 2 and sequence parallelism of 2 cannot be combined"),
        ({"packing": False}, "packing is disabled"),
    ],
)
def test_unsupported_settings_are_refused_at_start(tmp_path: Path, flags: dict[str, Any], message: str) -> None:
    settings = EngineSettings({"tiny": "random:llama-tiny"}, tmp_path, device="cpu", sequence_parallel=2, **flags)
    with pytest.raises(EngineError, match=message) as caught:
        create_engine(settings)
    assert caught.value.reason == EngineErrorReason.INVALID


SHAPE: dict[str, Any] = {"vocab_size": 260, "hidden_size": 32, "num_hidden_layers": 1}
DYNAMIC: dict[str, Any] = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}


@pytest.mark.parametrize(
    ("config", "size", "message"),
    [
        (LlamaConfig(**SHAPE, num_attention_heads=4), 3, "4 heads of LlamaForCausalLM cannot be divided by 3"),
        (LlamaConfig(**SHAPE, num_attention_heads=4, rope_parameters=DYNAMIC), 2, "dynamic"),
        (MambaConfig(**SHAPE), 2, "MambaForCausalLM cannot be packed"),
    ],
)
def test_models_that_cannot_be_shared_are_refused(config: PreTrainedConfig, size: int, message: str) -> None:
    causal_lm = AutoModelForCausalLM.from_config(config)
    with pytest.raises(EngineError, match=message) as caught:
        require_divisible(causal_lm, size, can_pack=is_packable(causal_lm))
    assert caught.value.reason == EngineErrorReason.INVALID
