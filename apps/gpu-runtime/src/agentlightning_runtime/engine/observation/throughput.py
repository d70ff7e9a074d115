"""Floating-point operations of a pass, and the utilisation of the device."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from agentlightning_runtime.engine.loading.loaded_model import output_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PretrainedConfig, PreTrainedModel

    from agentlightning_runtime.engine.base.example import Example

#: Dense bfloat16 multiply-adds of tensor cores (float16 on those without), times two, for each second; from the
#: vendors' data sheets. A name is that of a device when its words follow one another in the device's name.
_PEAK_FLOPS = {
    "GH200": 989e12,
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H100": 989e12,
    "H20": 148e12,
    "B200": 2250e12,
    "A100": 312e12,
    "A30": 165e12,
    "A40": 150e12,
    "L40S": 362e12,
    "L40": 181e12,
    "L4": 121e12,
    "A10G": 70e12,
    "A10": 125e12,
    "RTX A6000": 155e12,
    "RTX 4090": 165e12,
    "RTX 3090": 71e12,
    "V100": 125e12,
    "T4": 65e12,
}


@dataclass(frozen=True)
class ModelCost:
    """Floating-point operations of a model, after Chowdhery et al. 2022, appendix B.

    Attributes:
        body: Weights applied to every token: all except the input and output embeddings, and of experts the share that
            a token is routed to.
        head: Weights of the output embeddings; applied to trained tokens only.
        attention: Layers times heads times their dimension; the product may differ from the model's width.
        passes: Matrix products with the weights for each token: forward, and backward by the activations;
            3 when the weights' own gradients are wanted too.
    """

    body: int
    head: int
    attention: int
    passes: int

    @staticmethod
    def of(causal_lm: PreTrainedModel, *, trains_all: bool) -> ModelCost:
        """The cost of a model; the matrices of LoRA are not counted."""
        config = causal_lm.config
        head = output_head(causal_lm).weight
        tables = {id(causal_lm.get_input_embeddings().weight), id(head)}
        body = sum(
            round(weight.numel() * _used_fraction(name, config))
            for name, weight in causal_lm.named_parameters()
            if id(weight) not in tables and ".lora_" not in name
        )
        heads = int(getattr(config, "num_attention_heads", 0) or 0)
        model_width = int(getattr(config, "hidden_size", 0) or 0)
        head_width = int(getattr(config, "head_dim", 0) or 0) or model_width // max(1, heads)
        layers = int(getattr(config, "num_hidden_layers", 0) or 0)
        return ModelCost(body, head.numel(), layers * heads * head_width, passes=3 if trains_all else 2)

    def flops(self, examples: Sequence[Example], *, is_backward: bool, computed: float = 1.0) -> float:
        """The floating-point operations of a pass over the examples; attention is causal: a token sees those before.

        Args:
            examples: Sequences.
            is_backward: Whether gradients are computed.
            computed: Fraction of their tokens that is computed: below 1 when they share prefixes.
        """
        passes = self.passes if is_backward else 1
        attention_passes = 3 if is_backward else 1
        total = 0.0
        for example in examples:
            tokens = example.length
            total += 2 * passes * (self.body * tokens * computed + self.head * len(example.positions))
            total += 4 * attention_passes * self.attention * computed * tokens * (tokens + 1) / 2
        return total


def peak_flops(device: torch.device) -> float | None:
    """Peak FLOP/s of the device; None when unknown."""
    return None if device.type != "cuda" else peak_flops_of(torch.cuda.get_device_name(device))


def peak_flops_of(name: str) -> float | None:
    """Peak FLOP/s of a device by its name, such as `NVIDIA H100 80GB HBM3`; None when unknown."""
    words = f" {re.sub('[^A-Za-z0-9]+', ' ', name)} "
    return next((peak for known, peak in _PEAK_FLOPS.items() if f" {known} " in words), None)


def _used_fraction(weight_name: str, config: PretrainedConfig) -> float:
    """The fraction of a weight that a token is multiplied with: of the experts it uses the chosen ones."""
    if ".experts." not in weight_name:
        return 1.0
    counts = (getattr(config, name, None) for name in ("num_experts", "num_local_experts", "n_routed_experts"))
    experts = next((int(count) for count in counts if count), 0)
    chosen = int(getattr(config, "num_experts_per_tok", 0) or 0)
    return chosen / experts if experts and chosen else 1.0
