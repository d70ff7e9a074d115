"""One step of Adam with bias correction (Kingma & Ba 2015) and decoupled weight decay (Loshchilov & Hutter 2019)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.utils import get_total_norm

from agentlightning_runtime.engine.ranks import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import nn

    from agentlightning_runtime.engine.batch import AdamParameters


class Adam:
    """The optimizer of one model: torch's fused kernel, with its state by the names of the weights.

    Args:
        weights: The trained weights by name; updated in place.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter]) -> None:
        self._weights = weights
        self._optimizer = torch.optim.AdamW(weights.values(), lr=0.0, fused=True)

    @torch.no_grad()
    def gradient_norm(self) -> float:
        """The global 2-norm of the gradients, in float32; not finite as soon as one gradient is not."""
        gradients = [weight.grad for weight in self._weights.values() if weight.grad is not None]
        norm = get_total_norm(gradients)
        return float(whole(norm))

    @torch.no_grad()
    def step(self, adam: AdamParameters, gradient_norm: float) -> None:
        """Updates the weights; gradients that exceed the clip norm are scaled down to it first."""
        if 0 < adam.gradient_clip_norm < gradient_norm and math.isfinite(gradient_norm):
            scale = adam.gradient_clip_norm / gradient_norm
            for weight in self._weights.values():
                if weight.grad is not None:
                    weight.grad.mul_(scale)
        for group in self._optimizer.param_groups:
            group["lr"] = adam.learning_rate
            group["betas"] = (adam.beta1, adam.beta2)
            group["eps"] = adam.epsilon
            group["weight_decay"] = adam.weight_decay
        # A weight without gradient still decays and updates its moments, as the contract's Adam does.
        for weight in self._weights.values():
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        self._optimizer.step()

    def clear_gradients(self) -> None:
        """Discards the accumulated gradients and frees their memory."""
        self._optimizer.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        """Both moments and the step count of each weight, sharded as the weight; empty before the first step.

        They are the optimizer's own tensors: a step changes them.
        """
        return {
            f"{name}/{field}": value
            for name, weight in self._weights.items()
            for field, value in self._optimizer.state.get(weight, {}).items()
        }

    @torch.no_grad()
    def prepare_state(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Makes exactly the named tensors of `state`, to be filled from a checkpoint."""
        self._optimizer.state.clear()
        for name in names:
            weight_name, _, field = name.rpartition("/")
            weight = self._weights[weight_name]
            is_count = field == "step"
            value = torch.zeros((), device=weight.device) if is_count else torch.zeros_like(weight)
            self._optimizer.state[weight][field] = value
        return self.state()
