"""AdamW with moments in eight bits, quantised in blocks of 256 values (Dettmers et al. 2022), by bitsandbytes.

Blocks do not cross rows of a weight, so shards of rows have the blocks of the whole weight: a step does not depend on
the number of ranks, and a checkpoint can be loaded by any number.

Only weights whose rows are multiples of a block are quantised, so models with other widths gain little. torchao's
`AdamW8bit` accepts sharded tensors, but compiles its step, which needs a C++ compiler on a CPU, and quantises
depending on the size of a shard. Moments saved in float32 would change when they are quantised again, so a resumed
run would differ.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from agentlightning_runtime.engine.base.ranks import local
from agentlightning_runtime.engine.experimental.bitsandbytes_package import bitsandbytes

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping

    from agentlightning_runtime.contract.batch import AdamParameters

#: Values that share a scale.
_BLOCK = 256
#: Weights with fewer values keep float32 moments: there is little to save. bitsandbytes' default.
_FEWEST_VALUES = 4096
#: Bytes of both moments for each value, with their scales.
_BYTES_PER_VALUE = 2 + 2 * 4 / _BLOCK

_VALUES = ("state1", "state2")
_SCALES = ("absmax1", "absmax2")


def eight_bit_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> frozenset[str]:
    """Names of the weights whose moments are quantised.

    Those of embeddings are not, which is unstable (Dettmers et al. 2022), nor those of small weights and of weights
    whose rows are not multiples of a block.
    """

    def is_quantised(name: str, weight: Tensor) -> bool:
        module = network.get_submodule(name.rpartition(".")[0])
        is_matrix = weight.dim() > 1 and weight.shape[-1] % _BLOCK == 0
        return is_matrix and weight.numel() >= _FEWEST_VALUES and not isinstance(module, nn.Embedding)

    return frozenset(name for name, weight in weights.items() if is_quantised(name, weight))


def moment_bytes(weights: Mapping[str, Tensor], eight_bit: Collection[str]) -> int:
    """Bytes of the moments of all weights, those of `eight_bit` quantised."""
    return sum(
        round(weight.numel() * (_BYTES_PER_VALUE if name in eight_bit else 8)) for name, weight in weights.items()
    )


class EightBitAdam:
    """The optimizer of some weights of a model.

    Args:
        weights: Weights by name, with a gradient before each step; updated in place.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter]) -> None:
        self._weights = weights
        # During a step these are the weights, of sharded ones this rank's shards; otherwise they are empty.
        self._own = {
            name: nn.Parameter(torch.empty(0, dtype=weight.dtype, device=weight.device))
            for name, weight in weights.items()
        }
        self._optimizer: Any = bitsandbytes().optim.AdamW8bit(list(self._own.values()), min_8bit_size=0)
        self._steps = torch.zeros(())

    @torch.no_grad()
    def allocate(self) -> None:
        """Allocates the moments; does nothing when they exist."""
        group = self._optimizer.param_groups[0]
        with self._attached():
            for index, own in enumerate(self._own.values()):
                if own not in self._optimizer.state:
                    self._optimizer.init_state(group, own, 0, index)

    @torch.no_grad()
    def step(self, adam: AdamParameters) -> None:
        """Updates the weights."""
        self.allocate()
        (group,) = self._optimizer.param_groups
        group["lr"], group["eps"] = adam.learning_rate, adam.epsilon
        group["betas"], group["weight_decay"] = (adam.beta1, adam.beta2), adam.weight_decay
        with self._attached():
            for name, own in self._own.items():
                self._optimizer.state[own]["step"] = int(self._steps)
                gradient = self._weights[name].grad
                if gradient is not None and own.numel() > 0:
                    own.grad = local(gradient)
            self._optimizer.step()
            self._steps += 1

    def state(self) -> dict[str, Tensor]:
        """Moments, their scales and the step count of each weight, sharded as the weight; empty before the first step.

        They are the optimizer's own tensors: a step changes them.
        """
        found: dict[str, Tensor] = {}
        for name, own in self._own.items():
            tensors = self._optimizer.state.get(own)
            if tensors is None:
                continue
            weight = self._weights[name]
            scales = torch.Size((*weight.shape[:-1], weight.shape[-1] // _BLOCK))
            found[f"{name}/step"] = self._steps
            found |= {f"{name}/{field}": _sharded_as(weight, tensors[field], weight.shape) for field in _VALUES}
            found |= {f"{name}/{field}": _sharded_as(weight, tensors[field], scales) for field in _SCALES}
        return found

    def prepare_state(self, *, is_empty: bool) -> None:
        """Makes the tensors of `state`, to be filled from a checkpoint.

        Args:
            is_empty: Whether there are none: before the first step.
        """
        self._optimizer.state.clear()
        self._steps.zero_()
        if not is_empty:
            self.allocate()

    @contextmanager
    def _attached(self) -> Generator[None]:
        for name, own in self._own.items():
            own.data = local(self._weights[name].detach())
        try:
            yield
        finally:
            for own in self._own.values():
                own.data, own.grad = own.data.new_empty(0), None


def _sharded_as(weight: Tensor, own: Tensor, shape: torch.Size) -> Tensor:
    """A tensor of the shape, whose shard on this rank is `own`, with the rows that the weight has there."""
    if not isinstance(weight, DTensor):
        return own.view(shape)
    strides = torch.empty(shape, device="meta").stride()
    rows = own.view(weight.to_local().shape[0], *shape[1:])
    return DTensor.from_local(rows, weight.device_mesh, weight.placements, run_check=False, shape=shape, stride=strides)
