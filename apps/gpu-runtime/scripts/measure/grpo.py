"""GRPO through the runtime's public interfaces: samples over HTTP, trains over gRPC."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from measure.endpoint_samples import Sample, SamplingSettings, sample
from measure.runtime_client import ModelClient, TrainedSequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.gen.agentlightning.runtime.v1 import model_pb2
    from measure.word_task import WordTask, WordTasks


@dataclass(frozen=True, slots=True)
class GrpoSettings:
    """Settings of a training.

    Attributes:
        steps: Number of optimizer steps.
        tasks: Tasks of a step.
        group: Responses to each task.
        learning_rate: Of Adam.
        lora_rank: 0 trains all weights.
        max_tokens: Largest number of tokens of a response.
        shuffles_rewards: The control: rewards are assigned to the responses of the step at random.
    """

    steps: int
    tasks: int
    group: int
    learning_rate: float
    lora_rank: int
    max_tokens: int
    shuffles_rewards: bool = False


def train(address: str, tasks: WordTasks, settings: GrpoSettings, *, model_id: str, seed: int) -> dict[str, Any]:
    """Trains a new model, and evaluates it on the held-out tasks before and after.

    Returns:
        `before` and `after`: mean rewards of `group` responses to each held-out task; `curve`: mean training reward of
        each step; `seconds`; `tokens`: sampled tokens; `logprob_gap`: mean absolute difference between the trainer's
        and the sampler's log-probabilities of the last step, in nats.
    """
    random = np.random.default_rng(seed)
    started = time.monotonic()
    with ModelClient(address, model_id, seed=seed, lora_rank=settings.lora_rank) as model:
        endpoint = model.publish()
        before = _held_out(endpoint, tasks.test, settings)
        curve: list[float] = []
        tokens = 0
        gap = 0.0
        for _ in range(settings.steps):
            chosen = [tasks.train[int(index)] for index in random.integers(len(tasks.train), size=settings.tasks)]
            repeated = [task for task in chosen for _ in range(settings.group)]
            samples = _responses(endpoint, repeated, settings)
            rewards = _rewards(repeated, samples)
            curve.append(float(rewards.mean()))
            if settings.shuffles_rewards:
                random.shuffle(rewards)
            data = _batch(samples, group_advantages(rewards, settings.group), endpoint.policy_version)
            tokens += sum(len(each.response) for each in samples)
            if data:
                gap = model.forward_backward(data, "importance_sampling").metrics["policy/logprob_gap"]
                model.optim_step(settings.learning_rate)
                endpoint = model.publish()
        after = _held_out(endpoint, tasks.test, settings)
    seconds = time.monotonic() - started
    return {"before": before, "after": after, "curve": curve, "seconds": seconds, "tokens": tokens, "logprob_gap": gap}


def group_advantages(
    rewards: np.ndarray[Any, np.dtype[np.float64]], group: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rewards minus the mean of their group, divided by its standard deviation (Shao et al. 2024, section 4.1.2).

    Args:
        rewards: Rewards, groups one after another.
        group: Size of a group. Groups of equal rewards have advantages of 0.
    """
    groups = rewards.reshape(-1, group)
    centred = groups - groups.mean(axis=1, keepdims=True)
    return (centred / (groups.std(axis=1, keepdims=True) + 1e-6)).reshape(-1)


def _batch(samples: Sequence[Sample], advantages: Any, version: int) -> list[TrainedSequence]:
    return [
        TrainedSequence(each.prompt, each.response, each.logprobs, float(advantage), version)
        for each, advantage in zip(samples, advantages, strict=True)
        if advantage != 0 and each.response
    ]


def _held_out(endpoint: model_pb2.InferenceEndpoint, tasks: Sequence[WordTask], settings: GrpoSettings) -> float:
    repeated = [task for task in tasks for _ in range(settings.group)]
    return float(np.mean(_rewards(repeated, _responses(endpoint, repeated, settings))))


def _rewards(tasks: Sequence[WordTask], samples: Sequence[Sample]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([task.reward(each.text) for task, each in zip(tasks, samples, strict=True)])


def _responses(
    endpoint: model_pb2.InferenceEndpoint, tasks: Sequence[WordTask], settings: GrpoSettings
) -> list[Sample]:
    return sample(endpoint, [task.messages for task in tasks], SamplingSettings(settings.max_tokens))
