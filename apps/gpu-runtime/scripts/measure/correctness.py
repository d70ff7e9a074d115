"""Whether the device computes what the CPU computes in float32, and whether a checkpoint continues a training."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
import copy
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.settings import ModelRequest
from agentlightning_runtime.engine.loss import token_scores
from measure.local_engine import LORA, local_engine, no_progress
from measure.workloads import SMALL, default_loss, random_datum, workload

if TYPE_CHECKING:
    from collections.abc import Generator

    from torch import Tensor, nn

    from agentlightning_runtime.engine.torch_model import TorchModel
    from measure.plan import Plan

LIMITS = {"float32": (1e-3, 1e-3), "bfloat16": (0.5, 0.1)}
"""Largest difference of a log-probability in nats, and of the gradient relative to its norm, by type."""

VARIANTS = (
    ("fp32", "float32", True),
    ("fp32 padded", "float32", False),
    ("bf16", "bfloat16", True),
    ("bf16 padded", "bfloat16", False),
)
"""Name, type, and whether rows are packed. Packed rows in bfloat16 are one call of attention on a GPU."""

RESUME_LIMITS = {"float32": 1e-4, "bfloat16": 0.05}
"""Largest difference of a log-probability after a repeated step, in nats: sums in another order differ."""


def measure_correctness(plan: Plan) -> dict[str, Any]:
    """Log-probabilities and gradients on the device: packed and padded, in both types, for adapters and all weights."""
    shape = plan.shape(SMALL)
    torch.manual_seed(3)
    weights = AutoModelForCausalLM.from_config(shape.config(), dtype=torch.float32)
    batch = _batch(shape.vocabulary, is_tiny=plan.is_tiny)

    def scores_of(
        device: str, dtype: str, *, packing: bool, full: bool
    ) -> tuple[np.ndarray[Any, np.dtype[np.float32]], Tensor]:
        settings: dict[str, Any] = {"device": device, "dtype": dtype, "packing": packing}
        with local_engine(plan, shape, source=copy.deepcopy(weights), **settings) as engine:
            model = engine.create_model(ModelRequest("m", "base", 1, None if full else LORA))
            if not full:
                _randomise_adapters(model)
            with _small_tiles():
                scores = model.forward(batch, use_reference=False, progress=no_progress).logprobs
                model.forward_backward(batch, default_loss("importance_sampling"), no_progress)
            gradients = [each.grad.flatten().double().cpu() for each in model.weights.values() if each.grad is not None]
        return np.concatenate(scores), torch.cat(gradients)

    batch = _near_policy(plan, weights, batch, shape)
    found: dict[str, Any] = {}
    for full in (False, True):
        expected, expected_gradient = scores_of("cpu", "float32", packing=False, full=full)
        for name, dtype, packing in VARIANTS:
            key = f"{'full' if full else 'lora'} {name}"
            try:
                scores, gradient = scores_of(plan.device, dtype, packing=packing, full=full)
            except Exception as error:  # noqa: BLE001 - the result of this variant; the others are compared
                plan.log(f"correctness, {key}")
                found[key] = {"error": f"{type(error).__name__}: {error}"[:300], "is_right": False}
                continue
            nats = np.abs(scores - expected)
            error_of_gradient = float((gradient - expected_gradient).norm() / expected_gradient.norm())
            most_nats, most_error = LIMITS[dtype]
            found[key] = {
                "largest_nats": float(nats.max()),
                "mean_nats": float(nats.mean()),
                "gradient_error": error_of_gradient,
                "is_right": bool(nats.max() < most_nats and error_of_gradient < most_error),
            }
    found["is_right"] = all(each["is_right"] for each in found.values())
    return found


@contextlib.contextmanager
def _small_tiles() -> Generator[None]:
    """Computes the output layer in many tiles: few logits would be computed at once, by other code."""
    whole = token_scores._LOGITS_AT_A_TIME
    setattr(token_scores, "_LOGITS_AT_A_TIME", 2**13)  # noqa: B010 - a constant for the type checker
    try:
        yield
    finally:
        setattr(token_scores, "_LOGITS_AT_A_TIME", whole)  # noqa: B010


def _batch(vocabulary: int, *, is_tiny: bool) -> Batch:
    """Five siblings of a prompt, and four sequences of different lengths."""
    random = np.random.default_rng(5)
    prompt = random.integers(0, vocabulary, 24 if is_tiny else 96)
    siblings = [np.concatenate([prompt, random.integers(0, vocabulary, n)]) for n in (40, 90, 17, 64, 33)]
    data = [random_datum(each, len(prompt), len(each)) for each in siblings]
    lengths = (120, 31, 9) if is_tiny else (700, 311, 128, 45)
    return Batch(data + [random_datum(random.integers(0, vocabulary, n), n // 3, n) for n in lengths])


def _near_policy(plan: Plan, weights: nn.Module, batch: Batch, shape: Any) -> Batch:
    """The batch as if the policy had sampled it: with ratios far from 1 clipping would hide gradients."""
    with local_engine(plan, shape, source=copy.deepcopy(weights), device="cpu", dtype="float32") as engine:
        model = engine.create_model(ModelRequest("q", "base", 1, None))
        own = model.forward(batch, use_reference=False, progress=no_progress).logprobs
    pairs = zip(batch.data, own, strict=True)
    return Batch([replace(each, sampling_logprobs=(logprobs - 0.05).astype(np.float32)) for each, logprobs in pairs])


def _randomise_adapters(model: TorchModel) -> None:
    """Adapters begin as zero; with other numbers the gradients of both matrices are tested."""
    generator = torch.Generator().manual_seed(4)
    for name, weight in model.weights.items():
        if "lora_" in name:
            weight.data.copy_(torch.randn(weight.shape, generator=generator) * 0.02)


def measure_resuming(plan: Plan) -> dict[str, Any]:
    """The same step twice, once from a checkpoint, in both types, for adapters and for all weights."""
    found: dict[str, Any] = {}
    shape = plan.shape(SMALL)
    batch = workload("groups", shape.vocabulary, is_tiny=True)

    def step(model: TorchModel) -> np.ndarray[Any, np.dtype[np.float32]]:
        model.forward_backward(batch, default_loss("ppo"), no_progress)
        model.optim_step(AdamParameters(learning_rate=1e-3))
        return np.concatenate(model.forward(batch, use_reference=False, progress=no_progress).logprobs)

    for dtype, limit in RESUME_LIMITS.items():
        for full in (False, True):
            with local_engine(plan, shape, dtype=dtype) as engine:
                model = engine.create_model(ModelRequest(f"r-{dtype}-{full}", "base", 1, None if full else LORA))
                step(model)
                began = time.perf_counter()
                uri = model.save_checkpoint("c", b"").result().uri
                saved = time.perf_counter() - began
                expected = step(model)
                model.load_checkpoint(uri)
                nats = float(np.abs(step(model) - expected).max())
            found[f"{dtype} {'full' if full else 'lora'}"] = {"nats": nats, "save_s": saved, "is_right": nats < limit}
    found["is_right"] = all(each["is_right"] for each in found.values())
    return found
