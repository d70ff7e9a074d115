"""The patches of images are work of a micro-batch: its plan, its measured size, and what happens without memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.engine.a_batch import a_loss, no_progress
from tests.engine.an_image import a_datum_of, a_prompt, an_image
from tests.engine.test_images import a_model, of_transformers

from agentlightning_runtime.contract.batch import Batch
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.base.packing import plan_packed
from agentlightning_runtime.engine.base.ranks import Ranks
from agentlightning_runtime.engine.memory.micro_batch_sizer import MicroBatchSizer
from agentlightning_runtime.engine.micro_batch import assemble, examples_of, plan_padded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentlightning_runtime.engine.base.example import Example
    from agentlightning_runtime.engine.torch_model import TorchModel

#: An image of 16 by 16 pixels has 4 tokens and 16 patches, and two tokens that enclose it.
PATCHES = 16


def data_of(*seeds: int, length: int = 8) -> Batch:
    """Sequences of an image and as many other tokens; those of the same image differ in their text."""
    return Batch(
        [
            a_datum_of(a_prompt([at, at + 1], an_image(seed), [7] * (length - 5)), [50, 51, 52], [an_image(seed)])
            for at, seed in enumerate(seeds)
        ]
    )


def examples(model: TorchModel, batch: Batch) -> list[Example]:
    return examples_of(batch, model.parts.settings.images, only_weighted=True)


def sizes(groups: Sequence[Sequence[Example]], *, is_packed: bool) -> list[int]:
    return [assemble(group, torch.device("cpu"), is_packed=is_packed).size for group in groups]


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_plan_counts_the_patches_of_distinct_images(tmp_path: Path, is_packed: bool) -> None:
    model, plan = a_model(tmp_path), plan_packed if is_packed else plan_padded
    # Without patches all four would fit in 64 tokens.
    apart, alike = examples(model, data_of(1, 2, 3, 4)), examples(model, data_of(1, 1, 1, 1))
    length = apart[0].length
    assert [each.size for each in apart] == [length + PATCHES] * 4
    assert 4 * length <= 64 < 2 * (length + PATCHES) + length
    assert sizes(plan(apart, 64), is_packed=is_packed) == [2 * (length + PATCHES)] * 2
    assert sizes(plan(alike, 4 * length + PATCHES), is_packed=is_packed) == [4 * length + PATCHES]
    assert len(plan(alike, 4 * length + PATCHES - 1)) == 2
    assert max(sizes(plan(apart, 1), is_packed=is_packed)) == length + PATCHES


@pytest.mark.parametrize("is_packed", [True, False])
def test_an_image_of_several_sequences_is_computed_once_with_the_same_results(tmp_path: Path, is_packed: bool) -> None:
    model, batch = a_model(tmp_path), data_of(1, 2, 1)
    model.parts.settings.is_packed = is_packed
    model.parts.settings.sizer = MicroBatchSizer(10_000, None, Ranks())
    patches: list[int] = []
    causal_lm: Any = model.parts.network.causal_lm

    def count(_module: object, inputs: Any) -> None:
        patches.append(len(inputs[0]))

    handle = causal_lm.model.visual.register_forward_pre_hook(count)
    found = model.forward(batch, use_reference=False, progress=no_progress).logprobs
    handle.remove()
    assert patches == [2 * PATCHES]
    loss = torch.zeros(())
    for datum, mine in zip(batch.data, found, strict=True):
        expected = of_transformers(model, datum)
        np.testing.assert_allclose(mine, expected.detach().numpy(), rtol=0, atol=1e-4)
        loss = loss - (expected * torch.from_numpy(datum.advantages * datum.weights)).sum()
    of_loss = torch.autograd.grad(loss, list(model.weights.values()), allow_unused=True, materialize_grads=True)
    model.forward_backward(batch, a_loss("cross_entropy"), no_progress)
    for weight, expected_gradient in zip(model.weights.values(), of_loss, strict=True):
        torch.testing.assert_close(weight.grad, expected_gradient, rtol=1e-4, atol=1e-5)


class Measured:
    """A memory that takes a byte for each token and patch, and refuses more than it has."""

    def available(self) -> int:
        return 10_000

    def start_measurement(self) -> None:
        pass

    def peak_increase(self) -> int:
        return 1000


class RecordingSizer(MicroBatchSizer):
    """Records the sizes that it measures."""

    measured: list[int]

    def measure(self, tokens: int) -> Any:
        self.measured.append(tokens)
        return super().measure(tokens)


def test_the_sizer_measures_tokens_and_patches(tmp_path: Path) -> None:
    model = a_model(tmp_path)
    sizer = RecordingSizer(10_000, Measured(), Ranks())
    sizer.measured = []
    model.parts.settings.sizer = sizer
    metrics = model.forward_backward(data_of(1, 2), a_loss(), no_progress).metrics
    length = examples(model, data_of(1))[0].length
    assert sizer.measured == [2 * (length + PATCHES)]
    assert sizer.max_tokens_seen_ok == 2 * (length + PATCHES)
    # Throughput is that of tokens.
    assert metrics["train/computed_tokens_per_second"] == pytest.approx(metrics["train/tokens_per_second"], rel=0.2)


def test_images_that_exhaust_the_tower_are_computed_in_smaller_micro_batches(tmp_path: Path) -> None:
    model, batch = a_model(tmp_path), data_of(1, 2, 3, 4)
    model.parts.settings.sizer = MicroBatchSizer(1000, None, Ranks())
    causal_lm: Any = model.parts.network.causal_lm
    limit = 2 * PATCHES

    def check(_module: object, inputs: Any) -> None:
        if len(inputs[0]) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    causal_lm.model.visual.register_forward_pre_hook(check)
    length = examples(model, batch)[0].length
    metrics = model.forward_backward(batch, a_loss(), no_progress).metrics
    assert metrics["train/micro_batch_tokens"] == 4 * (length + PATCHES) // 2
    assert metrics["train/micro_batch_retries"] == 1
    limit = PATCHES - 1
    with pytest.raises(EngineError, match="tokens and patches of images") as caught:
        model.forward_backward(data_of(5), a_loss(), no_progress)
    error = caught.value
    assert (error.reason, error.num_tokens) == (EngineErrorReason.OUT_OF_MEMORY, length + PATCHES)
    assert error.max_tokens_seen_ok == 2 * (length + PATCHES)
    assert error.remedy is not None
    assert "smaller images" in error.remedy
