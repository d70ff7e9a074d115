"""Models without weights: built at once, sharded before any memory is allocated, then filled."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import torch
from accelerate import init_empty_weights
from torch.distributed.tensor import DTensor, Shard

from agentlightning_runtime.engine.loading.model_class import model_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

    from agentlightning_runtime.engine.loading.weight_files import WeightSource


def empty_model(config: PreTrainedConfig, dtype: torch.dtype) -> PreTrainedModel:
    """A frozen model whose parameters are on the meta device.

    Its buffers have their values: those that are in no file, such as rotary frequencies, are computed here.
    """
    with init_empty_weights(include_buffers=False):
        causal_lm: PreTrainedModel = model_class(config).from_config(config, dtype=dtype)
    causal_lm.tie_weights()
    causal_lm.requires_grad_(requires_grad=False)
    return causal_lm.eval()


def allocate(module: nn.Module, device: torch.device) -> None:
    """Allocates the parameters of a module on the meta device, of sharded ones this rank's shard. Values are undefined.

    Tied parameters stay tied; buffers, and parameters that have memory, are moved with their values.
    """
    names_by_weight: dict[int, list[str]] = defaultdict(list)
    for name, weight in module.named_parameters(remove_duplicate=False):
        names_by_weight[id(weight)].append(name)
    buffers = dict(module.named_buffers())
    # `to_empty` also changes parameters in place.
    values = {name: weight.detach().clone() for name, weight in module.named_parameters() if not weight.is_meta}
    module.to_empty(device=device)
    for first, *others in names_by_weight.values():
        for name in others:
            owner, _, leaf = name.rpartition(".")
            setattr(module.get_submodule(owner), leaf, module.get_parameter(first))
    for name, buffer in module.named_buffers():
        buffer.copy_(buffers[name])
    with torch.no_grad():
        for name, value in values.items():
            module.get_parameter(name).copy_(value)


@torch.no_grad()
def fill(weights: Mapping[str, Tensor], source: WeightSource, dtype: torch.dtype) -> None:
    """Copies the weights of a base model, of sharded ones this rank's part.

    Args:
        weights: The allocated weights, by their names in the source.
        source: The weights of the base model.
        dtype: Data type of the base model: values are rounded to it, also in a weight with another data type.
    """
    for name, weight in weights.items():
        own, region = own_region(weight)
        if own.numel() > 0:
            rows = source.rows(name, region[0] if region else slice(None))
            own.copy_(rows[(slice(None), *region[1:]) if region else ()].to(dtype))


def own_region(weight: Tensor) -> tuple[Tensor, tuple[slice, ...]]:
    """The part of a weight on this rank, and its place in the whole weight: empty for all of it."""
    if not isinstance(weight, DTensor):
        return weight.detach(), ()
    own = weight.to_local().detach()
    region = [slice(None)] * weight.dim()
    for axis, placement in enumerate(weight.placements):
        if isinstance(placement, Shard):
            # Each rank has the same number of rows or columns as far as they suffice.
            dimension = placement.dim % weight.dim()
            start = weight.device_mesh.get_local_rank(axis) * -(
                -weight.shape[dimension] // weight.device_mesh.size(axis)
            )
            region[dimension] = slice(start, start + own.shape[dimension])
    return own, tuple(region)
