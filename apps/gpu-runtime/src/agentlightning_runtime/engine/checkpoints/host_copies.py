"""Copies of the tensors of checkpoints in host memory; those of a GPU are made while training continues."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

from agentlightning_runtime.engine.memory.pinned_memory import report_pageable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from torch import Tensor
    from torch.distributed.checkpoint.staging import AsyncStager


class HostCopies:
    """Copies the tensors of one model's checkpoints, one checkpoint after another.

    Without a stager they are copied at once, into pageable memory that is freed after the checkpoint. With one they are
    in its pinned memory, which is allocated for the first checkpoint and stays as long as the tensors. Where memory
    cannot be pinned, there is no stager from then on.

    Args:
        stager: Copies in the background; its `stage` returns a future.
        finish_work: Waits until the device has done what this thread has requested, which a stager does not wait for.
    """

    def __init__(self, stager: AsyncStager | None = None, finish_work: Callable[[], None] = lambda: None) -> None:
        self._stager = stager
        self._finish_work = finish_work

    def start(self, tensors: Mapping[str, Tensor]) -> HostCopy:
        """Starts to copy; the tensors must not change before `HostCopy.result` has returned."""
        sources = {name: tensor.detach() for name, tensor in tensors.items()}
        if self._stager is None:
            copy = HostCopy(sources, None, self._give_up)
            copy.result()
            return copy
        self._finish_work()
        return HostCopy(sources, cast("Future[Any]", self._stager.stage(sources)), self._give_up)

    def _give_up(self) -> None:
        if self._stager is not None:
            self._stager.close()
            self._stager = None


class HostCopy:
    """The copies of one checkpoint.

    Args:
        sources: The tensors.
        staging: Has the copies when they are made; None: they are made by `result`.
        give_up: Called when the stager cannot pin memory.
    """

    def __init__(self, sources: Mapping[str, Tensor], staging: Future[Any] | None, give_up: Callable[[], None]) -> None:
        self._sources = sources
        self._staging = staging
        self._give_up = give_up
        self._lock = threading.Lock()
        self._copies: Mapping[str, Tensor] | None = None

    @property
    def is_made(self) -> bool:
        """Whether the tensors may change."""
        return self._copies is not None

    def result(self) -> Mapping[str, Tensor]:
        """The copies, of a sharded tensor only this rank's shard. Waits until they are made; from any thread."""
        with self._lock:
            if self._copies is None:
                self._copies = self._made()
                self._sources, self._staging = {}, None
            return self._copies

    def _made(self) -> Mapping[str, Tensor]:
        if self._staging is not None:
            try:
                return self._staging.result()
            except RuntimeError as error:
                report_pageable(list(self._sources.values()), error)
                self._give_up()
        return {name: tensor.to("cpu", copy=True) for name, tensor in self._sources.items()}


def host_copies(device: torch.device) -> HostCopies:
    """Those of a device."""
    if device.type != "cuda":
        return HostCopies()
    # Its stream is one of the current device, and must be one of the device with the tensors.
    with torch.cuda.device(device):
        stager = DefaultStager(StagingOptions(use_shared_memory=False))
    return HostCopies(stager, lambda: torch.cuda.current_stream(device).synchronize())
