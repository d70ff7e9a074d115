"""Memory exhaustion: smaller micro-batches, or an error with numbers. A module hook simulates the failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.engine.a_batch import a_batch, a_datum, a_loss, an_engine, no_progress
from torch.optim.optimizer import register_optimizer_step_pre_hook

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import ModelRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel


def no_memory_of_cuda() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def no_memory_of_the_cpu() -> None:
    torch.empty(2**52)


def fail_in_step(_optimizer: Any, _arguments: Any, _keywords: Any) -> None:
    no_memory_of_the_cpu()


def model_with_memory_for(
    tokens: int, fail: Callable[[], None], directory: Path, *, in_backward: bool = False
) -> TorchModel:
    model = an_engine(directory, micro_batch_tokens=1000).create_model(ModelRequest("m", "tiny", 3))
    # In the backward pass the first layer is late: the weights after it already have gradients of the failed attempt.
    layer = model.parts.network.causal_lm.get_submodule("model.layers.0.mlp" if in_backward else "model.norm")

    def check(_module: Any, inputs: Any, *_others: Any) -> None:
        if inputs[0] is not None and inputs[0].shape[:2].numel() > tokens:
            fail()

    if in_backward:
        layer.register_full_backward_hook(check)
    else:
        layer.register_forward_hook(check)
    return model


def accumulated(model: TorchModel, batches: list[Batch]) -> tuple[list[float], dict[str, torch.Tensor]]:
    """The losses of the batches, and the sum of their gradients."""
    losses = [model.forward_backward(batch, a_loss(), no_progress).loss for batch in batches]
    return losses, {name: weight.grad.clone() for name, weight in model.weights.items() if weight.grad is not None}


@pytest.mark.parametrize("fail", [no_memory_of_cuda, no_memory_of_the_cpu])
@pytest.mark.parametrize("in_backward", [False, True])
@pytest.mark.parametrize("earlier_batches", [0, 1])
def test_batch_that_does_not_fit_is_repeated_with_smaller_micro_batches(
    tmp_path: Path, fail: Callable[[], None], in_backward: bool, earlier_batches: int
) -> None:
    batches = [*[Batch([a_datum(50, [(40, 50)])])] * earlier_batches, a_batch()]
    losses, gradients = accumulated(model_with_memory_for(150, fail, tmp_path, in_backward=in_backward), batches)
    expected_losses, expected = accumulated(model_with_memory_for(10_000, fail, tmp_path), batches)
    assert losses == pytest.approx(expected_losses, rel=1e-6)
    assert gradients.keys() == expected.keys()
    difference = torch.cat([(gradient - expected[name]).flatten() for name, gradient in gradients.items()])
    assert difference.norm() <= 1e-6 * torch.cat([each.flatten() for each in expected.values()]).norm()
    # Nothing of the failed attempts is left: the gradients are bitwise those of a model that starts with this size.
    _, same_size = accumulated(
        an_engine(tmp_path, micro_batch_tokens=101).create_model(ModelRequest("s", "tiny", 3)), batches
    )
    assert all(torch.equal(gradient, same_size[name]) for name, gradient in gradients.items())


def test_later_batches_keep_the_smaller_micro_batches(tmp_path: Path) -> None:
    model = model_with_memory_for(150, no_memory_of_the_cpu, tmp_path)
    metrics = [model.forward_backward(a_batch(), a_loss(), no_progress).metrics for _ in range(2)]
    # A row of 202 tokens does not fit, half of it does.
    assert [each["train/micro_batch_tokens"] for each in metrics] == [101.0, 101.0]
    assert [each["train/micro_batch_retries"] for each in metrics] == [1.0, 0.0]


def test_one_sequence_that_never_fits_is_an_error_with_numbers(tmp_path: Path) -> None:
    model = model_with_memory_for(100, no_memory_of_the_cpu, tmp_path)
    model.forward_backward(Batch([a_datum(50, [(40, 50)])]), a_loss(), no_progress)
    with pytest.raises(EngineError, match="shorter sequences") as caught:
        model.forward_backward(Batch([a_datum(200, [(150, 200)])]), a_loss(), no_progress)
    error = caught.value
    assert error.reason == EngineErrorReason.OUT_OF_MEMORY
    assert error.gradients_discarded
    assert (error.num_tokens, error.max_tokens_seen_ok) == (199, 49)
    assert not any(weight.grad is not None for weight in model.weights.values())
    assert not model.state().is_corrupted
    model.forward_backward(Batch([a_datum(50, [(40, 50)])]), a_loss(), no_progress)


def test_forward_pass_is_repeated_and_keeps_the_gradients(tmp_path: Path) -> None:
    model = model_with_memory_for(150, no_memory_of_the_cpu, tmp_path)
    _, before = accumulated(model, [Batch([a_datum(50, [(40, 50)])])])
    found = model.forward(a_batch(), use_reference=False, progress=no_progress)
    assert found.metrics["train/micro_batch_retries"] == 1
    expected = model_with_memory_for(10_000, no_memory_of_the_cpu, tmp_path).forward(
        a_batch(), use_reference=False, progress=no_progress
    )
    for logprobs, of_whole in zip(found.logprobs, expected.logprobs, strict=True):
        assert logprobs == pytest.approx(of_whole, abs=1e-5)
    assert all(
        torch.equal(weight.grad, before[name]) for name, weight in model.weights.items() if weight.grad is not None
    )


def test_forward_pass_that_fails_keeps_the_gradients(tmp_path: Path) -> None:
    model = model_with_memory_for(100, no_memory_of_the_cpu, tmp_path)
    model.forward_backward(Batch([a_datum(50, [(40, 50)])]), a_loss(), no_progress)
    with pytest.raises(EngineError) as caught:
        model.forward(Batch([a_datum(200, [(150, 200)])]), use_reference=False, progress=no_progress)
    assert not caught.value.gradients_discarded
    assert not model.optim_step(AdamParameters(learning_rate=0.01)).is_skipped


def test_moments_that_find_no_room_cost_the_gradients_and_nothing_else(tmp_path: Path) -> None:
    model = an_engine(tmp_path).create_model(ModelRequest("m", "tiny", 3))
    before = {name: weight.detach().clone() for name, weight in model.weights.items()}
    model.forward_backward(a_batch(), a_loss(), no_progress)
    handle = register_optimizer_step_pre_hook(fail_in_step)
    try:
        with pytest.raises(EngineError, match="Adam's moments") as caught:
            model.optim_step(AdamParameters(learning_rate=0.01))
    finally:
        handle.remove()
    assert caught.value.reason == EngineErrorReason.OUT_OF_MEMORY
    assert not model.state().is_corrupted
    assert all(torch.equal(weight, before[name]) for name, weight in model.weights.items())
    model.forward_backward(a_batch(), a_loss(), no_progress)
    assert model.optim_step(AdamParameters(learning_rate=0.01)).step == 1
