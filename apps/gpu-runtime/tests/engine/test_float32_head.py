"""Logits are computed in float32 where everything before them is in bfloat16, by trainer and sampler."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from agentlightning_runtime.engine.loading.loaded_model import output_head
from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.engine.loss.float32_head import Float32Head, float32_logits
from agentlightning_runtime.inference.sampling.served_weights import snapshot_weights

_IDS = torch.arange(40).reshape(2, 20)


@pytest.mark.parametrize("has_bias", [True, False])
def test_short_weights_are_multiplied_without_rounding_the_product(*, has_bias: bool) -> None:
    torch.manual_seed(1)
    head = nn.Linear(32, 50, bias=has_bias, dtype=torch.bfloat16)
    hidden = torch.randn(7, 32, dtype=torch.bfloat16, requires_grad=True)
    exact = nn.Linear(32, 50, bias=has_bias, dtype=torch.float64)
    exact.load_state_dict(head.state_dict())
    expected = exact(hidden.detach().double())
    found = float32_logits(head, hidden)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-6)
    assert float((head(hidden).detach().double() - expected).abs().max()) > 1e-4
    found.sum().backward()
    assert hidden.grad is not None
    assert head.weight.grad is not None
    assert head.weight.grad.dtype == torch.bfloat16


def test_what_is_in_float32_or_better_stays_as_it_is() -> None:
    head = nn.Linear(8, 5, dtype=torch.float64)
    hidden = torch.randn(3, 8, dtype=torch.float64)
    assert torch.equal(float32_logits(head, hidden), head(hidden))


@pytest.mark.parametrize("source", ["random:llama-tiny", "random:llama-untied", "random:qwen2-tiny"])
@pytest.mark.parametrize("autocasts", [True, False])
def test_the_sampler_reads_float32_logits_of_a_model_in_bfloat16(source: str, *, autocasts: bool) -> None:
    model = load_random_model(source).causal_lm.eval()
    compute_dtype = torch.bfloat16 if autocasts else None
    if not autocasts:
        nn.Module.to(model, torch.bfloat16)
    served = snapshot_weights(model, 1, compute_dtype)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=autocasts):
        assert model(_IDS).logits.dtype == torch.bfloat16
        logits = served.module(_IDS).logits
        states = model.get_decoder()(_IDS).last_hidden_state
    assert logits.dtype == torch.float32
    expected = states.float() @ output_head(model).weight.float().T
    torch.testing.assert_close(logits, expected)
    assert isinstance(served.module.get_submodule("lm_head"), Float32Head)
    assert not isinstance(model.get_submodule("lm_head"), Float32Head)
