"""Norms, rotary embeddings and gated layers as one kernel each, by Liger where it is installed and knows the model.

They save memory and time in training, where each kernel that they replace reads and writes all activations. Decoding
computes one token of each response, so that a kernel takes less time than its call, and calls of Liger's take longer.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import PreTrainedModel

_PATCHES = "liger_kernel.transformers.monkey_patch"
_ROTARY = "apply_rotary_pos_emb"


def has_fused_kernels() -> bool:
    """Whether Liger is installed."""
    return find_spec("liger_kernel") is not None


def fuse_kernels(causal_lm: PreTrainedModel, device: torch.device) -> bool:
    """Makes a model on a GPU compute with fused kernels in training; copies of it do too.

    Returns:
        Whether it does: not on a CPU, without Liger, or for models that Liger does not know.
    """
    if device.type != "cuda" or not has_fused_kernels():
        return False
    patches: Any = import_module(_PATCHES)
    apply = patches.MODEL_TYPE_TO_APPLY_LIGER_FN.get(causal_lm.config.model_type)
    modeling = sys.modules.get(type(causal_lm).__module__)
    if apply is None or modeling is None:
        return False
    # The output layer of this runtime has its own loss.
    wanted = {"cross_entropy": False, "fused_linear_cross_entropy": False}
    before = dict(vars(modeling))
    apply(model=causal_lm, **{name: wanted[name] for name in wanted if name in inspect.signature(apply).parameters})
    # Liger also replaces names of the module, for all models of the process: the model itself keeps what it has.
    for name, value in before.items():
        now: Any = vars(modeling).get(name)
        if now is not value:
            is_first = name == _ROTARY and not isinstance(value, _RotaryInTraining)
            setattr(modeling, name, _RotaryInTraining(now, value) if is_first else value)
    return True


def use_plain_kernels(module: nn.Module) -> None:
    """Undoes `fuse_kernels`, for a copy that decodes."""
    for each in module.modules():
        if str(getattr(vars(each).get("forward"), "__module__", "")).startswith("liger_kernel"):
            del each.forward


class _RotaryInTraining:
    """The rotary embedding, which models look up by name in every call: fused on a GPU, in training only.

    Args:
        fused: Liger's.
        plain: That of Transformers.
    """

    def __init__(self, fused: Callable[..., Any], plain: Callable[..., Any]) -> None:
        self._fused = fused
        self._plain = plain

    def __call__(self, query: Tensor, *others: Any, **named: Any) -> Any:
        """Queries and keys, turned by their positions."""
        return (self._fused if query.is_cuda and torch.is_grad_enabled() else self._plain)(query, *others, **named)
