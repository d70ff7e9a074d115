"""The accumulated gradients of the trained weights, which a failed attempt at a batch must not change."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from agentlightning_runtime.engine.base.ranks import local
from agentlightning_runtime.engine.memory.out_of_memory import report_out_of_memory
from agentlightning_runtime.engine.memory.pinned_memory import copy_all, pinned_like

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from torch import Tensor, nn

    from agentlightning_runtime.engine.base.ranks import Ranks
    from agentlightning_runtime.engine.memory.device_memory import DeviceMemory

#: Share of the free memory that a copy on the device takes at most; the rest is for activations.
_COPY_SHARE = 0.25


class GradientAccumulator:
    """Allocates the gradients before a batch, and restores them when the batch is repeated.

    Gradients of earlier batches of the step are copied before each further one: 4 bytes for each trained weight. The
    copy is on the device until it takes more than a quarter of the free memory there, or memory runs out beside it.
    From then on it is in pinned host memory, which is allocated once. Sharded gradients are not copied: a rank with
    shards whose memory runs out ends.

    Args:
        weights: The trained weights.
        memory: Memory of the device; None: that of the host, where copies are always made.
        ranks: All of them copy to the same kind of memory.
        is_sharded: Weights of the network are sharded over them.
    """

    def __init__(
        self, weights: Iterable[nn.Parameter], memory: DeviceMemory | None, ranks: Ranks, *, is_sharded: bool = False
    ) -> None:
        self._weights = list(weights)
        self._is_sharded = is_sharded
        self._memory = memory
        self._ranks = ranks
        self._uses_host = False
        self._on_host: list[Tensor] = []

    @contextmanager
    def batch(self) -> Generator[Callable[[], bool]]:
        """Surrounds the passes of a batch.

        The yielded function restores the gradients of earlier batches, and returns whether that has freed memory of
        the device.
        """
        is_first = all(weight.grad is None for weight in self._weights)
        with report_out_of_memory(self._weights[0].device, "allocating the gradients", self._ranks):
            gradients = [self._allocated(weight) for weight in self._weights]
            copy: list[Tensor] = [] if is_first or self._is_sharded else self._copied(gradients)

        def restore() -> bool:
            nonlocal copy
            if self._is_sharded:
                raise RuntimeError("Gradients in shards are not copied, so they cannot be restored")
            if is_first:
                for gradient in gradients:
                    gradient.zero_()
                return False
            copy_all(gradients, copy)
            if self._memory is None or self._uses_host:
                return False
            copy = self._copied_to_host(gradients)
            return True

        yield restore

    def _copied(self, gradients: list[Tensor]) -> list[Tensor]:
        needed = sum(gradient.nbytes for gradient in gradients)
        if self._memory is not None and not self._uses_host:
            self._uses_host = needed > _COPY_SHARE * self._ranks.smallest(self._memory.available())
        if self._uses_host:
            return self._copied_to_host(gradients)
        copy = [torch.empty_like(gradient) for gradient in gradients]
        copy_all(copy, gradients)
        return copy

    def _copied_to_host(self, gradients: list[Tensor]) -> list[Tensor]:
        """Operations of the device after this one, in its order, do not change the copy."""
        self._uses_host = True
        self._on_host = self._on_host or pinned_like(gradients)
        copy_all(self._on_host, gradients)
        return self._on_host

    @staticmethod
    def _allocated(weight: nn.Parameter) -> Tensor:
        """The gradient, of a sharded weight this rank's part.

        It is allocated before the first pass, so that the memory measured in it is that of activations.
        """
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        return local(weight.grad)
