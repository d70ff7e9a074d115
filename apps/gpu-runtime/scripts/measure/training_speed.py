"""Speed and memory of training: the runtime, with and without Liger's kernels, and a plain loop of Transformers."""

from __future__ import annotations

import contextlib
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from agentlightning_runtime.contract.batch import Batch
from agentlightning_runtime.contract.settings import ModelRequest
from agentlightning_runtime.engine.models import network_factory
from measure.local_engine import LORA, free_memory, local_engine, measure_steps, peak_memory, with_rates
from measure.plan import Part
from measure.workloads import (
    QWEN_4B,
    QWEN_600M,
    QWEN_1700M,
    TINY_DIVISOR,
    Shape,
    Workload,
    workload,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from torch import Tensor
    from transformers import PreTrainedModel

    from agentlightning_runtime.contract.batch import Datum
    from measure.plan import Plan

ROW_TOKENS = 16_384
"""Padded tokens of a micro-batch of the plain loop."""


@dataclass(frozen=True, slots=True)
class Training:
    """A training to measure.

    Attributes:
        shape: Shape of the model.
        kind: Kind of the batch.
        full: Whether all weights are trained, instead of a LoRA.
        checkpointing: Whether layers are recomputed in the backward pass.
        is_fused: Whether the runtime may use Liger's kernels.
        is_plain: Whether Transformers and PEFT train, without the runtime.
        has_cudnn: Whether the plain loop may use the attention of cuDNN.
        batches: Number of batches that the runtime gets for a step.
    """

    shape: Shape
    kind: Workload
    full: bool = False
    checkpointing: bool = False
    is_fused: bool = True
    is_plain: bool = False
    has_cudnn: bool = True
    batches: int = 1

    @property
    def name(self) -> str:
        """The name of its part."""
        by = ("HF" if self.full else "HF+PEFT") if self.is_plain else "" if self.is_fused else "unfused"
        attention = "" if self.has_cudnn else "without cuDNN"
        checkpointing = "checkpointing" if self.checkpointing else ""
        batches = f"{self.batches} batches" if self.batches > 1 else ""
        parts = (
            "train",
            self.shape.name,
            "full" if self.full else "lora",
            self.kind,
            checkpointing,
            batches,
            by,
            attention,
        )
        return " ".join(each for each in parts if each)

    def measure(self, plan: Plan) -> dict[str, Any]:
        """Seconds of a step, tokens a second, utilization and memory."""
        return _plain(plan, self) if self.is_plain else _runtime(plan, self)


def small_trainings() -> list[Part]:
    """Trainings at 0.6B, with the seconds that they take on an H100."""
    return _parts(
        (Training(QWEN_600M, "long"), 12),
        (Training(QWEN_600M, "agents"), 10),
        (Training(QWEN_600M, "groups"), 10),
        (Training(QWEN_600M, "agents", is_plain=True), 8),
        (Training(QWEN_600M, "long", checkpointing=True), 12),
        (Training(QWEN_600M, "long", checkpointing=True, is_plain=True), 8),
        (Training(QWEN_600M, "agents", full=True), 9),
        (Training(QWEN_600M, "agents", full=True, is_plain=True), 6),
    )


def large_trainings() -> list[Part]:
    """Trainings at 1.7B and 4B, with the seconds that they take on an H100."""
    return _parts(
        (Training(QWEN_4B, "agents", checkpointing=True), 23),
        (Training(QWEN_4B, "agents", checkpointing=True, is_plain=True), 22),
        (Training(QWEN_1700M, "agents"), 15),
        (Training(QWEN_1700M, "agents", full=True, checkpointing=True), 18),
        (Training(QWEN_4B, "long", checkpointing=True), 27),
    )


def compared_trainings() -> list[Part]:
    """The same in several batches, or without parts that may explain a difference."""
    return _parts(
        (Training(QWEN_600M, "agents", full=True, batches=4), 12),
        (Training(QWEN_600M, "agents", is_fused=False), 10),
        (Training(QWEN_600M, "groups", is_fused=False), 10),
        (Training(QWEN_4B, "agents", checkpointing=True, is_fused=False), 23),
        (Training(QWEN_600M, "agents", full=True, is_fused=False), 9),
        (Training(QWEN_600M, "long", checkpointing=True, is_plain=True, has_cudnn=False), 10),
    )


def _parts(*trainings: tuple[Training, float]) -> list[Part]:
    return [Part(training.name, seconds, training.measure) for training, seconds in trainings]


def _runtime(plan: Plan, training: Training) -> dict[str, Any]:
    shape = plan.shape(training.shape)
    batch = workload(training.kind, shape.vocabulary, is_tiny=plan.is_tiny)
    with (
        kernels(is_fused=training.is_fused),
        local_engine(plan, shape, gradient_checkpointing=training.checkpointing) as engine,
    ):
        model = engine.create_model(ModelRequest("m", "base", 1, None if training.full else LORA))
        parts = [Batch(batch.data[at :: training.batches]) for at in range(training.batches)]
        found = measure_steps(plan, model, parts, 1 if plan.is_tiny else 3)
    return with_rates(plan, shape, batch, found, full=training.full)


@contextlib.contextmanager
def kernels(*, is_fused: bool) -> Generator[None]:
    """Models that are created meanwhile have Liger's kernels where it is installed, or never."""
    original = network_factory.fuse_kernels
    if not is_fused:
        network_factory.fuse_kernels = _keep_kernels
    try:
        yield
    finally:
        network_factory.fuse_kernels = original


def _keep_kernels(_causal_lm: PreTrainedModel, _device: torch.device) -> bool:
    return False


def _plain(plan: Plan, training: Training) -> dict[str, Any]:
    """Padded rows of similar length, autocast, log-softmax of one row at a time as TRL computes it, fused AdamW."""
    shape = plan.shape(training.shape)
    batch = workload(training.kind, shape.vocabulary, is_tiny=plan.is_tiny)
    try:
        # The runtime chooses another attention; the plain loop has torch's choice.
        torch.backends.cuda.enable_cudnn_sdp(enabled=training.has_cudnn)
        found = _plain_steps(plan, shape, training, batch)
    finally:
        torch.backends.cuda.enable_cudnn_sdp(enabled=False)
        free_memory()
    return with_rates(plan, shape, batch, found, full=training.full)


def _plain_steps(plan: Plan, shape: Shape, training: Training, batch: Batch) -> dict[str, Any]:
    torch.manual_seed(1)
    model = _plain_model(plan, shape, training)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=1e-6, fused=True)
    micro_batches = _micro_batches(batch.data, ROW_TOKENS // (TINY_DIVISOR if plan.is_tiny else 1))

    def step() -> None:
        for data in micro_batches:
            _plain_loss(plan, model, data).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    first = plan.seconds(step)
    if plan.is_cuda:
        torch.cuda.reset_peak_memory_stats()
    seconds = [plan.seconds(step) for _ in range(1 if plan.is_tiny else 3)]
    found: dict[str, Any] = {"seconds": statistics.median(seconds), "micro_batches": len(micro_batches)}
    return {**found, "first_s": first, **peak_memory(plan)}


def _plain_model(plan: Plan, shape: Shape, training: Training) -> Any:
    with torch.device(plan.device):
        dtype = torch.float32 if training.full else torch.bfloat16
        model: Any = AutoModelForCausalLM.from_config(shape.config(), dtype=dtype)
    if not training.full:
        adapters = LoraConfig(r=LORA.rank, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
        model = get_peft_model(model, adapters)
    if training.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
        model.enable_input_require_grads()
    return model.train()


def _micro_batches(data: Sequence[Datum], budget: int) -> list[list[Datum]]:
    found: list[list[Datum]] = []
    for datum in sorted(data, key=lambda each: -len(each.token_ids)):
        if found and len(found[-1][0].token_ids) * (len(found[-1]) + 1) <= budget:
            found[-1].append(datum)
        else:
            found.append([datum])
    return found


def _plain_loss(plan: Plan, model: Any, data: list[Datum]) -> Tensor:
    longest = max(len(datum.token_ids) for datum in data)
    ids = torch.zeros((len(data), longest), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, datum in enumerate(data):
        ids[row, : len(datum.token_ids)] = torch.from_numpy(datum.token_ids.astype(np.int64))
        mask[row, : len(datum.token_ids)] = 1
    ids, mask = ids.to(plan.device), mask.to(plan.device)
    kept = longest - min(datum.trained[0].start for datum in data) + 1
    with torch.autocast(torch.device(plan.device).type, dtype=torch.bfloat16):
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=kept).logits
    loss = torch.zeros((), device=plan.device)
    for row, datum in enumerate(data):
        start, end = datum.trained[0].start, datum.trained[0].end
        first = start - 1 - (longest - kept)
        logprobs = torch.log_softmax(logits[row, first : first + end - start].float(), -1)
        chosen = logprobs.gather(1, ids[row, start:end, None])[:, 0]
        advantages = torch.from_numpy(datum.advantages).to(plan.device)
        ratio = torch.exp((chosen + 12.0).clamp(-20, 20))
        loss = loss - 1e-4 * torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).sum()
    return loss
