"""The output head in float32, in trainer and sampler.

In bfloat16 a logit of 20 is rounded to steps of 1/8, and the rounding of trainer and sampler differs as soon as their
hidden states differ in the last bit. Everything before the logits stays in bfloat16.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from agentlightning_runtime.engine.base.mixed_precision import SHORT_TYPES


def float32_product(left: Tensor, right: Tensor) -> Tensor:
    """The product of two matrices in float32 at least. Products of short numbers are exact; their sums are rounded.

    Has no gradient on CUDA, where short operands are not copied.
    """
    if left.is_cuda and left.dtype == right.dtype and left.dtype in SHORT_TYPES:
        return torch.mm(left, right, out_dtype=torch.float32)
    if left.dtype in SHORT_TYPES or right.dtype in SHORT_TYPES:
        left, right = left.float(), right.float()
    return left @ right


def float32_logits(head: nn.Module, hidden: Tensor) -> Tensor:
    """The logits of hidden states, in float32 at least, regardless of `autocast`.

    A head that is not a plain linear layer, such as one with a LoRA, is called unchanged.
    """
    if type(head) is not nn.Linear or not _is_short(head, hidden.device):
        return head(hidden)
    bias: Tensor | None = getattr(head, "bias", None)
    with torch.autocast(hidden.device.type, enabled=False):
        if bias is None and not torch.is_grad_enabled():
            return float32_product(hidden.flatten(0, -2), head.weight.T).unflatten(0, hidden.shape[:-1])
        return nn.functional.linear(hidden.float(), head.weight.float(), None if bias is None else bias.float())


class Float32Head(nn.Module):
    """A head whose logits are in float32; the data type of its weights does not change."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, hidden: Tensor) -> Tensor:
        """The logits."""
        return float32_logits(self.head, hidden)


def _is_short(head: nn.Linear, device: torch.device) -> bool:
    return head.weight.dtype in SHORT_TYPES or torch.is_autocast_enabled(device.type)
