"""The weights of one policy version, kept apart from those that training goes on with."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import nn
from transformers import PreTrainedModel

from agentlightning_runtime.engine.float32_head import Float32Head


@dataclass(frozen=True)
class ServedWeights:
    """A model that no longer changes, and the policy version it is.

    Attributes:
        compute_dtype: what products are made in while the weights stay as they are; None: in the weights' own type.
    """

    module: nn.Module
    version: int
    compute_dtype: torch.dtype | None = None


def snapshot_weights(module: nn.Module, version: int, compute_dtype: torch.dtype | None = None) -> ServedWeights:
    """Copies what training changes, and shares what it does not.

    With LoRA only the adapter is copied; the base model stays in memory once. The copy computes exactly what the
    module computes now, adapters unmerged, so that the sampler's log-probabilities are those of the trainer. Call it
    between two steps of training, on the thread that trains.
    """
    shared: dict[int, object] = {
        id(parameter): parameter for parameter in module.parameters() if not parameter.requires_grad
    }
    twin = copy.deepcopy(module, shared)
    for parameter in twin.parameters():
        parameter.grad = None
        # Parameters that are shared are frozen already; the others are the twin's own.
        if parameter.requires_grad:
            parameter.requires_grad_(False)
    twin.eval()
    head = twin.get_output_embeddings() if isinstance(twin, PreTrainedModel) else None
    if isinstance(twin, PreTrainedModel) and isinstance(head, nn.Module):
        twin.set_output_embeddings(Float32Head(head))
    return ServedWeights(twin, version, compute_dtype)
