"""The accumulated gradients of the trained weights, which a failed attempt at a batch must not change."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch.distributed.tensor import DTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from torch import Tensor, nn


class GradientAccumulator:
    """Allocates the gradients before a batch, and restores them when the batch is repeated.

    Gradients of earlier batches are copied to host memory before each further batch of the step: 4 bytes for each
    trained weight of this rank.

    Args:
        weights: The trained weights.
    """

    def __init__(self, weights: Iterable[nn.Parameter]) -> None:
        self._weights = list(weights)

    @contextmanager
    def batch(self) -> Generator[Callable[[], None]]:
        """Surrounds the passes of a batch; the yielded function restores the gradients of earlier batches."""
        is_first = all(weight.grad is None for weight in self._weights)
        gradients = [self._allocated(weight) for weight in self._weights]
        saved = [] if is_first else [gradient.to("cpu", copy=True) for gradient in gradients]

        def restore() -> None:
            if is_first:
                for gradient in gradients:
                    gradient.zero_()
                return
            for gradient, before in zip(gradients, saved, strict=True):
                gradient.copy_(before)

        yield restore

    @staticmethod
    def _allocated(weight: nn.Parameter) -> Tensor:
        """The gradient, of a sharded weight this rank's part.

        It is allocated before the first pass, so that the memory measured in it is that of activations.
        """
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        return weight.grad.to_local() if isinstance(weight.grad, DTensor) else weight.grad
