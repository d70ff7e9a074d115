"""A model of the engine: gradients, steps, LoRA, value head, reference."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tests.engine.a_batch import a_batch, a_datum, a_loss, an_engine, no_progress

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.engine.loss.loss_definitions import LOSS_DEFINITIONS

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel


LORA = LoraSettings(rank=4, alpha=8.0)


def make(
    directory: Path, lora: LoraSettings | None = None, *, tokens: int | None = None, value: bool = False
) -> TorchModel:
    request = ModelRequest("m", "tiny", seed=3, lora=lora, has_value_head=value)
    return an_engine(directory, micro_batch_tokens=tokens).create_model(request)


def gradients(model: TorchModel) -> dict[str, torch.Tensor]:
    return {name: weight.grad.clone() for name, weight in model.weights.items() if weight.grad is not None}


@pytest.mark.parametrize("name", [each.name for each in LOSS_DEFINITIONS])
def test_how_a_batch_is_cut_does_not_change_loss_or_gradients(tmp_path: Path, name: str) -> None:
    loss = a_loss(name, entropy_coefficient=0.01, kl_coefficient=0.1, value_coefficient=0.5, value_clip=0.2)
    results, found = [], []
    for tokens, is_packed in ((1, False), (10_000, False), (64, False), (64, True), (10_000, True)):
        model = make(tmp_path, tokens=tokens, value=True)
        model.parts.settings.is_packed = is_packed
        results.append(model.forward_backward(a_batch(), loss, no_progress))
        found.append(gradients(model))
    assert results[0].trained_tokens == 8 * 4 - 2
    for result, each in zip(results[1:], found[1:], strict=True):
        assert result.loss == pytest.approx(results[0].loss, rel=1e-5)
        for metric, value in results[0].metrics.items():
            if metric.startswith(("policy/", "value/")):
                assert result.metrics[metric] == pytest.approx(value, rel=1e-4, abs=1e-6)
        assert each.keys() == found[0].keys()
        for weight, gradient in each.items():
            torch.testing.assert_close(gradient, found[0][weight], rtol=1e-4, atol=1e-5)


def test_gradients_of_two_batches_add_up(tmp_path: Path) -> None:
    together, apart = make(tmp_path), make(tmp_path)
    batch = a_batch()
    together.forward_backward(batch, a_loss("ppo"), no_progress)
    for part in (Batch(batch.data[:3]), Batch(batch.data[3:])):
        apart.forward_backward(part, a_loss("ppo"), no_progress)
    for name, gradient in gradients(apart).items():
        torch.testing.assert_close(gradient, gradients(together)[name], rtol=1e-4, atol=1e-5)


def test_logprobs_are_those_of_the_whole_models_softmax(tmp_path: Path) -> None:
    model = make(tmp_path)
    datum = a_datum(20, [(3, 6), (18, 20)], temperature=0.7)
    (found,) = model.forward(Batch([datum]), use_reference=False, progress=no_progress).logprobs
    with torch.no_grad():
        logits = model.parts.network.causal_lm(torch.from_numpy(datum.token_ids.astype(np.int64))[None]).logits[0]
    expected = torch.log_softmax(logits.double() / 0.7, -1)
    positions = [3, 4, 5, 18, 19]
    wanted = [expected[position - 1, datum.token_ids[position]].item() for position in positions]
    assert found.tolist() == pytest.approx(wanted, abs=1e-5)


def test_only_the_loras_weights_are_trained_and_the_base_is_in_memory_once(tmp_path: Path) -> None:
    engine = an_engine(tmp_path)
    one = engine.create_model(ModelRequest("one", "tiny", seed=1, lora=LORA))
    two = engine.create_model(ModelRequest("two", "tiny", seed=2, lora=LORA))
    assert all(".lora_" in name for name in one.weights)
    embeddings = [each.parts.network.causal_lm.get_input_embeddings().weight for each in (one, two)]
    assert embeddings[0] is embeddings[1]
    before = two.forward(a_batch(), use_reference=False, progress=no_progress).logprobs
    one.forward_backward(a_batch(), a_loss(), no_progress)
    one.optim_step(AdamParameters(learning_rate=0.01))
    after = two.forward(a_batch(), use_reference=False, progress=no_progress).logprobs
    assert all((left == right).all() for left, right in zip(before, after, strict=True))


@pytest.mark.parametrize("lora", [None, LORA])
def test_reference_stays_what_the_model_began_as(tmp_path: Path, lora: LoraSettings | None) -> None:
    model = make(tmp_path, lora)
    began = model.forward(a_batch(), use_reference=False, progress=no_progress).logprobs
    model.forward_backward(a_batch(), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.01))
    reference = model.forward(a_batch(), use_reference=True, progress=no_progress)
    trained = model.forward(a_batch(), use_reference=False, progress=no_progress)
    assert np.concatenate(reference.logprobs) == pytest.approx(np.concatenate(began), abs=1e-6)
    assert np.abs(np.concatenate(trained.logprobs) - np.concatenate(began)).max() > 1e-3


def test_value_head_says_nothing_at_first_and_learns_its_targets(tmp_path: Path) -> None:
    model = make(tmp_path, LORA, value=True)
    first = model.forward(a_batch(), use_reference=False, progress=no_progress).values
    assert first is not None
    assert not np.concatenate(first).any()
    loss = a_loss("cross_entropy", value_coefficient=1.0)
    batch = Batch([replace(datum, weights=np.full_like(datum.weights, 0.1)) for datum in a_batch().data])
    errors = []
    for _ in range(20):
        errors.append(model.forward_backward(batch, loss, no_progress).metrics["value/error"])
        model.optim_step(AdamParameters(learning_rate=0.02))
    assert errors[-1] < errors[0] / 3


def test_value_loss_without_a_value_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no value head"):
        make(tmp_path).forward_backward(a_batch(), a_loss(value_coefficient=1.0), no_progress)


def test_loss_that_is_not_finite_drops_the_gradients(tmp_path: Path) -> None:
    model = make(tmp_path)
    model.forward_backward(a_batch(), a_loss(), no_progress)
    datum = a_datum(12, [(4, 8)])
    wild = Batch([replace(datum, advantages=np.full(4, 3e38, dtype=np.float32), weights=np.full(4, 3e38, np.float32))])
    with pytest.raises(EngineError) as caught:
        model.forward_backward(wild, a_loss(), no_progress)
    assert caught.value.reason == EngineErrorReason.NON_FINITE
    assert caught.value.gradients_discarded
    with pytest.raises(EngineError) as nothing:
        model.optim_step(AdamParameters(learning_rate=0.01))
    assert nothing.value.reason == EngineErrorReason.PRECONDITION


def test_gradient_that_is_not_finite_skips_the_step(tmp_path: Path) -> None:
    model = make(tmp_path)
    model.forward_backward(a_batch(), a_loss(), no_progress)
    weight = next(iter(model.weights.values()))
    before = weight.detach().clone()
    assert weight.grad is not None
    weight.grad[0, 0] = math.nan
    result = model.optim_step(AdamParameters(learning_rate=0.01))
    assert result.is_skipped
    assert result.step == 0
    assert torch.equal(weight, before)


def test_step_is_the_papers(tmp_path: Path) -> None:
    """Kingma & Ba 2015, algorithm 1, with the decay of Loshchilov & Hutter 2019 and a clipped gradient."""
    model = make(tmp_path)
    adam = AdamParameters(0.01, beta1=0.8, beta2=0.9, epsilon=1e-6, weight_decay=0.1, gradient_clip_norm=0.5)
    expected = {name: weight.detach().double().numpy().copy() for name, weight in model.weights.items()}
    first = {name: np.zeros_like(value) for name, value in expected.items()}
    second = {name: np.zeros_like(value) for name, value in expected.items()}
    for step in range(1, 4):
        model.forward_backward(a_batch(step), a_loss(), no_progress)
        found = {name: gradient.double().numpy() for name, gradient in gradients(model).items()}
        norm = math.sqrt(sum((gradient**2).sum() for gradient in found.values()))
        for name, value in expected.items():
            clipped = found[name] * min(1, 0.5 / norm)
            first[name] = 0.8 * first[name] + 0.2 * clipped
            second[name] = 0.9 * second[name] + 0.1 * clipped**2
            direction = first[name] / (1 - 0.8**step) / (np.sqrt(second[name] / (1 - 0.9**step)) + 1e-6)
            expected[name] = value - 0.01 * (direction + 0.1 * value)
        result = model.optim_step(adam)
        assert result.gradient_norm == pytest.approx(norm, rel=1e-5)
        assert result.step == step
    for name, weight in model.weights.items():
        assert np.abs(weight.detach().double().numpy() - expected[name]).max() < 2e-5


def test_batch_without_weight_has_a_gradient_of_zero_and_a_step_is_taken_with_it(tmp_path: Path) -> None:
    model = make(tmp_path)
    nothing = Batch([replace(datum, weights=np.zeros_like(datum.weights)) for datum in a_batch().data])
    before = {name: weight.detach().clone() for name, weight in model.weights.items()}
    result = model.forward_backward(nothing, a_loss("ppo"), no_progress)
    assert (result.loss, result.trained_tokens) == (0.0, 0)
    step = model.optim_step(AdamParameters(learning_rate=0.01))
    assert (step.step, step.gradient_norm, step.is_skipped) == (1, 0.0, False)
    assert all(torch.equal(weight, before[name]) for name, weight in model.weights.items())
