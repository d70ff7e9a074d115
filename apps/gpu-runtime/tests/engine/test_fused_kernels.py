"""Fused kernels change the model on a GPU, and nothing else of the process."""

from __future__ import annotations

import copy
import sys
from types import MethodType, ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, Qwen3Config
from transformers.models.qwen3 import modeling_qwen3

from agentlightning_runtime.engine.models import fused_kernels
from agentlightning_runtime.engine.models.fused_kernels import fuse_kernels
from agentlightning_runtime.inference.sampling.served_weights import snapshot_weights

_GPU = torch.device("cuda")


def a_model() -> Any:
    config = Qwen3Config(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
    )
    return AutoModelForCausalLM.from_config(config).eval()


def _fused_forward(_module: Any, states: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(states)


def _fused_rotary(*_states: Any) -> str:
    return "fused"


_fused_forward.__module__ = "liger_kernel.transformers.rms_norm"


@pytest.fixture
def liger(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, bool]]:
    """Liger's patch of Qwen3 as its release 0.8 does it; the list has the options of each call."""
    calls: list[dict[str, bool]] = []

    def apply(*, cross_entropy: bool = True, rope: bool = True, model: Any = None) -> None:
        calls.append({"cross_entropy": cross_entropy, "rope": rope})
        modeling_qwen3.apply_rotary_pos_emb = _fused_rotary
        modeling_qwen3.Qwen3RMSNorm = SimpleNamespace
        norm = model.model.norm
        norm.forward = MethodType(_fused_forward, norm)

    for name in ("apply_rotary_pos_emb", "Qwen3RMSNorm"):
        monkeypatch.setattr(modeling_qwen3, name, getattr(modeling_qwen3, name))
    patches: Any = ModuleType("liger_kernel.transformers.monkey_patch")
    patches.MODEL_TYPE_TO_APPLY_LIGER_FN = {"qwen3": apply}
    monkeypatch.setitem(sys.modules, "liger_kernel.transformers.monkey_patch", patches)
    monkeypatch.setattr(fused_kernels, "has_fused_kernels", lambda: True)
    return calls


def test_the_model_and_its_copies_are_fused_without_a_loss(liger: list[dict[str, bool]]) -> None:
    model = a_model()
    assert fuse_kernels(model, _GPU)
    assert liger == [{"cross_entropy": False, "rope": True}]
    tokens = torch.arange(5)[None]
    assert torch.all(copy.deepcopy(model)(tokens).logits == 0)


def test_a_served_copy_is_not_fused(liger: list[dict[str, bool]]) -> None:
    model, tokens = a_model(), torch.arange(5)[None]
    expected = model(tokens).logits
    fuse_kernels(model, _GPU)
    served = snapshot_weights(model, 0)
    assert len(liger) == 1
    assert torch.all(model(tokens).logits == 0)
    torch.testing.assert_close(served.module(tokens).logits, expected)


def test_other_models_of_the_process_stay_as_they_are(liger: list[dict[str, bool]]) -> None:
    norm, tokens = modeling_qwen3.Qwen3RMSNorm, torch.arange(5)[None]
    other = a_model()
    expected = other(tokens).logits
    for _ in range(2):
        fuse_kernels(a_model(), _GPU)
    assert len(liger) == 2
    assert norm is modeling_qwen3.Qwen3RMSNorm
    assert torch.equal(other(tokens).logits, expected)
    on_gpu: Any = SimpleNamespace(is_cuda=True)
    assert modeling_qwen3.apply_rotary_pos_emb(on_gpu, on_gpu, on_gpu, on_gpu) == "fused"  # pyright: ignore[reportArgumentType]
    with torch.inference_mode(), pytest.raises(AttributeError, match="unsqueeze"):
        modeling_qwen3.apply_rotary_pos_emb(on_gpu, on_gpu, on_gpu, on_gpu)


def test_on_a_cpu_without_liger_and_for_unknown_models_nothing_changes(
    liger: list[dict[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = a_model()
    assert not fuse_kernels(model, torch.device("cpu"))
    model.config.model_type = "of-the-future"
    assert not fuse_kernels(model, _GPU)
    monkeypatch.setattr(fused_kernels, "has_fused_kernels", lambda: False)
    assert not fuse_kernels(a_model(), _GPU)
    assert liger == []
