"""Transformation of the head's product into logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


@dataclass(frozen=True)
class LogitRule:
    """Transformation of the product of hidden state and output embeddings; the identity for most models.

    Attributes:
        scale: Logits are multiplied by it (Cohere's `logit_scale`; one over Granite's `logits_scaling`).
        softcap: Logits are `softcap * tanh(logits / softcap)` (Gemma 2). 0: disabled.
        output_size: Number of leading token ids that can be generated.
    """

    scale: float
    softcap: float
    output_size: int

    @staticmethod
    def of(config: PreTrainedConfig, output_size: int) -> LogitRule:
        """The transformation from a model's config."""
        scale = float(getattr(config, "logit_scale", None) or 1.0)
        scale /= float(getattr(config, "logits_scaling", None) or 1.0)
        return LogitRule(scale, float(getattr(config, "final_logit_softcapping", None) or 0.0), output_size)

    def apply(self, logits: Tensor) -> Tensor:
        """The model's logits, in float32 or better."""
        kept = logits[:, : self.output_size]
        scaled = kept if kept.dtype == torch.float64 else kept.float()
        if self.scale != 1:
            scaled = scaled * self.scale
        return self.softcap * torch.tanh(scaled / self.softcap) if self.softcap > 0 else scaled

    def backward(self, logits: Tensor, gradient: Tensor, temperatures: Tensor) -> Tensor:
        """The gradient of the head's product.

        Args:
            logits: The result of `apply`, divided by the temperatures.
            gradient: The gradient of `logits`; it may be changed in place.
            temperatures: One for each row.
        """
        product = gradient.div_(temperatures[:, None])
        if self.softcap > 0:
            product.mul_(1 - (logits * temperatures[:, None] / self.softcap).square())
        return product if self.scale == 1 else product.mul_(self.scale)
