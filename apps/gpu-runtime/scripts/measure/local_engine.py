"""The engine in this process, with a base of random weights that is made on the device: no files, no network."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
import gc
import statistics
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.no_inference import NoInference
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings
from agentlightning_runtime.engine.loading.empty_model import empty_model
from agentlightning_runtime.engine.loading.loaded_model import LoadedModel
from agentlightning_runtime.engine.torch_engine import TorchEngine
from measure.workloads import Shape, default_loss

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from agentlightning_runtime.contract.batch import Batch
    from agentlightning_runtime.engine.torch_model import TorchModel
    from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
    from measure.plan import Plan

LORA = LoraSettings(rank=16, alpha=16.0)
"""The adapters of all measurements."""

WARM_UP_STEPS = 2
"""Steps that are not counted: the first measures memory, the second is the first of the size that was chosen."""


@contextlib.contextmanager
def local_engine(
    plan: Plan,
    shape: Shape,
    *,
    inference: BuiltinBackend | None = None,
    source: Any = None,
    **settings: Any,
) -> Generator[TorchEngine]:
    """An engine whose only base model, `base`, has the shape.

    Args:
        plan: Device and folder.
        shape: Shape of the base.
        inference: Samples from published weights; None: nothing does.
        source: Weights of the base; None: random ones.
        settings: Further settings of the engine; `device` replaces the plan's.
    """
    device = settings.pop("device", plan.device)
    engine = TorchEngine(
        EngineSettings({"base": "injected"}, plan.folder, device=device, **settings), inference or NoInference()
    )
    base: Any = engine._bases["base"]
    config = shape.config()
    if source is None:
        torch.manual_seed(1)
        with torch.device(base.device):
            source = AutoModelForCausalLM.from_config(config, dtype=base.dtype)
    for weight in source.parameters():
        weight.data = weight.data.to(base.device, base.dtype)
    # Buffers keep their type: rotary frequencies in bfloat16 are wrong.
    causal_lm: Any = nn.Module.to(source, device=base.device).requires_grad_(requires_grad=False).eval()
    base._loaded = LoadedModel(causal_lm, None, shape.vocabulary)
    base._outline = LoadedModel(empty_model(config, base.dtype), None, shape.vocabulary)
    try:
        yield engine
    finally:
        engine.close()
        del engine, base, source, causal_lm
        free_memory()


def free_memory() -> None:
    """Returns unused memory to the device."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def no_progress(_done: int, _total: int) -> None:
    """Ignores the progress of a pass."""


def measure_steps(plan: Plan, model: TorchModel, batches: Sequence[Batch], count: int) -> dict[str, Any]:
    """The median of `count` steps after the warm-up, with memory, micro-batches and the engine's own times.

    A step has all of the batches. `first_s` are the seconds of the first step, which has lengths that the process has
    not seen. The peak is the engine's: it resets torch's counter at the end of every step.
    """
    loss, adam = default_loss("ppo"), AdamParameters(learning_rate=1e-6)
    metrics: dict[str, float] = {}
    seconds: list[float] = []

    def step() -> None:
        for batch in batches:
            metrics.update(model.forward_backward(batch, loss, no_progress).metrics)
        metrics.update(model.optim_step(adam).metrics)

    first = plan.seconds(step)
    for _ in range(WARM_UP_STEPS - 1):
        plan.seconds(step)
    peak = 0.0
    for _ in range(count):
        seconds.append(plan.seconds(step))
        peak = max(peak, metrics["memory/peak_bytes"])
    median = statistics.median(seconds)
    return {
        "seconds": median,
        "first_s": first,
        "spread": (max(seconds) - min(seconds)) / median,
        "peak_gib": peak / 2**30,
        "micro_batch_tokens": metrics.get("train/micro_batch_tokens"),
        "retries": metrics.get("train/micro_batch_retries"),
        **{name.removeprefix("time/"): value for name, value in metrics.items() if name.startswith("time/")},
    }


def peak_memory(plan: Plan) -> dict[str, float]:
    """The largest allocation since the counter was reset; nothing on a CPU."""
    return {"peak_gib": torch.cuda.max_memory_allocated() / 2**30} if plan.is_cuda else {}


def with_rates(plan: Plan, shape: Shape, batch: Batch, found: dict[str, Any], *, full: bool) -> dict[str, Any]:
    """Adds tokens a second, and the share of the device's peak where that is known (model FLOPs utilization)."""
    found["tokens_per_s"] = sum(len(datum.token_ids) for datum in batch.data) / found["seconds"]
    if plan.peak_flops is not None:
        found["mfu"] = shape.flops(batch.data, full=full) / found["seconds"] / plan.peak_flops
    return found
