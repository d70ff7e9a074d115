"""The engine on a GPU: `python -m pytest -m gpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.engine.a_batch import SilentBackend, a_batch, a_datum, a_loss, no_progress, siblings

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.torch_engine import TorchEngine

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]

LORA = LoraSettings(rank=4, alpha=8.0)


def a_model(directory: Path, device: str, lora: LoraSettings | None = None, **others: Any) -> TorchModel:
    settings = EngineSettings({"tiny": "random:llama-tiny"}, directory, device, **others)
    return TorchEngine(settings, SilentBackend()).create_model(ModelRequest("m", "tiny", 1, lora))


@pytest.mark.parametrize("lora", [None, LORA])
def test_gradients_in_float32_are_those_of_the_cpu(tmp_path: Path, lora: LoraSettings | None) -> None:
    found: list[dict[str, torch.Tensor]] = []
    for device in ("cpu", "cuda"):
        model = a_model(tmp_path / device, device, lora, dtype="float32")
        model.forward_backward(a_batch(), a_loss("ppo"), no_progress)
        found.append({name: each.grad.cpu() for name, each in model.weights.items() if each.grad is not None})
    assert found[0].keys() == found[1].keys()
    for name, gradient in found[0].items():
        torch.testing.assert_close(found[1][name], gradient, rtol=1e-3, atol=1e-5)


def test_bfloat16_stays_near_float32(tmp_path: Path) -> None:
    single, half = (
        a_model(tmp_path / dtype, "cuda", dtype=dtype).forward(a_batch(), use_reference=False, progress=no_progress)
        for dtype in ("float32", "bfloat16")
    )
    for one, other in zip(single.logprobs, half.logprobs, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=0.1)


@pytest.mark.parametrize("lora", [None, LORA])
def test_rows_with_shared_prefixes_are_those_of_each_sequence_alone(tmp_path: Path, lora: LoraSettings | None) -> None:
    found: list[torch.Tensor] = []
    for is_packed in (True, False):
        model = a_model(tmp_path / str(is_packed), "cuda", lora, dtype="bfloat16", packing=is_packed)
        for name, weight in model.weights.items():
            if "lora_B" in name:
                # Begins as zero.
                weight.data.fill_(0.01)
        model.forward_backward(siblings(), a_loss(), no_progress)
        found.append(torch.cat([each.grad.flatten() for each in model.weights.values() if each.grad is not None]))
    assert (found[0] - found[1]).norm() < 0.05 * found[1].norm()


def test_the_timeline_and_the_memory_are_those_of_the_device(tmp_path: Path) -> None:
    model = a_model(tmp_path, "cuda")
    data = Batch([a_datum(256, [(128, 256)], seed=seed) for seed in range(8)])
    model.forward_backward(data, a_loss(), no_progress)
    metrics = model.optim_step(AdamParameters(learning_rate=0.01)).metrics
    parts = sum(value for name, value in metrics.items() if name.startswith("time/") and "step" not in name)
    assert metrics["time/step_seconds"] == pytest.approx(parts, rel=0.05)
    assert metrics["time/forward_seconds"] > 0
    assert metrics["time/backward_seconds"] > 0
    assert metrics["memory/total_bytes"] > metrics["memory/peak_bytes"] >= metrics["memory/allocated_bytes"] > 0


def test_micro_batches_are_sized_from_the_free_memory(tmp_path: Path) -> None:
    model = a_model(tmp_path, "cuda")
    data = Batch([a_datum(200, [(100, 200)], seed=seed) for seed in range(200)])
    sizes = [model.forward_backward(data, a_loss(), no_progress).metrics["train/micro_batch_tokens"] for _ in range(2)]
    assert sizes[0] < sizes[1]
