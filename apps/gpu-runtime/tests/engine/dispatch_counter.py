"""Counts what a pass launches, moves and keeps, also of tensors without memory."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Collection


class DispatchCounter(TorchDispatchMode):
    """Counts operations of a device, and the bytes that they read and write; views cost nothing.

    Attributes:
        launches: Operations that are not views.
        moved: Bytes read and written.
        casts: Operations that change the data type of a tensor, each with the bytes that it reads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.launches = 0
        self.moved = 0
        self.casts: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        read, written = (
            [each for each in tree_leaves(some) if isinstance(each, Tensor)] for some in ((args, kwargs), result)
        )
        if not func.is_view and written:
            self.launches += 1
            self.moved += sum(map(bytes_of, read)) + sum(map(bytes_of, written))
            if func is torch.ops.aten._to_copy.default and read[0].dtype != written[0].dtype:
                self.casts.append(bytes_of(read[0]))
        return result


def bytes_of(tensor: Tensor) -> int:
    """Bytes of a tensor's elements."""
    return tensor.numel() * tensor.element_size()


class KeptBytes(torch.autograd.graph.saved_tensors_hooks):
    """Bytes that a forward pass keeps for the backward pass, besides the weights.

    Args:
        weights: Not counted.
    """

    def __init__(self, weights: Collection[Tensor]) -> None:
        self._known = {each.untyped_storage()._cdata for each in weights}
        self._kept: list[Tensor] = []
        self.total = 0
        super().__init__(self._keep, lambda tensor: tensor)

    def _keep(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._known:
            self._known.add(storage._cdata)
            # Of a storage that is freed, another could have the address.
            self._kept.append(tensor)
            self.total += storage.nbytes()
        return tensor
