"""Mixed precision of trained weights: one rule for a single process and for sharded weights."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import nn

#: Data types of matrix products beside weights in float32.
SHORT_TYPES = (torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class MixedPrecision:
    """Computes matrix products in a short data type; weights, norms and the residual stream stay in float32.

    Attributes:
        compute_dtype: Data type of matrix products; None: that of the weights, for all operations.
    """

    compute_dtype: torch.dtype | None

    def autocast(self, device: torch.device) -> AbstractContextManager[object]:
        """The context of a forward pass: rounds the operands of matrix products."""
        if self.compute_dtype is None:
            return nullcontext()
        return torch.autocast(device.type, dtype=self.compute_dtype)

    def gathered_dtype(self, module: nn.Module) -> torch.dtype | None:
        """Data type in which the module's own weights may be gathered from shards; None: that of the weights.

        The operands of matrix products are rounded in `autocast` anyway, so rounding them before changes nothing.
        """
        return None if _is_used_in_float32(module) else self.compute_dtype


def _is_used_in_float32(module: nn.Module) -> bool:
    """Whether the module's own weights are not operands of a matrix product: embeddings, and the scales of norms."""
    own = list(module.parameters(recurse=False))
    return isinstance(module, nn.Embedding) or (len(own) > 0 and all(weight.dim() <= 1 for weight in own))
