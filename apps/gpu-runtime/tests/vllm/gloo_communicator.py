"""Gloo instead of NCCL, so that the weight transfer of a real vLLM runs on a CPU.

vLLM's engines of both sides, its requests and its loading of weights are the real ones. Replaced are the communicator
and the streams of CUDA.
"""

from __future__ import annotations

import importlib
import os
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch._C._distributed_c10d import BroadcastOptions, PrefixStore
from torch.distributed import ProcessGroupGloo

from agentlightning_runtime.inference.experimental.vllm import transfer_choice

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from torch import Tensor

_TIMEOUT = timedelta(seconds=120)


def plugin_path(directory: Path) -> str:
    """A PYTHONPATH with which vLLM's processes call `install`: vLLM loads what packages register."""
    package = directory / "gloo_communicator-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: gloo-communicator\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[vllm.general_plugins]\ngloo = tests.vllm.gloo_communicator:install\n")
    paths = [str(directory), str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "src")]
    return os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])


def install() -> None:
    """Replaces them in a process of vLLM."""
    _replace(setattr)


def install_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces them for a test, and lets the runtime send from a CPU."""
    _replace(monkeypatch.setattr)
    monkeypatch.setattr(transfer_choice, "on_gpu", _always)


def _replace(put: Callable[[Any, str, Any], None]) -> None:
    put(importlib.import_module("vllm.distributed.device_communicators.pynccl"), "PyNcclCommunicator", Communicator)
    put(importlib.import_module("vllm.distributed.weight_transfer.packed_tensor"), "_get_streams", _no_streams)
    put(torch.accelerator, "current_device_index", _first_device)
    put(torch.cuda, "stream", nullcontext)


class Communicator:
    """What vLLM's engines use of `PyNcclCommunicator`."""

    def __init__(self, group: Any, device: Any) -> None:
        store = PrefixStore("gloo", group.store)
        self._group: Any = ProcessGroupGloo(store, group.rank, group.world_size, _TIMEOUT)

    def broadcast(self, tensor: Tensor, src: int) -> None:
        options = BroadcastOptions()
        options.rootRank, options.rootTensor = src, 0
        self._group.broadcast([tensor], options).wait()

    def destroy(self) -> None:
        self._group.abort()


class _NoStream:
    def synchronize(self) -> None:
        """Broadcasts have been waited for."""


def _no_streams(_device: int, count: int) -> tuple[_NoStream, ...]:
    return tuple(_NoStream() for _ in range(count))


def _first_device() -> int:
    return 0


def _always(_weights: object) -> bool:
    return True
