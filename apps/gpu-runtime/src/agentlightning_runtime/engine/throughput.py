"""Floating-point operations of a pass, and the utilisation of the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from agentlightning_runtime.engine.models.loaded_model import output_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.example import Example

#: Dense bfloat16 multiply-adds of tensor cores, times two, for each second; from the vendors' data sheets.
_PEAK_FLOPS = {
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "H20": 148e12,
    "B200": 2250e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
    "A10": 125e12,
    "RTX 4090": 165e12,
    "RTX 3090": 71e12,
    "T4": 65e12,
}


@dataclass(frozen=True)
class ModelCost:
    """Floating-point operations of a model, after Chowdhery et al. 2022, appendix B.

    Attributes:
        body: Weights applied to every token: all except the input and output embeddings.
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
            weight.numel()
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
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for part, peak in _PEAK_FLOPS.items() if part in name), None)


def memory_gauges(device: torch.device) -> dict[str, float]:
    """Memory of the device in bytes; of the process on a CPU."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return {
            "memory/used_bytes": float(total - free),
            "memory/total_bytes": float(total),
            "memory/allocated_bytes": float(torch.cuda.memory_allocated(device)),
            "memory/peak_bytes": float(torch.cuda.max_memory_allocated(device)),
        }
    return process_memory()


def process_memory() -> dict[str, float]:
    """Resident memory of this process in bytes; empty on kernels that do not report it."""
    names = {"VmRSS": "memory/used_bytes", "VmHWM": "memory/peak_bytes"}
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 -- not a file on a disk
            lines = [line.split() for line in status]
    except OSError:
        return {}
    return {names[line[0][:-1]]: float(line[1]) * 1024 for line in lines if line and line[0][:-1] in names}
