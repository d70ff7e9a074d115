"""Peak memory of tensors, counted at every operation."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


class PeakMemory(TorchDispatchMode):
    """Counts the bytes of the storages that operations within it create, while they live.

    Attributes:
        peak: Largest number of bytes at a time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._live: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = {id(each.untyped_storage()) for each in pytree.tree_leaves(args) if isinstance(each, torch.Tensor)}
        for tensor in pytree.tree_leaves(result):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            key = storage.data_ptr()
            if key in self._live or id(storage) in given:
                continue
            self._live[key] = storage.nbytes()
            weakref.finalize(storage, self._live.pop, key, None)
        self.peak = max(self.peak, sum(self._live.values()))
        return result
