"""The whole weights of a sharded network, in host memory of rank 0 while a backend takes them over."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch import nn

from agentlightning_runtime.engine.base.ranks import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.base.ranks import Ranks

#: Prefix of the causal model in the names of a network's weights.
_PREFIX = "causal_lm."


class GatheredModel:
    """A copy of a sharded model for serving.

    Args:
        make: Makes a model whose trained weights are replaced by the gathered ones; called on rank 0.
        dtype: Data type of the gathered weights; None: that of the trained weights.
        device: The device of the copy.
        ranks: The processes that train it; only rank 0 serves.
    """

    def __init__(
        self, make: Callable[[], PreTrainedModel], dtype: torch.dtype | None, device: torch.device, ranks: Ranks
    ) -> None:
        self._make = make
        self._dtype = dtype
        self._device = device
        self._ranks = ranks
        self._tensors: Mapping[str, Tensor] = {}

    @contextmanager
    def gathered(self, weights: Mapping[str, nn.Parameter]) -> Generator[None]:
        """Holds the whole weights within the block, gathered one after another. All ranks must call this."""
        tensors: dict[str, Tensor] = {}
        for name, weight in weights.items():
            gathered = whole(weight.detach().to(self._dtype or weight.dtype))
            if self._ranks.index == 0 and name.startswith(_PREFIX):
                tensors[name.removeprefix(_PREFIX)] = gathered.cpu()
            del gathered
        self._tensors = tensors
        try:
            yield
        finally:
            self._tensors = {}

    def weights(self) -> dict[str, Tensor]:
        """The gathered weights by their names in the network; tied ones once."""
        return {_PREFIX + name: tensor for name, tensor in self._tensors.items()}

    def module(self) -> PreTrainedModel:
        """A frozen model on the device with the gathered weights."""
        model = self._make()
        tensors = {name: tensor.to(self._device) for name, tensor in self._tensors.items()}
        model.load_state_dict(tensors, strict=False, assign=True)
        model.tie_weights()
        nn.Module.to(model, device=self._device)
        return model.requires_grad_(requires_grad=False)
