"""The loss of a value head: half the squared error, with the clip of Schulman et al. 2017 (PPO)."""

from __future__ import annotations

import torch
from torch import Tensor


def value_token_loss(values: Tensor, returns: Tensor, old_values: Tensor | None = None, clip: float = 0.0) -> Tensor:
    """1/2 max((V - R)^2, (clip(V, Vold - c, Vold + c) - R)^2) for each token; no clip when c is 0.

    The maximum of both errors: a value cannot gain by moving beyond the clip, but it can be pulled back.
    """
    plain = (values - returns).square()
    if clip <= 0 or old_values is None:
        return plain / 2
    held = torch.clamp(values, old_values - clip, old_values + clip)
    return torch.maximum(plain, (held - returns).square()) / 2
