"""Training through the public interfaces: a separate process, gRPC and HTTP, as a client trains."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from measure.endpoint_samples import SamplingSettings, sample
from measure.grpo import GrpoSettings, train
from measure.plan import NotRunError
from measure.runtime_client import ModelClient, TrainedSequence
from measure.runtime_process import RuntimeProcess, ServeSettings
from measure.word_task import letters

if TYPE_CHECKING:
    from measure.plan import Plan

MIN_GAIN = 0.25
"""Gain of held-out reward that counts as learned; a control must stay below it."""

MAX_LOGPROB_GAP = 0.1
"""Largest accepted mean difference between the log-probabilities of trainer and sampler, in nats, in bfloat16."""

SETTINGS = GrpoSettings(steps=12, tasks=4, group=8, learning_rate=1e-2, lora_rank=0, max_tokens=12)
MODEL = "random:llama-tiny"


def measure_grpo(plan: Plan, *, shuffles: bool) -> dict[str, Any]:
    """GRPO of a small model. The held-out reward must rise, and with shuffled rewards it must not."""
    settings = replace(SETTINGS, shuffles_rewards=shuffles)
    began = time.monotonic()
    with RuntimeProcess(ServeSettings(MODEL, plan.folder / "grpo", plan.device)) as runtime:
        started = time.monotonic() - began
        found = train(runtime.address, letters(), settings, model_id=f"grpo-{int(shuffles)}", seed=1)
    found["start_s"] = started
    has_learned = found["after"] >= found["before"] + MIN_GAIN
    found["is_right"] = has_learned != shuffles and found["logprob_gap"] <= MAX_LOGPROB_GAP
    return found


def measure_vllm(plan: Plan) -> dict[str, Any]:
    """vLLM samples what the trainer published: the gap of three policy versions."""
    if importlib.util.find_spec("vllm") is None:
        raise NotRunError("vLLM is not installed: pip install '.[vllm]'")
    conversations = [task.messages for task in letters().test]
    arguments = ("--inference-engine", "vllm", "--sampler-colocated")
    gaps: list[float] = []
    with (
        RuntimeProcess(ServeSettings(MODEL, plan.folder / "vllm", plan.device, arguments)) as runtime,
        ModelClient(runtime.address, "vllm", seed=1) as model,
    ):
        for _ in range(3):
            endpoint = model.publish()
            samples = sample(endpoint, conversations, SamplingSettings(SETTINGS.max_tokens))
            samples = [each for each in samples if each.response]
            data = [TrainedSequence(s.prompt, s.response, s.logprobs, 1.0, endpoint.policy_version) for s in samples]
            sampled = np.concatenate([np.asarray(each.logprobs) for each in samples])
            gaps.append(float(np.abs(model.logprobs(data) - sampled).mean()))
            model.forward_backward(data, "importance_sampling")
            model.optim_step(SETTINGS.learning_rate)
    return {"gap_by_version": gaps, "is_right": max(gaps) <= MAX_LOGPROB_GAP}
