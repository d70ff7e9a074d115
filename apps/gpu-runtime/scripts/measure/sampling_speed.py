"""Speed and memory of sampling: the built-in sampler, `generate` of Transformers, and the parts of a publication."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, GenerationConfig

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.settings import ModelRequest
from agentlightning_runtime.engine.publication.weight_digest import digest_of
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.http.http_server import EndpointSettings
from agentlightning_runtime.inference.sampling.generation import GenerationRequest
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule
from agentlightning_runtime.inference.sampling.served_weights import snapshot_weights
from measure.local_engine import LORA, free_memory, local_engine, no_progress, peak_memory
from measure.workloads import Shape, default_loss, workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.engine.torch_model import TorchModel
    from measure.plan import Plan

WARM_UP_TOKENS = 4
"""Tokens of the call that is not counted."""

MIN_SECONDS_LEFT = 20.0
"""Time that further numbers of responses need."""


def _lengths(plan: Plan, count: int) -> tuple[int, int]:
    """Tokens of prompts and responses; few responses take as long for a token as many."""
    return (16, 8) if plan.is_tiny else (256, 32 if count < 64 else 96)


def _counts(plan: Plan, counts: Sequence[int]) -> Sequence[int]:
    return (1, 4) if plan.is_tiny else counts


def requests_of(vocabulary: int, count: int, lengths: tuple[int, int], seed: int) -> list[GenerationRequest]:
    """Requests with random prompts that end only at their largest length."""
    random = np.random.default_rng(seed)
    prompts = random.integers(0, vocabulary, (count, lengths[0])).tolist()
    return [
        GenerationRequest(tuple(prompt), lengths[1], SamplingRule(), number, frozenset())
        for number, prompt in enumerate(prompts)
    ]


def measure_sampling(plan: Plan, shape: Shape, counts: Sequence[int], *, lora: bool) -> dict[str, Any]:
    """The built-in sampler without HTTP, prompts of 256 tokens, and two publications."""
    shape = plan.shape(shape)
    backend = BuiltinBackend(EndpointSettings())
    found: dict[str, Any] = {}
    with local_engine(plan, shape, inference=backend) as engine:
        began = time.perf_counter()
        model = engine.create_model(ModelRequest("s", "base", 1, LORA if lora else None))
        found["create_s"] = time.perf_counter() - began
        warm_up = requests_of(shape.vocabulary, 1, (8, WARM_UP_TOKENS), 0)
        backend._sampler.submit("s", warm_up)[0].wait()
        for count in _counts(plan, counts):
            if plan.seconds_left < MIN_SECONDS_LEFT:
                break
            lengths = _lengths(plan, count)
            requests = requests_of(shape.vocabulary, count, lengths, count)
            if plan.is_cuda:
                torch.cuda.reset_peak_memory_stats()
            began = time.perf_counter()
            generations = backend._sampler.submit("s", requests)
            for each in generations:
                each.wait()
            seconds = time.perf_counter() - began
            failed = sum(each.error is not None for each in generations)
            found[f"{count} at once"] = {**_rates(count, lengths[1], seconds), "failed": failed, **peak_memory(plan)}
        found["publication"] = _measure_publication(plan, model, shape)
    rates = [each for name, each in found.items() if name.endswith("at once")]
    found["is_right"] = bool(rates) and not any(each["failed"] for each in rates)
    return found


def _rates(count: int, tokens: int, seconds: float) -> dict[str, float]:
    return {"tokens_per_s": count * tokens / seconds, "ms_a_token": seconds / tokens * 1e3}


def _measure_publication(plan: Plan, model: TorchModel, shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("first_s", "second_s"):
        batch = workload("groups", shape.vocabulary, is_tiny=True)
        model.forward_backward(batch, default_loss("ppo"), no_progress)
        model.optim_step(AdamParameters(learning_rate=1e-5))
        plan.synchronize()
        began = time.perf_counter()
        endpoint = model.publish_weights()
        found[name] = time.perf_counter() - began
        probe = endpoint.weights.probe if endpoint.weights else None
        found["probe_nats"] = None if probe is None else probe.logprob_gap
    weights = {name: weight.detach() for name, weight in model.weights.items()}
    served = model.parts.served
    found["megabytes"] = sum(weight.numel() * weight.element_size() for weight in weights.values()) / 1e6
    found["digest_s"] = plan.seconds(lambda: digest_of(weights.items()))
    found["snapshot_s"] = plan.seconds(lambda: snapshot_weights(served.module(), 99, served.compute_dtype))
    found["probe_s"] = plan.seconds(lambda: model._publisher.verify(model.state().policy_version))
    return found


def measure_generate(plan: Plan, shape: Shape, counts: Sequence[int]) -> dict[str, Any]:
    """`generate` of Transformers with a growing cache, and on a GPU its continuous batching, after a short call."""
    try:
        return _generate(plan, shape, counts)
    finally:
        free_memory()


def _generate(plan: Plan, shape: Shape, counts: Sequence[int]) -> dict[str, Any]:
    shape = plan.shape(shape)
    # As the runtime chooses: cuDNN's prepares each new length.
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)
    with torch.device(plan.device):
        dtype = torch.bfloat16 if plan.is_cuda else torch.float32
        model: Any = AutoModelForCausalLM.from_config(shape.config(), dtype=dtype).eval()
    found: dict[str, Any] = {}
    for count in _counts(plan, counts):
        prompt, response = _lengths(plan, count)
        ids = torch.randint(0, shape.vocabulary, (count, prompt), device=plan.device)

        def generate(tokens: int, ids: torch.Tensor = ids) -> None:
            settings = GenerationConfig(max_new_tokens=tokens, do_sample=True, top_k=0, pad_token_id=0)
            settings.min_new_tokens = tokens
            with torch.inference_mode():
                model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), generation_config=settings)

        generate(WARM_UP_TOKENS)
        seconds = plan.seconds(partial(generate, response))
        found[f"{count} at once"] = _rates(count, response, seconds)
    if plan.is_cuda and plan.seconds_left > 60:
        found[f"continuous batching, {counts[-1]} at once"] = _continuous_batching(plan, model, shape, counts[-1])
    return found


def _continuous_batching(plan: Plan, model: Any, shape: Shape, count: int) -> dict[str, Any]:
    prompt, response = _lengths(plan, count)
    inputs = torch.randint(0, shape.vocabulary, (count, prompt)).tolist()

    def generate(tokens: int) -> None:
        settings = GenerationConfig(max_new_tokens=tokens, do_sample=True, top_k=0, pad_token_id=0, eos_token_id=-1)
        model.generate_batch(inputs=inputs, generation_config=settings, progress_bar=False)

    try:
        generate(WARM_UP_TOKENS)
        return _rates(count, response, plan.seconds(partial(generate, response)))
    except Exception as error:  # noqa: BLE001 - its interface changes between versions; the other figures are kept
        return {"error": f"{type(error).__name__}: {error}"}
