"""One step of Adam with bias correction (Kingma & Ba 2015) and decoupled weight decay (Loshchilov & Hutter 2019)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn.utils import get_total_norm

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.base.ranks import local, whole
from agentlightning_runtime.engine.experimental.eight_bit_adam import EightBitAdam

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from torch import nn

    from agentlightning_runtime.contract.batch import AdamParameters

#: Fields of the state of torch's AdamW.
_FIELDS = frozenset(("step", "exp_avg", "exp_avg_sq"))


class Adam:
    """The optimizer of one model: torch's fused kernel, with its state by the names of the weights.

    Args:
        weights: The trained weights by name; updated in place.
        eight_bit: Names of the weights whose moments are quantised; those of the others are in float32.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], eight_bit: Collection[str] = ()) -> None:
        self._weights = weights
        self._in_float32 = {name: weight for name, weight in weights.items() if name not in eight_bit}
        groups = [{"params": group} for group in _by_sharding(self._in_float32.values())]
        self._optimizer = torch.optim.AdamW(groups, lr=0.0, fused=True)
        self._eight_bit = EightBitAdam({name: weights[name] for name in eight_bit}) if eight_bit else None

    @torch.no_grad()
    def gradient_norm(self) -> float:
        """The global 2-norm of the gradients, in float32; not finite as soon as one gradient is not."""
        gradients = [weight.grad for weight in self._weights.values() if weight.grad is not None]
        return math.hypot(*(float(whole(get_total_norm(group))) for group in _by_sharding(gradients) if group))

    @torch.no_grad()
    def step(self, adam: AdamParameters, gradient_norm: float) -> None:
        """Updates the weights; gradients that exceed the clip norm are scaled down to it first."""
        if 0 < adam.gradient_clip_norm < gradient_norm and math.isfinite(gradient_norm):
            scale = adam.gradient_clip_norm / gradient_norm
            gradients = [local(weight.grad) for weight in self._weights.values() if weight.grad is not None]
            # In few kernels: a LoRA has hundreds of small matrices.
            torch._foreach_mul_(gradients, scale)  # pyright: ignore[reportPrivateImportUsage, reportPrivateUsage]
        for group in self._optimizer.param_groups:
            group["lr"] = adam.learning_rate
            group["betas"] = (adam.beta1, adam.beta2)
            group["eps"] = adam.epsilon
            group["weight_decay"] = adam.weight_decay
        # A weight without gradient still decays and updates its moments, as the contract's Adam does.
        for weight in self._weights.values():
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        if self._eight_bit is not None:
            # Before any weight is changed: memory may run out.
            self._eight_bit.allocate()
        self._optimizer.step()
        if self._eight_bit is not None:
            self._eight_bit.step(adam)

    def clear_gradients(self) -> None:
        """Discards the accumulated gradients and frees their memory."""
        for weight in self._weights.values():
            weight.grad = None

    def state(self) -> dict[str, Tensor]:
        """Both moments and the step count of each weight, sharded as the weight; empty before the first step.

        They are the optimizer's own tensors: a step changes them.
        """
        in_float32 = {
            f"{name}/{field}": value
            for name, weight in self._in_float32.items()
            for field, value in self._optimizer.state.get(weight, {}).items()
        }
        return in_float32 if self._eight_bit is None else {**in_float32, **self._eight_bit.state()}

    @torch.no_grad()
    def prepare_state(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Makes exactly the named tensors of `state`, to be filled from a checkpoint.

        Raises:
            EngineError: INVALID, before any change, when they are of another optimizer.
        """
        fields = [(weight_name, field) for weight_name, _, field in (name.rpartition("/") for name in names)]
        in_float32 = [(weight_name, field) for weight_name, field in fields if weight_name in self._in_float32]
        if any(field not in _FIELDS for _, field in in_float32):
            raise _other_optimizer("adamw-8bit")
        if any(field in _FIELDS - {"step"} and weight_name not in self._in_float32 for weight_name, field in fields):
            raise _other_optimizer("adamw")
        self._optimizer.state.clear()
        if self._eight_bit is not None:
            self._eight_bit.prepare_state(is_empty=len(fields) == len(in_float32))
        for weight_name, field in in_float32:
            weight = self._in_float32[weight_name]
            is_count = field == "step"
            value = torch.zeros((), device=weight.device) if is_count else torch.zeros_like(weight)
            self._optimizer.state[weight][field] = value
        return self.state()


def _by_sharding(tensors: Iterable[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The sharded tensors and the others: an operation on several tensors cannot have both."""
    found: tuple[list[Tensor], list[Tensor]] = [], []
    for tensor in tensors:
        found[0 if isinstance(tensor, DTensor) else 1].append(tensor)
    return found


def _other_optimizer(name: str) -> EngineError:
    message = f"The checkpoint has the moments of the optimizer {name}, and this runtime has another"
    remedy = f"Start it with --optimizer {name}"
    return EngineError(EngineErrorReason.INVALID, message, field="uri", remedy=remedy)
