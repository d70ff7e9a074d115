"""The communication of ranks, without other processes."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn

from agentlightning_runtime.engine.base.ranks import Ranks


def test_the_gradients_of_many_matrices_are_summed_in_one_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def all_reduce(tensor: torch.Tensor) -> None:
        calls.append(tensor.numel())
        tensor.mul_(2)

    monkeypatch.setattr(dist, "all_reduce", all_reduce)
    weights = [nn.Parameter(torch.zeros(shape)) for shape in ((2, 3), (4,), (3, 2))]
    for weight, value in zip(weights[:2], (1.0, 2.0), strict=True):
        weight.grad = torch.full_like(weight, value)
    Ranks(count=2).sum_up_gradients(weights)
    assert calls == [10]
    assert weights[0].grad is not None
    assert weights[1].grad is not None
    assert weights[0].grad.tolist() == [[2.0] * 3] * 2
    assert weights[1].grad.tolist() == [4.0] * 4
    assert weights[2].grad is None
