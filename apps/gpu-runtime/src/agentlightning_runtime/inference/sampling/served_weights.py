"""The weights of one policy version, separate from those in training."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from agentlightning_runtime.engine.loading.loaded_model import shared_objects
from agentlightning_runtime.engine.loss.float32_head import Float32Head
from agentlightning_runtime.engine.models.fused_kernels import use_plain_kernels
from agentlightning_runtime.engine.models.packed_attention import use_plain_attention


@dataclass(frozen=True)
class ServedWeights:
    """An immutable model and its policy version.

    Attributes:
        compute_dtype: data type of matrix products; None: that of the weights.
        copied: marks the end of their copy on the device (`SamplingDevice.mark`).
    """

    module: nn.Module
    version: int
    compute_dtype: torch.dtype | None = None
    copied: Any = None


def snapshot_weights(module: nn.Module, version: int, compute_dtype: torch.dtype | None = None) -> ServedWeights:
    """Copies trained weights and shares frozen ones.

    With LoRA only the adapter is copied; the base model stays in memory once. The copy computes exactly what the module
    computes at this moment, adapters unmerged, so the sampler's log-probabilities are those of the trainer: operands of
    matrix products are rounded once, in the copy, as autocast would in every step. Call it between two steps of
    training, in the training thread.
    """
    memo = {**shared_objects(module, frozen_only=True), **_rounded_operands(module, compute_dtype)}
    twin = copy.deepcopy(module, memo)
    for parameter in twin.parameters():
        parameter.grad = None
        # Shared parameters are already frozen; the others belong to the copy.
        if parameter.requires_grad:
            parameter.requires_grad_(False)
    twin.eval()
    use_plain_kernels(twin)
    if isinstance(twin, PreTrainedModel):
        use_plain_attention(twin)
    head = twin.get_output_embeddings() if isinstance(twin, PreTrainedModel) else None
    if isinstance(twin, PreTrainedModel) and isinstance(head, nn.Module):
        twin.set_output_embeddings(Float32Head(head))
    return ServedWeights(twin, version, compute_dtype)


def _rounded_operands(module: nn.Module, compute_dtype: torch.dtype | None) -> dict[int, object]:
    """The memo of `copy.deepcopy` that replaces trained weights of linear layers by rounded copies.

    The output head is kept: it multiplies in float32. So are tables that it shares with the embedding.
    """
    if compute_dtype is None:
        return {}
    head = module.get_output_embeddings() if isinstance(module, PreTrainedModel) else None
    kept = set() if head is None else {id(weight) for weight in head.parameters()}
    trained = {
        id(weight): weight
        for layer in module.modules()
        if isinstance(layer, nn.Linear)
        for weight in layer.parameters(recurse=False)
        if weight.requires_grad
    }
    return {
        key: nn.Parameter(weight.detach().to(compute_dtype, copy=True), requires_grad=False)
        for key, weight in trained.items()
        if key not in kept
    }
