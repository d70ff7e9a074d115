"""The whole weights of a sharded network, gathered by all ranks whenever rank 0 reads them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import nn

from agentlightning_runtime.engine.base.ranks import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from torch import Tensor
    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.base.ranks import Ranks

Result = TypeVar("Result")

#: Prefix of the causal model in the names of a network's weights.
_PREFIX = "causal_lm."


class GatheredModel:
    """Reads a sharded model tensor by tensor, so that no rank holds all of it unless the reader keeps it.

    Args:
        weights: The sharded weights by their names in the network.
        make: Makes a model whose trained weights are replaced by the gathered ones; called on rank 0.
        dtype: Data type of the gathered weights.
        device: The device of the copy.
        ranks: The processes that train it; only rank 0 serves.
    """

    def __init__(
        self,
        weights: Mapping[str, nn.Parameter],
        make: Callable[[], PreTrainedModel],
        dtype: torch.dtype,
        device: torch.device,
        ranks: Ranks,
    ) -> None:
        self._weights = {name: weight for name, weight in weights.items() if name.startswith(_PREFIX)}
        self._make = make
        self._dtype = dtype
        self._device = device
        self._ranks = ranks
        self._unread: Generator[tuple[str, Tensor]] | None = None

    def reading(self, work: Callable[[], Result]) -> Result:
        """Runs work that may read the weights on rank 0. All ranks must call this.

        The other ranks gather with rank 0 until its work has ended, then run theirs.
        """
        if self._ranks.index > 0:
            while self._ranks.tell(None):
                for _ in self._gather():
                    pass
            return work()
        try:
            return work()
        finally:
            self._read_the_rest()
            self._ranks.tell(False)

    def tensors(self) -> Generator[tuple[str, Tensor]]:
        """The weights by their names in the network, on the device, one after another; tied ones once.

        Only within `reading`, on rank 0. What a reader leaves is gathered and dropped: the other ranks wait for it.
        """
        if self._ranks.index > 0:
            # It would wait for the others forever.
            raise RuntimeError(f"Rank {self._ranks.index} read the whole weights; only rank 0 serves")
        self._read_the_rest()
        self._ranks.tell(True)
        self._unread = self._gather()
        for pair in self._unread:  # noqa: UP028 -- `yield from` would end the gather with a reader that stops early
            yield pair

    def weights(self) -> dict[str, Tensor]:
        """All of them in host memory."""
        return {name: tensor.cpu() for name, tensor in self.tensors()}

    def module(self) -> PreTrainedModel:
        """A frozen model on the device with the gathered weights."""
        model = self._make()
        tensors = {name.removeprefix(_PREFIX): tensor.to(self._device) for name, tensor in self.tensors()}
        model.load_state_dict(tensors, strict=False, assign=True)
        model.tie_weights()
        nn.Module.to(model, device=self._device)
        return model.requires_grad_(requires_grad=False)

    @torch.no_grad()
    def _gather(self) -> Generator[tuple[str, Tensor]]:
        for name, weight in self._weights.items():
            yield name, whole(weight.detach().to(self._dtype))

    def _read_the_rest(self) -> None:
        unread, self._unread = self._unread, None
        if unread is None:
            return
        if inspect.getgeneratorstate(unread) == inspect.GEN_RUNNING:
            message = "A reader of the weights did not end, and the other processes wait for it"
            raise RuntimeError(message)
        for _ in unread:
            pass
