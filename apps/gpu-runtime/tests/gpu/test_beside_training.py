"""What runs beside training on a GPU: copies of checkpoints and of gradients, and decoding."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.gpu.test_on_a_gpu import LORA, a_model

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.inference.sampling.generation import GenerationRequest
from agentlightning_runtime.inference.sampling.model_shape import shape_of
from agentlightning_runtime.inference.sampling.sampler import Sampler
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule
from agentlightning_runtime.inference.sampling.served_weights import snapshot_weights

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.contract.settings import LoraSettings

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]

ADAM = AdamParameters(learning_rate=0.01)


@pytest.mark.parametrize("lora", [None, LORA])
def test_a_checkpoint_is_that_of_the_step_before_in_pinned_memory(tmp_path: Path, lora: LoraSettings | None) -> None:
    model = a_model(tmp_path, "cuda", lora)
    addresses: list[list[int]] = []
    for step in (1, 2):
        model.forward_backward(a_batch(step), a_loss(), no_progress)
        model.optim_step(ADAM)
        before = {name: weight.detach().clone() for name, weight in model.weights.items()}
        saving = model.save_checkpoint("c", b"")
        copy = model.parts.checkpoints._copy
        assert copy is not None
        model.forward_backward(a_batch(7), a_loss(), no_progress)
        model.optim_step(ADAM)
        saving.result(60)
        weights = [tensor for name, tensor in copy.result().items() if name.startswith("weights/")]
        assert all(tensor.is_pinned() for tensor in weights)
        addresses.append([tensor.data_ptr() for tensor in weights])
        model.load_checkpoint("m/c")
        assert all(torch.equal(weight, before[name]) for name, weight in model.weights.items())
    assert addresses[0] == addresses[1]


@pytest.mark.parametrize("uses_host", [False, True])
def test_gradients_of_earlier_batches_are_restored_bit_for_bit(tmp_path: Path, uses_host: bool) -> None:
    model = a_model(tmp_path, "cuda")
    accumulator = model._passes._accumulator
    accumulator._uses_host = uses_host
    model.forward_backward(a_batch(1), a_loss(), no_progress)
    before = {name: each.grad.clone() for name, each in model.weights.items() if each.grad is not None}
    with accumulator.batch() as restore:
        for weight in model.weights.values():
            if weight.grad is not None:
                weight.grad.add_(1)
        assert restore() != uses_host
    for name, gradient in before.items():
        found = model.weights[name].grad
        assert found is not None
        assert torch.equal(found, gradient)
    assert accumulator._on_host
    assert all(tensor.is_pinned() for tensor in accumulator._on_host)


def test_tokens_do_not_wait_for_the_kernels_of_training() -> None:
    module = load_random_model("random:llama-tiny").causal_lm
    module = torch.nn.Module.to(module, device="cuda")
    sampler = Sampler()
    request = GenerationRequest((1, 2, 3), 16, SamplingRule(), 1, frozenset())
    try:
        sampler.add_model("m", shape_of(module), snapshot_weights(module, 0))
        (first,) = sampler.submit("m", [request])
        assert first.wait(60)
        # Some seconds of work in the stream of training.
        torch.cuda._sleep(10_000_000_000)
        trained = torch.cuda.Event()
        trained.record()
        (second,) = sampler.submit("m", [request])
        assert second.wait(60)
        assert not trained.query()
        assert second.error is None
        assert second.tokens == first.tokens
    finally:
        sampler.close()
