"""Pinned host memory: a device copies to and from it at full speed, while the program continues."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

LOG = logging.getLogger(__name__)


def pinned_like(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Host memory of the shapes and types of tensors; pageable, with a log line, where it cannot be pinned.

    torch rounds each pinned tensor up to a power of two.
    """
    try:
        return [torch.empty_like(tensor, device="cpu", pin_memory=True) for tensor in tensors]
    except RuntimeError as error:
        report_pageable(tensors, error)
        return [torch.empty_like(tensor, device="cpu") for tensor in tensors]


def report_pageable(tensors: Sequence[Tensor], error: BaseException) -> None:
    """Logs that the host memory of tensors is not pinned."""
    size = sum(tensor.nbytes for tensor in tensors) / 2**30
    LOG.warning("%.1f GiB of host memory cannot be pinned, so copies to it are slower: %s", size, error)


def copy_all(targets: list[Tensor], sources: list[Tensor]) -> None:
    """Copies tensors to others. With pinned host memory on one side the program does not wait for the device."""
    torch._foreach_copy_(targets, sources, non_blocking=True)  # pyright: ignore[reportPrivateImportUsage, reportPrivateUsage]
