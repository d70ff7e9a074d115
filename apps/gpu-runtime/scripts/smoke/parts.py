"""The parts of the check. Each returns what it measured, and raises when something is wrong."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from smoke.grpo import GrpoSettings, train
from smoke.large_model import LargeShape, write_model
from smoke.runtime_client import ModelClient, OperationError, TrainedSequence
from smoke.runtime_process import SOURCES, RuntimeProcess, ServeSettings
from smoke.sampling import SamplingSettings, sample
from smoke.word_task import WordTasks, letters, load_cities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_LOGPROB_GAP = 0.1
"""Largest accepted mean difference between the log-probabilities of trainer and sampler, in nats, in bfloat16."""


_LARGE_METRICS = ("train/", "memory/", "time/", "step/")

MIN_GAIN = 0.25
"""Gain of held-out reward that counts as learned; a control must stay below it."""


class NotRunError(Exception):
    """The part cannot be run on this machine; the text is the reason."""


@dataclass(frozen=True, slots=True)
class SmokePlan:
    """Sizes of the check.

    Attributes:
        model: `NAME=SOURCE` of the model that is trained.
        device: Device of the runtime.
        folder: Folder for checkpoints and the large model.
        grpo: Settings of the trainings.
        seeds: Seeds of the trainings; a control with shuffled rewards has the first.
        tasks: Tasks of the trainings.
        shape: Shape of the large model.
        large_batches: Tokens of a batch of the large model, and of each of its sequences.
    """

    model: str
    device: str
    folder: Path
    grpo: GrpoSettings
    seeds: tuple[int, ...]
    tasks: WordTasks
    shape: LargeShape
    large_batches: tuple[int, int]

    @staticmethod
    def full(model: str, device: str, folder: Path) -> SmokePlan:
        """A language model, and a model of the shape of Qwen3-8B."""
        grpo = GrpoSettings(steps=30, tasks=8, group=8, learning_rate=3e-4, lora_rank=16, max_tokens=8)
        return SmokePlan(model, device, folder, grpo, (1, 2, 3), load_cities(), LargeShape(), (32_768, 2048))

    @staticmethod
    def tiny(device: str, folder: Path) -> SmokePlan:
        """Models with random weights that a CPU trains in seconds."""
        grpo = GrpoSettings(steps=12, tasks=4, group=8, learning_rate=1e-2, lora_rank=0, max_tokens=12)
        shape = LargeShape(layers=2, width=64, heads=4, key_value_heads=2, inner=128, vocabulary=512)
        model = "random:llama-tiny"
        return SmokePlan(model, device, folder, grpo, (1,), letters(), shape, (512, 64))

    def serve(self, *arguments: str, model: str | None = None) -> RuntimeProcess:
        """Starts a runtime."""
        folder = self.folder / "checkpoints"
        return RuntimeProcess(ServeSettings(model or self.model, folder, self.device, arguments))


Part = tuple[str, "Callable[[SmokePlan], dict[str, Any]]"]


def parts_of(plan: SmokePlan) -> Iterator[Part]:
    """The parts, cheap ones first, each a few minutes on a GPU."""
    yield "machine", check_machine
    yield "doctor", run_doctor
    yield "tests on the GPU", run_gpu_tests
    yield "device against CPU", compare_devices
    yield "resume after a kill", resume_after_kill
    for seed in plan.seeds:
        yield f"GRPO, seed {seed}", lambda plan, seed=seed: run_grpo(plan, seed, shuffles=False)
    yield "GRPO, shuffled rewards", lambda plan: run_grpo(plan, plan.seeds[0], shuffles=True)
    yield "vLLM", run_vllm
    for flags in ((), ("--gradient-checkpointing",), ("--no-packing",), ("--no-packing", "--gradient-checkpointing")):
        name = " ".join(("large model", *flags))
        yield name, lambda plan, flags=flags: run_large(plan, flags)


def check_machine(plan: SmokePlan) -> dict[str, Any]:
    """Device and versions."""
    packages = ("torch", "transformers", "peft", "vllm", "flash-attn", "liger-kernel")
    versions = {name: _version(name) for name in packages}
    if not torch.cuda.is_available():
        if plan.device not in ("cpu", "auto"):
            raise RuntimeError(f"No GPU for device {plan.device}. Check the driver with nvidia-smi.")
        return {"device": "cpu", "versions": versions}
    properties = torch.cuda.get_device_properties(0)
    return {
        "device": properties.name,
        "memory_gb": properties.total_memory / 1e9,
        "count": torch.cuda.device_count(),
        "bfloat16": torch.cuda.is_bf16_supported(),
        "versions": versions,
    }


def run_doctor(plan: SmokePlan) -> dict[str, Any]:
    """`agentlightning-runtime doctor` with the model."""
    command = [sys.executable, "-m", "agentlightning_runtime", "doctor", "--json", "--model", plan.model]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run(  # noqa: S603 - the arguments are ours
        [*command, "--device", plan.device], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"The doctor found problems: {done.stdout[-2000:]}{done.stderr[-1000:]}")
    checks = json.loads(done.stdout)["checks"]
    return {"checks": len(checks), "model": checks[-1]["found"]}


def run_gpu_tests(_plan: SmokePlan) -> dict[str, Any]:
    """The tests that need a GPU, in the clone."""
    if not torch.cuda.is_available():
        raise NotRunError("There is no GPU")
    if importlib.util.find_spec("pytest") is None:
        raise NotRunError("pytest is not installed: pip install pytest openai")
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run(command, cwd=SOURCES.parent, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 - the arguments are ours
    if done.returncode != 0:
        raise RuntimeError(f"Tests failed: {done.stdout[-3000:]}")
    return {"pytest": done.stdout.strip().splitlines()[-1]}


def run_grpo(plan: SmokePlan, seed: int, *, shuffles: bool) -> dict[str, Any]:
    """Trains with GRPO. The held-out reward must rise, and with shuffled rewards it must not."""
    settings = replace(plan.grpo, shuffles_rewards=shuffles)
    with plan.serve() as runtime:
        result = train(runtime.address, plan.tasks, settings, model_id=f"grpo-{seed}-{int(shuffles)}", seed=seed)
    has_learned = result["after"] >= result["before"] + MIN_GAIN
    if has_learned == shuffles:
        raise RuntimeError(f"Held-out reward {result['before']:.3f} before and {result['after']:.3f} after: {result}")
    if result["logprob_gap"] > MAX_LOGPROB_GAP:
        raise RuntimeError(f"Trainer and sampler differ by {result['logprob_gap']:.4f} nats a token")
    return result


def compare_devices(plan: SmokePlan) -> dict[str, Any]:
    """Log-probabilities and the gradient in float32, on the device and on the CPU."""
    data = random_sequences(4, 32, vocabulary=200, seed=3)
    found: list[tuple[np.ndarray[Any, np.dtype[np.float32]], float]] = []
    for device in ("cpu", plan.device):
        model_id = f"on-{device.replace(':', '-')}-{len(found)}"
        with (
            replace(plan, device=device).serve("--dtype", "float32", "--inference-engine", "builtin") as runtime,
            ModelClient(runtime.address, model_id, seed=1) as model,
        ):
            logprobs = model.logprobs(data)
            model.forward_backward(data, "cross_entropy")
            found.append((logprobs, model.optim_step(0.0).gradient_norm))
    (expected, expected_norm), (logprobs, norm) = found
    result = {
        "largest_difference_nats": float(np.abs(logprobs - expected).max()),
        "gradient_norm_ratio": norm / expected_norm,
    }
    if result["largest_difference_nats"] > 1e-2 or abs(result["gradient_norm_ratio"] - 1) > 1e-2:
        raise RuntimeError(f"The device computes something else than the CPU: {result}")
    return result


def resume_after_kill(plan: SmokePlan) -> dict[str, Any]:
    """Kills the runtime after a checkpoint; the resumed model takes the same step as the killed one."""
    data = random_sequences(4, 24, vocabulary=200, seed=1)
    with (
        plan.serve() as runtime,
        ModelClient(runtime.address, "killed", seed=1, lora_rank=plan.grpo.lora_rank) as model,
    ):
        model.forward_backward(data, "cross_entropy")
        model.optim_step(plan.grpo.learning_rate)
        uri = model.save("before-the-kill")
        model.forward_backward(data, "cross_entropy")
        model.optim_step(plan.grpo.learning_rate)
        expected = model.logprobs(data)
        runtime.kill()
    with (
        plan.serve() as runtime,
        ModelClient(runtime.address, "killed", seed=1, lora_rank=plan.grpo.lora_rank) as model,
    ):
        model.load(uri)
        model.forward_backward(data, "cross_entropy")
        model.optim_step(plan.grpo.learning_rate)
        difference = float(np.abs(model.logprobs(data) - expected).max())
    # Sums in another order differ in bfloat16.
    if difference > (1e-5 if plan.device == "cpu" else 0.1):
        raise RuntimeError(f"Log-probabilities differ by {difference:.2e} nats after resuming")
    return {"largest_difference_nats": difference}


def run_vllm(plan: SmokePlan) -> dict[str, Any]:
    """vLLM samples what the trainer published."""
    if importlib.util.find_spec("vllm") is None:
        raise NotRunError("vLLM is not installed: pip install '.[vllm]'")
    conversations = [task.messages for task in plan.tasks.test[:16]]
    settings = SamplingSettings(plan.grpo.max_tokens)
    gaps: list[float] = []
    with (
        plan.serve("--inference-engine", "vllm", "--sampler-colocated") as runtime,
        ModelClient(runtime.address, "vllm", seed=1, lora_rank=plan.grpo.lora_rank) as model,
    ):
        for _ in range(3):
            endpoint = model.publish()
            samples = [each for each in sample(endpoint, conversations, settings) if each.response]
            data = [TrainedSequence(s.prompt, s.response, s.logprobs, 1.0, endpoint.policy_version) for s in samples]
            sampled = np.concatenate([np.asarray(each.logprobs) for each in samples])
            gaps.append(float(np.abs(model.logprobs(data) - sampled).mean()))
            model.forward_backward(data, "importance_sampling")
            model.optim_step(plan.grpo.learning_rate)
    if max(gaps) > MAX_LOGPROB_GAP:
        raise RuntimeError(f"Trainer and vLLM differ by {max(gaps):.4f} nats a token: an adapter may not be served")
    return {"logprob_gap_by_version": gaps}


def run_large(plan: SmokePlan, flags: tuple[str, ...]) -> dict[str, Any]:
    """Throughput and memory of LoRA steps of a large model with random weights, by size of the micro-batch."""
    source = write_model(plan.folder / "large", plan.shape)
    tokens, length = plan.large_batches
    # A quarter each of four lengths: padding and packing differ only where lengths do.
    counts = {length // part: tokens * part // (4 * length) for part in (1, 2, 4, 8)}
    data = [
        sequence
        for size, count in counts.items()
        for sequence in random_sequences(max(1, count), size, vocabulary=plan.shape.vocabulary, seed=size)
    ]
    found: dict[str, Any] = {}
    for micro_batch in (tokens // 8, tokens // 2):
        arguments = ("--micro-batch-tokens", str(micro_batch), "--inference-engine", "builtin", *flags)
        with (
            plan.serve(*arguments, model=f"large={source}") as runtime,
            ModelClient(runtime.address, f"large{''.join(flags)}-{micro_batch}", seed=1, lora_rank=8) as model,
        ):
            found[f"micro-batches of {micro_batch}"] = _measure_steps(model, data)
    return found


def _measure_steps(model: ModelClient, data: list[TrainedSequence]) -> dict[str, Any]:
    """The second of two steps, since the first compiles and allocates."""
    seconds = 0.0
    metrics: Mapping[str, float] = {}
    for _ in range(2):
        started = time.monotonic()
        try:
            metrics = model.forward_backward(data, "importance_sampling").metrics
            model.optim_step(1e-4)
        except OperationError as error:
            return {"failed": str(error)}
        seconds = time.monotonic() - started
    tokens = sum(len(each.prompt) + len(each.response) for each in data)
    kept = {name: value for name, value in {**model.metrics(), **metrics}.items() if name.startswith(_LARGE_METRICS)}
    return {"tokens_per_second": tokens / seconds, **kept}


def random_sequences(count: int, length: int, *, vocabulary: int, seed: int) -> list[TrainedSequence]:
    """Sequences of random tokens; the second half of each is trained."""
    random = np.random.default_rng(seed)
    found: list[TrainedSequence] = []
    for _ in range(count):
        ids = [int(token) for token in random.integers(1, vocabulary, size=length)]
        half = length // 2
        found.append(TrainedSequence(ids[:half], ids[half:], [-2.0] * (length - half)))
    return found


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
