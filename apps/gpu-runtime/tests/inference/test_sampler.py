"""Continuous batching: responses do not depend on the batch, weights change between responses, pauses hold."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model

from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.inference.http.api_error import ApiError
from agentlightning_runtime.inference.sampling.generation import Generation, GenerationRequest
from agentlightning_runtime.inference.sampling.model_shape import shape_of
from agentlightning_runtime.inference.sampling.sampler import Sampler, SamplerLimits
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule
from agentlightning_runtime.inference.sampling.served_weights import ServedWeights, snapshot_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn

_END = 258


def _model(source: str = "random:llama-tiny") -> nn.Module:
    torch.set_num_threads(1)
    return load_random_model(source).causal_lm


def _changed(version: int) -> ServedWeights:
    """Weights that differ from the default ones."""
    model = _model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    return snapshot_weights(model, version)


@pytest.fixture
def sampler() -> Iterator[Sampler]:
    model = _model()
    one = Sampler()
    one.add_model("m", shape_of(model), snapshot_weights(model, 3))
    yield one
    one.close()


def _request(seed: int = 0, *, length: int = 8, max_tokens: int = 20, temperature: float = 1.0) -> GenerationRequest:
    prompt = tuple((seed * 7 + at * 5) % 256 for at in range(length))
    return GenerationRequest(prompt, max_tokens, SamplingRule(temperature), seed, frozenset([_END]))


def _whole(generation: Generation) -> list[int]:
    assert generation.wait(60)
    assert generation.error is None
    return generation.tokens


@pytest.mark.parametrize("source", ["random:llama-tiny", "random:qwen2-tiny"])
def test_a_response_does_not_depend_on_its_company(source: str) -> None:
    model = _model(source)
    sampler = Sampler()
    sampler.add_model("m", shape_of(model), snapshot_weights(model, 0))
    draw = random.Random(1)
    requests = [
        _request(
            seed, length=draw.randrange(1, 60), max_tokens=draw.randrange(1, 80), temperature=draw.choice([0, 0.7, 1])
        )
        for seed in range(24)
    ]
    together: list[Generation] = []
    for request in requests:
        together += sampler.submit("m", [request])
        # Some join while others run.
        if draw.random() < 0.3:
            together[-1].wait(60)
    alone = [_whole(sampler.submit("m", [request])[0]) for request in requests]
    assert [_whole(generation) for generation in together] == alone
    sampler.close()


def test_logprobs_are_those_of_the_model_reading_the_whole_sequence(sampler: Sampler) -> None:
    model = _model()
    for temperature in (0.5, 1.0, 1.7):
        generations = sampler.submit("m", [_request(seed, temperature=temperature) for seed in range(6)])
        for generation in generations:
            tokens = _whole(generation)
            prompt = generation.request.prompt_tokens
            with torch.no_grad():
                logits = model(torch.tensor([[*prompt, *tokens]])).logits[0]
            expected = torch.log_softmax(logits / temperature, dim=-1)
            for at, choice in enumerate(generation.choices):
                assert choice.logprob == pytest.approx(float(expected[len(prompt) - 1 + at, choice.token]), abs=1e-4)


def test_a_prompt_that_several_have_is_read_once(sampler: Sampler) -> None:
    request = _request(1, length=30)
    generations = sampler.submit("m", [request, request, request])
    assert [_whole(generation) for generation in generations] == [generations[0].tokens] * 3
    assert [generation.cached_tokens for generation in generations] == [0, 30, 30]


def test_a_response_in_progress_ends_with_the_weights_it_started_with(sampler: Sampler) -> None:
    request = _request(4, max_tokens=60)
    expected = _whole(sampler.submit("m", [request])[0])
    first, running = _started(sampler, request)
    sampler.publish("m", _changed(4))
    later = sampler.submit("m", [request])[0]
    assert _whole(running) == expected
    assert first <= len(expected)
    assert (running.policy_version, later.policy_version) == (3, 4)
    assert _whole(later) != expected


def test_lora_is_served_unmerged_and_what_training_does_next_changes_nothing() -> None:
    base = _model()
    base.requires_grad_(requires_grad=False)
    trained = inject_adapter_in_model(LoraConfig(r=4, target_modules=["q_proj", "v_proj"]), base)
    adapters = [parameter for parameter in trained.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for parameter in adapters:
            parameter.normal_(std=0.2)
    served = snapshot_weights(trained, 1)
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        before = trained(ids).logits
        for parameter in adapters:
            parameter.zero_()
        assert torch.equal(served.module(ids).logits, before)
        assert not torch.equal(trained(ids).logits, before)
    own = {id(parameter) for parameter in trained.parameters()}
    assert sum(id(parameter) not in own for parameter in served.module.parameters()) == len(adapters)
    assert not any(parameter.requires_grad for parameter in served.module.parameters())
    assert all(parameter.requires_grad for parameter in adapters)


def test_a_drained_pause_lets_responses_finish_and_turns_new_ones_away(sampler: Sampler) -> None:
    _, running = _started(sampler, _request(5, max_tokens=60))
    sampler.pause("m", abort=False)
    assert running.is_over
    assert running.error is None
    with pytest.raises(ApiError, match="is paused") as caught:
        sampler.submit("m", [_request()])
    assert (caught.value.status, caught.value.headers()["retry-after"]) == (503, "1")
    sampler.resume("m")
    _whole(sampler.submit("m", [_request()])[0])


def test_an_aborted_pause_ends_responses_with_an_error(sampler: Sampler) -> None:
    _, running = _started(sampler, _request(5, max_tokens=400))
    sampler.pause("m", abort=True)
    assert running.error is not None
    assert (running.error.status, running.error.code) == (503, "CANCELLED")
    assert sampler.in_flight("m") == 0


def test_a_cancelled_response_ends_and_the_others_go_on(sampler: Sampler) -> None:
    _, running = _started(sampler, _request(5, max_tokens=400))
    other = sampler.submit("m", [_request(6)])[0]
    running.cancel("The client hung up")
    assert running.wait(60)
    assert running.error is not None
    _whole(other)


def test_more_than_may_run_wait_and_more_than_may_wait_are_turned_away() -> None:
    model = _model()
    sampler = Sampler(SamplerLimits(max_running=2, max_waiting=3))
    sampler.add_model("m", shape_of(model), snapshot_weights(model, 0))
    _, running = _started(sampler, _request(1, max_tokens=400))
    accepted = [running]

    def ask_for_many() -> None:
        for seed in range(20):
            accepted.extend(sampler.submit("m", [_request(seed, max_tokens=400)]))

    with pytest.raises(ApiError, match="queue is full") as caught:
        ask_for_many()
    assert (caught.value.status, caught.value.headers()["retry-after"]) == (429, "1")
    for generation in accepted:
        _whole(generation)
    sampler.close()


def test_models_are_sampled_side_by_side_and_leave_alone(sampler: Sampler) -> None:
    model = _model("random:qwen2-tiny")
    sampler.add_model("other", shape_of(model), snapshot_weights(model, 0))
    # Without end tokens it cannot end before its model leaves.
    endless = replace(_request(2, max_tokens=400), end_tokens=frozenset())
    _, leaving = _started(sampler, endless, model_id="other")
    staying = sampler.submit("m", [_request(2)])[0]
    sampler.remove_model("other")
    assert leaving.wait(60)
    assert leaving.error is not None
    _whole(staying)
    with pytest.raises(ApiError, match='Unknown model "other"'):
        sampler.submit("other", [_request()])


def test_a_failure_takes_its_own_responses_with_it_and_not_the_sampler(sampler: Sampler) -> None:
    broken = _model()
    del broken.lm_head
    sampler.add_model("broken", shape_of(broken), ServedWeights(broken, 0))
    failed = sampler.submit("broken", [_request()])[0]
    assert failed.wait(60)
    assert failed.error is not None
    assert failed.error.code == "INTERNAL"
    _whole(sampler.submit("m", [_request()])[0])


def test_a_lack_of_memory_is_told_and_survived(sampler: Sampler) -> None:
    class TooLarge(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, **inputs: object) -> None:
            raise torch.OutOfMemoryError

    sampler.add_model("large", shape_of(_model()), ServedWeights(TooLarge(), 0))
    failed = sampler.submit("large", [_request(), _request(1)])
    for generation in failed:
        assert generation.wait(60)
        assert generation.error is not None
        assert (generation.error.status, generation.error.code) == (503, "OUT_OF_MEMORY")
    _whole(sampler.submit("m", [_request()])[0])


def test_a_response_ends_at_the_end_of_the_context(sampler: Sampler) -> None:
    generation = sampler.submit("m", [_request(1, length=505, max_tokens=50)])[0]
    assert len(_whole(generation)) <= 7
    assert generation.finish_reason == ("stop" if generation.tokens[-1] == _END else "length")


def _started(sampler: Sampler, request: GenerationRequest, model_id: str = "m") -> tuple[int, Generation]:
    """A response that has its first token."""
    generation = sampler.submit(model_id, [request])[0]
    begun = threading.Event()
    generation.on_progress = begun.set
    if not generation.choices:
        assert begun.wait(60)
    return len(generation.choices), generation
