"""Copies of a checkpoint's tensors that are made while training continues: by torch's stager, in pageable memory."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
import torch
import torch.distributed as dist
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress
from torch._C._distributed_c10d import HashStore
from torch.distributed.checkpoint.staging import AsyncStager, DefaultStager, StagingOptions
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.engine import torch_engine
from agentlightning_runtime.engine.base.ranks import Ranks, whole
from agentlightning_runtime.engine.checkpoints import host_copies
from agentlightning_runtime.engine.checkpoints.checkpoint_tensors import read_shards, write_shards
from agentlightning_runtime.engine.checkpoints.host_copies import HostCopies

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel

#: The stager of a GPU, with pageable memory and without streams.
ON_CPU = StagingOptions(
    use_pinned_memory=False, use_shared_memory=False, use_async_staging=False, use_non_blocking_copy=False
)


class LateStager(AsyncStager):
    """A device that copies when the trainer waits for it, and not before."""

    def __init__(self) -> None:
        self._stager = DefaultStager(ON_CPU)
        self._thread = ThreadPoolExecutor(1)
        self.is_waited_for = threading.Event()
        self.addresses: list[list[int]] = []

    def stage(self, state_dict: Any) -> Any:
        self.is_waited_for.clear()
        return self._thread.submit(self._stage_late, state_dict)

    def _stage_late(self, state_dict: Any) -> Any:
        assert self.is_waited_for.wait(60)
        staged: Any = self._stager.stage(state_dict)
        self.addresses.append([tensor.data_ptr() for name, tensor in staged.items() if "step" not in name])
        return staged

    def close(self) -> None:
        self._thread.shutdown()
        self._stager.close()


def a_model(directory: Path, lora: LoraSettings | None, copies: HostCopies | None) -> TorchModel:
    with pytest.MonkeyPatch.context() as patch:
        if copies is not None:
            patch.setattr(torch_engine, "host_copies", Mock(return_value=copies))
        return an_engine(directory).create_model(ModelRequest("m", "tiny", 3, lora))


def train(model: TorchModel, *steps: int) -> None:
    for step in steps:
        model.forward_backward(a_batch(step), a_loss(), no_progress)
        model.optim_step(AdamParameters(learning_rate=0.01))


@pytest.mark.parametrize("lora", [None, LoraSettings(4, 8.0)])
def test_a_step_waits_for_the_copy_of_the_tensors_that_it_changes(tmp_path: Path, lora: LoraSettings | None) -> None:
    stager = LateStager()
    model = a_model(tmp_path / "late", lora, HostCopies(stager))
    plain = a_model(tmp_path / "plain", lora, None)
    wait_for_copy = model.parts.checkpoints.wait_for_copy

    def wait() -> None:
        stager.is_waited_for.set()
        wait_for_copy()

    setattr(model.parts.checkpoints, "wait_for_copy", wait)  # noqa: B010 -- an instance's
    for number in (1, 2):
        for each in (model, plain):
            train(each, number)
        saving = model.save_checkpoint(f"c{number}", b"")
        plain.save_checkpoint(f"c{number}", b"").result(60)
        model.forward_backward(a_batch(7), a_loss(), no_progress)
        # A pass changes no tensor of the checkpoint, so it does not wait.
        assert len(stager.addresses) == number - 1
        model.optim_step(AdamParameters(learning_rate=0.01))
        assert len(stager.addresses) == number
        train(plain, 7)
        saving.result(60)
    # The memory is allocated once.
    assert stager.addresses[0] == stager.addresses[1]
    for number in (1, 2):
        for each in (model, plain):
            each.load_checkpoint(f"m/c{number}")
        assert all(torch.equal(weight, plain.weights[name]) for name, weight in model.weights.items())
        moments = plain._adam.state()
        assert all(torch.equal(moment, moments[name]) for name, moment in model._adam.state().items())
    train(model, 8)
    train(plain, 8)
    assert all(torch.equal(weight, plain.weights[name]) for name, weight in model.weights.items())


class ExhaustedStager(AsyncStager):
    """A machine that cannot pin as much memory."""

    def __init__(self) -> None:
        self.copies = 0
        self.is_closed = False

    def stage(self, state_dict: Any) -> Any:
        self.copies += 1
        failed = Future[Any]()
        failed.set_exception(RuntimeError("Registering memory failed with cudaError: 2."))
        return failed

    def close(self) -> None:
        self.is_closed = True


def test_memory_that_cannot_be_pinned_is_pageable_from_then_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stager = ExhaustedStager()
    model = a_model(tmp_path, None, HostCopies(stager))
    before = {name: weight.detach().clone() for name, weight in model.weights.items()}
    for name in ("a", "b"):
        saving = model.save_checkpoint(name, b"")
        train(model, 1)
        saving.result(60)
    assert (stager.copies, stager.is_closed) == (1, True)
    assert len([record for record in caplog.records if "cannot be pinned" in record.message]) == 1
    model.load_checkpoint("m/a")
    assert all(torch.equal(weight, before[name]) for name, weight in model.weights.items())


def test_work_of_the_device_is_done_before_its_tensors_are_copied() -> None:
    order: list[str] = []

    class Ordered(LateStager):
        def stage(self, state_dict: Any) -> Any:
            order.append("stage")
            return super().stage(state_dict)

    stager = Ordered()
    copy = HostCopies(stager, lambda: order.append("finish")).start({"a": torch.ones(2)})
    assert not copy.is_made
    stager.is_waited_for.set()
    assert copy.result()["a"].tolist() == [1, 1]
    assert order == ["finish", "stage"]


def test_a_gpu_copies_on_a_stream_of_the_device_with_the_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    made = LateStager()
    monkeypatch.setattr(torch.cuda, "device", partial(Guard, seen))
    monkeypatch.setattr(torch.cuda, "current_stream", partial(Stream, seen))

    def stager(options: StagingOptions) -> LateStager:
        assert (options.use_pinned_memory, options.use_async_staging, options.use_non_blocking_copy) == (True,) * 3
        assert not options.use_shared_memory
        seen.append("stager")
        return made

    monkeypatch.setattr(host_copies, "DefaultStager", stager)
    device = torch.device("cuda", 1)
    copy = host_copies.host_copies(device).start({"a": torch.ones(2)})
    made.is_waited_for.set()
    assert copy.result()["a"].tolist() == [1, 1]
    assert seen == [device, "stager", "end", device]


class Stream:
    """Records the device that it has completed the work of."""

    def __init__(self, seen: list[object], device: object) -> None:
        self._seen = seen
        self._device = device

    def synchronize(self) -> None:
        self._seen.append(self._device)


class Guard:
    """Records the device that is the current one."""

    def __init__(self, seen: list[object], device: object) -> None:
        self._seen = seen
        self._device = device

    def __enter__(self) -> None:
        self._seen.append(self._device)

    def __exit__(self, *_error: object) -> None:
        self._seen.append("end")


@pytest.fixture(name="alone")
def _alone() -> Generator[None]:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("stager", [None, LateStager()])
def test_shards_are_copied_as_shards(tmp_path: Path, stager: LateStager | None) -> None:
    mesh = init_device_mesh("cpu", (1,))
    weight = torch.nn.Parameter(distribute_tensor(torch.arange(12.0).view(4, 3), mesh, [Shard(0)]))
    copy = HostCopies(stager).start({"w": weight})
    if stager is not None:
        stager.is_waited_for.set()
    staged = copy.result()["w"]
    assert isinstance(staged, DTensor)
    assert staged.placements == (Shard(0),)
    (tmp_path / "c").mkdir()
    with torch.no_grad():
        weight.zero_()
    write_shards(tmp_path / "c", copy.result(), Ranks())
    read_shards(tmp_path / "c", {"w": weight.detach()}, Ranks())
    assert torch.equal(whole(weight.detach()), torch.arange(12.0).view(4, 3))
