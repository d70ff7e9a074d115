"""The clipping of gradients, and what the creation of a LoRA draws."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from unittest.mock import Mock

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch._C._distributed_c10d import HashStore
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.utils._python_dispatch import TorchDispatchMode

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.settings import LoraSettings
from agentlightning_runtime.engine.adam import Adam
from agentlightning_runtime.engine.base.ranks import whole
from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.engine.models.lora import add_lora


class Operations(TorchDispatchMode):
    """Counts operations by name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.found.append(str(func))
        return func(*args, **(kwargs or {}))


def test_all_gradients_are_clipped_in_one_operation() -> None:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        weights = {str(size): nn.Parameter(torch.zeros(size)) for size in (3, 4)}
        sharded = weights["s"] = nn.Parameter(distribute_tensor(torch.zeros(2, 3), mesh, [Shard(0)]))
        for weight in weights.values():
            weight.grad = torch.ones_like(weight)
        adam = Adam(weights)
        norm = adam.gradient_norm()
        assert norm == pytest.approx(13**0.5)
        with Operations() as operations:
            adam.step(AdamParameters(0.01, gradient_clip_norm=norm / 2), norm)
        assert operations.found.count("aten._foreach_mul_.Scalar") == 1
        assert "aten.mul_.Tensor" not in operations.found
        for weight in (weights["3"], weights["4"], sharded):
            assert weight.grad is not None
            assert torch.equal(whole(weight.grad), torch.full(weight.shape, 0.5))
    finally:
        dist.destroy_process_group()


def test_a_lora_draws_on_its_device_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    fork = Mock(return_value=nullcontext())
    monkeypatch.setattr(torch.random, "fork_rng", fork)
    loaded = load_random_model("random:llama-tiny")
    fork.reset_mock()
    for device, forked in (("cpu", []), ("cuda:1", [torch.device("cuda", 1)])):
        causal_lm = loaded.frozen_twin()
        monkeypatch.setattr(type(causal_lm), "device", property(lambda _, name=device: torch.device(name)))
        add_lora(causal_lm, LoraSettings(2, 2.0, ("q_proj",)), seed=1)
        assert fork.call_args.kwargs == {"devices": forked}
