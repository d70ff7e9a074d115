"""The estimated floating-point operations of a pass match torch's count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.engine.a_batch import a_datum, a_loss, an_engine, no_progress
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM, Qwen3Config, Qwen3MoeConfig

from agentlightning_runtime.contract.batch import Batch
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.engine.micro_batch import examples_of
from agentlightning_runtime.engine.observation.throughput import ModelCost, peak_flops_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("lora", [None, LoraSettings(rank=1, alpha=1.0)])
def test_estimate_is_what_torch_counts(tmp_path: Path, lora: LoraSettings | None) -> None:
    model = an_engine(tmp_path).create_model(ModelRequest("m", "tiny", 1, lora))
    # The counter does not support the CPU's attention kernel, but plain products.
    model.parts.network.causal_lm.set_attn_implementation("eager")
    batch = Batch([a_datum(200, [(150, 200)])])
    cost = ModelCost.of(model.parts.network.causal_lm, trains_all=lora is None)
    with FlopCounterMode(display=False) as forward:
        model.forward(batch, use_reference=False, progress=no_progress)
    examples = examples_of(batch, only_weighted=True)
    # Plain products compute the masked half too, which is not useful work.
    masked = 4 * cost.attention * 199 * 198 / 2
    # The products of LoRA are omitted; they are small.
    useful = forward.get_total_flops() - masked
    assert useful == pytest.approx(cost.flops(examples, is_backward=False), rel=0.05)
    with FlopCounterMode(display=False) as both:
        model.forward_backward(batch, a_loss(), no_progress)
    # Recomputing logits to save memory is not useful work: it does not count.
    again = 2 * cost.head * 50
    assert both.get_total_flops() - again - 3 * masked == pytest.approx(cost.flops(examples, is_backward=True), rel=0.1)


def test_attention_is_counted_with_the_dimension_of_its_heads() -> None:
    shape: dict[str, Any] = {"vocab_size": 260, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128}
    causal_lm = AutoModelForCausalLM.from_config(Qwen3Config(**shape), attn_implementation="eager")
    cost = ModelCost.of(causal_lm, trains_all=True)
    length = 300
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        causal_lm(torch.zeros((1, length), dtype=torch.int64))
    estimate = 2 * length * (cost.body + cost.head) + 4 * cost.attention * length * length
    assert counter.get_total_flops() == pytest.approx(estimate, rel=0.01)


def test_of_the_experts_those_that_a_token_is_routed_to_are_counted() -> None:
    shape: dict[str, Any] = {"vocab_size": 260, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "moe_intermediate_size": 48}
    config = Qwen3MoeConfig(**shape, num_experts=8, num_experts_per_tok=2, decoder_sparse_step=1)
    causal_lm = AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager")
    cost = ModelCost.of(causal_lm, trains_all=True)
    length = 200
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        causal_lm(torch.arange(length)[None])
    estimate = 2 * length * (cost.body + cost.head) + 4 * cost.attention * length * length
    assert counter.get_total_flops() == pytest.approx(estimate, rel=0.01)


@pytest.mark.parametrize(
    ("name", "teraflops"),
    [
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA H200", 989),
        ("NVIDIA H20", 148),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA A10G", 70),
        ("NVIDIA A10", 125),
        ("NVIDIA L40", 181),
        ("NVIDIA L4", 121),
        ("Tesla V100-SXM2-16GB", 125),
        ("NVIDIA GeForce RTX 4090", 165),
    ],
)
def test_devices_are_known_by_their_names(name: str, teraflops: float) -> None:
    assert peak_flops_of(name) == teraflops * 1e12


def test_an_unknown_device_has_no_peak() -> None:
    assert peak_flops_of("NVIDIA T400") is None


def test_a_pass_reports_its_speed(tmp_path: Path) -> None:
    model = an_engine(tmp_path).create_model(ModelRequest("m", "tiny", 1))
    model.parts.settings.peak_flops = 1e12
    metrics = model.forward_backward(Batch([a_datum(50, [(40, 50)])]), a_loss(), no_progress).metrics
    assert metrics["train/tokens_per_second"] > 0
    assert 0 < metrics["train/mfu"] < 1
