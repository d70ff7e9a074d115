"""The accumulated gradients of the trained weights, which a failed attempt at a batch must not change."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from torch import Tensor, nn


class GradientAccumulator:
    """Allocates the gradients before a batch, and restores them when the batch is repeated.

    Args:
        weights: The trained weights.
        is_restorable: Whether a batch may be repeated. If so, gradients of earlier batches are copied to host memory
            before each further batch of the step: 4 bytes for each trained weight.
    """

    def __init__(self, weights: Iterable[nn.Parameter], *, is_restorable: bool) -> None:
        self._weights = list(weights)
        self._is_restorable = is_restorable

    @contextmanager
    def batch(self) -> Generator[Callable[[], None]]:
        """Surrounds the passes of a batch; the yielded function restores the gradients of earlier batches."""
        is_first = all(weight.grad is None for weight in self._weights)
        gradients = [self._allocated(weight) for weight in self._weights]
        keeps = self._is_restorable and not is_first
        saved = [gradient.to("cpu", copy=True) for gradient in gradients] if keeps else []

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
        """The gradient; allocated before the first pass, so that the memory measured in it is that of activations."""
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        return weight.grad
