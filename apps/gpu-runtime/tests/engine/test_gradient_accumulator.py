"""Several batches in a step: where the gradients of earlier ones are kept, and that they are restored bit for bit."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.distributed as dist
from tests.engine.a_batch import a_batch, a_datum, a_loss, an_engine, no_progress
from torch import nn
from torch._C._distributed_c10d import HashStore
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

from agentlightning_runtime.contract.batch import Batch
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import ModelRequest
from agentlightning_runtime.engine import gradient_accumulator
from agentlightning_runtime.engine.base.ranks import Ranks
from agentlightning_runtime.engine.gradient_accumulator import GradientAccumulator
from agentlightning_runtime.engine.memory import pinned_memory

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path


class FreeMemory:
    """A device with this many free bytes, which is asked for nothing else."""

    def __init__(self, free: int) -> None:
        self.free = free
        self.questions = 0

    def available(self) -> int:
        self.questions += 1
        return self.free

    def start_measurement(self) -> None:
        raise AssertionError("not measured here")

    def peak_increase(self) -> int:
        raise AssertionError("not measured here")


@pytest.fixture(name="pinned")
def _pinned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Pinned memory on a machine without a GPU; the bytes of each allocation."""
    allocated: list[int] = []

    def pinned_like(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        allocated.append(sum(tensor.nbytes for tensor in tensors))
        return [torch.empty_like(tensor) for tensor in tensors]

    monkeypatch.setattr(gradient_accumulator, "pinned_like", pinned_like)
    return allocated


@pytest.fixture(name="copies")
def _copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of tensors of each copy."""
    found: list[int] = []
    copy_all = pinned_memory.copy_all

    def counted(targets: list[torch.Tensor], sources: list[torch.Tensor]) -> None:
        found.append(len(sources))
        copy_all(targets, sources)

    monkeypatch.setattr(gradient_accumulator, "copy_all", counted)
    return found


def some_weights() -> list[nn.Parameter]:
    # 40 bytes of gradients.
    return [nn.Parameter(torch.zeros(2, 3)), nn.Parameter(torch.zeros(4))]


def learn(weights: Sequence[nn.Parameter], value: float) -> list[torch.Tensor]:
    """Adds to the gradients; returns copies of them."""
    for weight in weights:
        assert weight.grad is not None
        weight.grad.add_(value)
    return [torch.empty(0) if weight.grad is None else weight.grad.clone() for weight in weights]


@pytest.mark.parametrize(("free", "allocations"), [(160, []), (159, [40])])
def test_earlier_gradients_stay_on_the_device_while_they_take_a_quarter_of_it(
    free: int, allocations: list[int], pinned: list[int], copies: list[int]
) -> None:
    weights = some_weights()
    accumulator = GradientAccumulator(weights, FreeMemory(free), Ranks())
    with accumulator.batch() as restore:
        learn(weights, 5)
        assert not restore()
        assert not any(weight.grad is None or weight.grad.any() for weight in weights)
        before = learn(weights, 0.1)
    # Before the first batch of a step there is nothing to copy.
    assert copies == []
    for count in (1, 2):
        with accumulator.batch() as restore:
            assert copies == [2] * count
            before = learn(weights, 0.3)
    with accumulator.batch() as restore:
        learn(weights, 7)
        moved = restore()
        assert all(torch.equal(learn([weight], 0)[0], one) for weight, one in zip(weights, before, strict=True))
        # A copy on the device leaves it when memory has run out beside it.
        assert moved == (not allocations)
        learn(weights, 7)
        assert not restore()
        assert all(torch.equal(learn([weight], 0)[0], one) for weight, one in zip(weights, before, strict=True))
    # Host memory is allocated once.
    assert pinned == [40]


def test_all_ranks_keep_them_in_the_same_memory(pinned: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def smallest(_ranks: Ranks, value: int) -> int:
        assert value == 1000
        return 100

    monkeypatch.setattr(Ranks, "smallest", smallest)
    weights = some_weights()
    accumulator = GradientAccumulator(weights, FreeMemory(1000), Ranks(count=2))
    for _ in range(2):
        with accumulator.batch():
            pass
    assert pinned == [40]


@pytest.fixture(name="alone")
def _alone() -> Generator[None]:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("alone")
def test_gradients_in_shards_are_not_copied(pinned: list[int], copies: list[int]) -> None:
    mesh = init_device_mesh("cpu", (1,))
    weight = nn.Parameter(distribute_tensor(torch.zeros(2, 3), mesh, [Shard(0)]))
    memory = FreeMemory(0)
    accumulator = GradientAccumulator([weight], memory, Ranks(), is_sharded=True)
    for _ in range(2):
        with accumulator.batch() as restore:
            learn([weight], 1)
            with pytest.raises(RuntimeError, match="shards"):
                restore()
    assert (memory.questions, pinned, copies) == (0, [], [])


def test_memory_that_cannot_be_pinned_is_pageable_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    if torch.cuda.is_available():
        pytest.skip("memory can be pinned here")
    (host,) = pinned_memory.pinned_like([torch.zeros(3, dtype=torch.float64)])
    assert (host.shape, host.dtype) == ((3,), torch.float64)
    assert "cannot be pinned" in caplog.text


def test_a_sequence_that_fits_without_the_copy_is_no_error(tmp_path: Path, pinned: list[int]) -> None:
    batches = [Batch([a_datum(50, [(40, 50)])]), Batch([a_datum(60, [(40, 60)])]), a_batch()]
    gradients: list[dict[str, Any]] = []
    for is_short in (False, True):
        engine = an_engine(tmp_path, micro_batch_tokens=1000)
        engine._cuda_memory = FreeMemory(2**40)  # type: ignore[assignment] # pyright: ignore[reportAttributeAccessIssue]
        model = engine.create_model(ModelRequest("m", "tiny", 3))
        accumulator = model._passes._accumulator

        def check(
            _module: Any, inputs: Any, _output: Any, *, short: bool = is_short, kept: GradientAccumulator = accumulator
        ) -> None:
            if short and inputs[0].shape[1] > 49 and not kept._uses_host:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

        model.parts.network.causal_lm.get_submodule("model.norm").register_forward_hook(check)
        metrics = [model.forward_backward(batch, a_loss(), no_progress).metrics for batch in batches]
        # The size stays: it was the copy that took the memory.
        assert [each["train/micro_batch_tokens"] for each in metrics] == [1000.0] * 3
        assert [each["train/micro_batch_retries"] for each in metrics] == [0.0, float(is_short), 0.0]
        gradients.append({name: weight.grad for name, weight in model.weights.items()})
        if is_short:
            model.discard_gradients()
            accumulator._uses_host = False
            with pytest.raises(EngineError, match="one sequence"):
                model.forward_backward(Batch([a_datum(60, [(40, 60)])]), a_loss(), no_progress)
    assert len(pinned) == 1
    assert all(torch.equal(value, gradients[1][name]) for name, value in gradients[0].items())


def test_gradients_that_do_not_fit_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_named: object) -> torch.Tensor:
        raise RuntimeError("CUDA error: out of memory")

    accumulator = GradientAccumulator(some_weights(), None, Ranks())
    monkeypatch.setattr(torch, "zeros_like", fail)
    with pytest.raises(EngineError, match="allocating the gradients") as caught, accumulator.batch():
        pass
    assert caught.value.reason == EngineErrorReason.OUT_OF_MEMORY
