"""Memory exhaustion: reported with numbers, and recovered from. A module hook simulates the allocator's failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.engine.a_batch import a_batch, a_datum, a_loss, an_engine, no_progress
from torch.optim.optimizer import register_optimizer_step_pre_hook

from agentlightning_runtime.engine.batch import AdamParameters, Batch
from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.settings import ModelRequest

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
    layer = model.parts.network.causal_lm.get_submodule("model.norm")

    def check(_module: Any, inputs: Any, *_others: Any) -> None:
        if inputs[0] is not None and inputs[0].shape[:2].numel() > tokens:
            fail()

    if in_backward:
        layer.register_full_backward_hook(check)
    else:
        layer.register_forward_hook(check)
    return model


@pytest.mark.parametrize("fail", [no_memory_of_cuda, no_memory_of_the_cpu])
@pytest.mark.parametrize("in_backward", [False, True])
def test_too_large_a_piece_is_told_with_numbers(tmp_path: Path, fail: Callable[[], None], in_backward: bool) -> None:
    model = model_with_memory_for(100, fail, tmp_path, in_backward=in_backward)
    small = Batch([a_datum(50, [(40, 50)])])
    model.forward_backward(small, a_loss(), no_progress)
    with pytest.raises(EngineError) as caught:
        model.forward_backward(a_batch(), a_loss(), no_progress)
    error = caught.value
    assert error.reason == EngineErrorReason.OUT_OF_MEMORY
    assert error.gradients_discarded
    # Eight rows with the length of the longest datum up to its last trained token.
    assert error.num_tokens == 8 * 59
    assert error.max_tokens_seen_ok == 49
    assert "send it again" in error.remedy
    assert not model.state().is_corrupted


def test_nothing_of_the_failed_batch_is_left_and_smaller_pieces_fit(tmp_path: Path) -> None:
    model = model_with_memory_for(300, no_memory_of_the_cpu, tmp_path)
    with pytest.raises(EngineError):
        model.forward_backward(a_batch(), a_loss(), no_progress)
    assert not any(weight.grad is not None for weight in model.weights.values())
    model.forward_backward(a_batch(), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.01))
    sound = an_engine(tmp_path).create_model(ModelRequest("s", "tiny", 3))
    sound.forward_backward(a_batch(), a_loss(), no_progress)
    sound.optim_step(AdamParameters(learning_rate=0.01))
    for name, weight in model.weights.items():
        torch.testing.assert_close(weight, sound.weights[name], rtol=1e-4, atol=1e-4)


def test_one_sequence_that_never_fits_is_told_so(tmp_path: Path) -> None:
    model = model_with_memory_for(100, no_memory_of_the_cpu, tmp_path)
    with pytest.raises(EngineError, match="shorter sequences"):
        model.forward_backward(Batch([a_datum(200, [(150, 200)])]), a_loss(), no_progress)


def test_forward_pass_that_fails_keeps_the_gradients(tmp_path: Path) -> None:
    model = model_with_memory_for(100, no_memory_of_the_cpu, tmp_path)
    model.forward_backward(Batch([a_datum(50, [(40, 50)])]), a_loss(), no_progress)
    with pytest.raises(EngineError) as caught:
        model.forward(a_batch(), use_reference=False, progress=no_progress)
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
