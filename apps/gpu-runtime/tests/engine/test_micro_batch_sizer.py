"""The size of micro-batches from free memory and the measured memory for each token, with a scripted memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tests.engine.a_batch import a_batch, a_datum, a_loss, an_engine, no_progress

from agentlightning_runtime.contract.batch import Batch
from agentlightning_runtime.contract.settings import ModelRequest
from agentlightning_runtime.engine.base.ranks import Ranks
from agentlightning_runtime.engine.memory.micro_batch_sizer import PROBE_TOKENS, MicroBatchSizer

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel

MIB = 2**20


class ScriptedMemory:
    """A device with this many free bytes, on which a pass needs bytes for each token and some regardless of tokens."""

    def __init__(self, free: int, *, per_token: int, fixed: int = 0) -> None:
        self.free = free
        self.per_token = per_token
        self.fixed = fixed
        self.tokens = 0
        self.measurements = 0

    def available(self) -> int:
        return self.free

    def start_measurement(self) -> None:
        self.measurements += 1

    def peak_increase(self) -> int:
        return self.fixed + self.tokens * self.per_token

    def run(self, sizer: MicroBatchSizer, tokens: int) -> None:
        self.tokens = tokens
        with sizer.measure(tokens):
            if self.peak_increase() > self.free:
                raise torch.OutOfMemoryError


def test_without_a_memory_the_limit_is_the_size() -> None:
    sizer = MicroBatchSizer(300, None, Ranks())
    with sizer.measure(100):
        pass
    assert sizer.choose() == 300


def test_eight_billion_weights_take_what_fits_in_80_gb() -> None:
    # 174 GB for 16,384 tokens without checkpointing; 60 GiB are free beside the base.
    memory = ScriptedMemory(60 * 2**30, per_token=174_000_000_000 // 16_384)
    sizer = MicroBatchSizer(16_384, memory, Ranks())
    assert sizer.choose() == PROBE_TOKENS
    memory.run(sizer, PROBE_TOKENS)
    size = sizer.choose()
    assert 4_000 < size < 5_000
    memory.run(sizer, size)
    assert sizer.choose() == pytest.approx(size, abs=1)


def test_the_limit_bounds_a_small_model() -> None:
    memory = ScriptedMemory(60 * 2**30, per_token=MIB)
    sizer = MicroBatchSizer(16_384, memory, Ranks())
    memory.run(sizer, PROBE_TOKENS)
    assert sizer.choose() == 16_384


@pytest.mark.parametrize("second", [4_000, 500])
def test_two_measurements_part_what_does_not_depend_on_tokens(second: int) -> None:
    memory = ScriptedMemory(10_000 * MIB, per_token=MIB, fixed=1_000 * MIB)
    sizer = MicroBatchSizer(16_384, memory, Ranks())
    memory.run(sizer, 1_000)
    assert sizer.choose() == pytest.approx(4_000, abs=1)
    memory.run(sizer, second)
    assert sizer.choose() == pytest.approx(7_000, abs=1)
    memory.run(sizer, 600)
    assert memory.measurements == 2
    assert sizer.choose() == pytest.approx(7_000, abs=1)


def test_measurements_of_similar_size_are_not_a_line() -> None:
    memory = ScriptedMemory(10_000 * MIB, per_token=MIB, fixed=1_000 * MIB)
    sizer = MicroBatchSizer(16_384, memory, Ranks())
    memory.run(sizer, 1_000)
    memory.fixed = 1_500 * MIB
    memory.run(sizer, 1_001)
    assert sizer.choose() == pytest.approx(1_001 / 2_501 * 8_000, abs=1)


def test_a_fall_of_the_peak_is_not_a_line() -> None:
    memory = ScriptedMemory(10_000 * MIB, per_token=MIB, fixed=4_000 * MIB)
    sizer = MicroBatchSizer(16_384, memory, Ranks())
    memory.run(sizer, 1_000)
    memory.fixed = 0
    memory.run(sizer, 2_000)
    assert sizer.choose() == pytest.approx(8_000, abs=1)


def test_the_size_follows_the_available_memory() -> None:
    memory = ScriptedMemory(10_000 * MIB, per_token=MIB)
    sizer = MicroBatchSizer(16_384, memory, Ranks())
    memory.run(sizer, 1_000)
    memory.free //= 2
    assert sizer.choose() == pytest.approx(4_000, abs=1)
    memory.free = 0
    assert sizer.choose() == 1


def test_exhaustion_halves_the_size_and_is_not_a_measurement() -> None:
    memory = ScriptedMemory(1_000 * MIB, per_token=MIB)
    sizer = MicroBatchSizer(16_384, memory, Ranks())
    with pytest.raises(torch.OutOfMemoryError):
        memory.run(sizer, PROBE_TOKENS)
    sizer.reduce(PROBE_TOKENS)
    assert sizer.choose() == PROBE_TOKENS // 2
    memory.free = 100_000 * MIB
    memory.run(sizer, 500)
    assert sizer.choose() == PROBE_TOKENS // 2


def test_a_model_measures_its_first_batch_and_sizes_the_next(tmp_path: Path) -> None:
    model = an_engine(tmp_path).create_model(ModelRequest("m", "tiny", 3))
    memory = ScriptedMemory(0, per_token=MIB)
    model.parts.settings.sizer = MicroBatchSizer(16_384, memory, Ranks())
    memory.tokens, memory.free = a_batch().tokens - 8, 200 * MIB
    assert chosen_size(model, a_batch()) == PROBE_TOKENS
    assert chosen_size(model, a_batch()) == 160
    # The forward pass needs less and uses the same size.
    scored = model.forward(Batch([a_datum(50, [(40, 50)])]), use_reference=False, progress=no_progress)
    assert scored.metrics["train/micro_batch_tokens"] == 160
    # That of the first batch, and a row of the second with half the tokens, whose peak is not lower here.
    assert memory.measurements == 2


def test_gradients_are_allocated_before_the_measurement(tmp_path: Path) -> None:
    model = an_engine(tmp_path).create_model(ModelRequest("m", "tiny", 3))
    found: list[bool] = []

    class Memory(ScriptedMemory):
        def start_measurement(self) -> None:
            found.append(all(weight.grad is not None for weight in model.weights.values()))

    model.parts.settings.sizer = MicroBatchSizer(16_384, Memory(MIB, per_token=1), Ranks())
    chosen_size(model, a_batch())
    assert found == [True]


def chosen_size(model: TorchModel, batch: Batch) -> float:
    return model.forward_backward(batch, a_loss(), no_progress).metrics["train/micro_batch_tokens"]
