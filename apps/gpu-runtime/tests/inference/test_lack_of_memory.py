"""Memory exhaustion between layers ends no response that fits alone, and changes none."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch

from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.inference.sampling import key_value_cache, model_queue
from agentlightning_runtime.inference.sampling.decoding_batch import DecodingBatch
from agentlightning_runtime.inference.sampling.generation import Generation, GenerationRequest
from agentlightning_runtime.inference.sampling.model_queue import ModelQueue
from agentlightning_runtime.inference.sampling.model_shape import ModelShape, shape_of
from agentlightning_runtime.inference.sampling.sampling_device import HostDevice
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule
from agentlightning_runtime.inference.sampling.served_weights import ServedWeights, snapshot_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class _Served:
    """A served model, and its responses to single prompts."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        module = load_random_model("random:llama-tiny").causal_lm
        self.shape: ModelShape = shape_of(module)
        self.weights: ServedWeights = snapshot_weights(module, 0)

    def ask(self, seed: int, length: int, max_tokens: int = 40) -> Generation:
        prompt = tuple((seed * 7 + at * 5) % 256 for at in range(length))
        request = GenerationRequest(prompt, max_tokens, SamplingRule(), seed, frozenset())
        return Generation(request, self.weights)

    def alone(self, generation: Generation) -> list[int]:
        again = Generation(generation.request, self.weights)
        with torch.inference_mode():
            batch = DecodingBatch(self.weights, self.shape)
            batch.join([again])
            _finish(batch.step, [again])
        return again.tokens


def _finish(step: Callable[[], None], generations: list[Generation]) -> None:
    for _ in range(100):
        if all(generation.is_over for generation in generations):
            return
        step()
    raise AssertionError("the responses do not end")


@pytest.mark.parametrize("newcomer_length", [3, 50])
def test_who_finds_no_room_in_a_batch_leaves_it_as_it_was(
    newcomer_length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = _Served()
    running = [served.ask(1, 5), served.ask(2, 9)]
    newcomer = served.ask(3, newcomer_length)
    with torch.inference_mode():
        batch = DecodingBatch(served.weights, served.shape)
        batch.join(running)
        for _ in range(10):
            batch.step()
        stack, calls = vars(key_value_cache)["_stacked"], iter(range(100))

        def stacked(*args: object) -> Tensor:
            # The first layer has memory for keys and values, the second does not.
            if next(calls) == 2:
                raise torch.OutOfMemoryError
            return stack(*args)

        monkeypatch.setattr(key_value_cache, "_stacked", stacked)
        with pytest.raises(torch.OutOfMemoryError):
            batch.join([newcomer])
        later = served.ask(4, 7)
        batch.join([later])
        _finish(batch.step, [*running, later])
    for generation in [*running, later]:
        assert generation.tokens == served.alone(generation)


def test_responses_of_a_step_that_fails_continue_with_the_same_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_queue, "_SETTLED_AFTER_S", 0)
    served = _Served()
    lock = threading.Condition()
    queue = ModelQueue(served.shape, served.weights, 16)
    running = [served.ask(1, 5), served.ask(2, 9)]
    newcomer = served.ask(3, 4)
    update = key_value_cache.BatchLayer.update
    updated: list[key_value_cache.BatchLayer] = []

    def update_or_fail(layer: key_value_cache.BatchLayer, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        updated.append(layer)
        if len(updated) == 2:
            raise torch.OutOfMemoryError
        return update(layer, keys, values)

    with torch.inference_mode():
        queue.add(running)
        for _ in range(10):
            queue.turn(lock)
        queue.add([newcomer])
        monkeypatch.setattr(key_value_cache.BatchLayer, "update", update_or_fail)
        queue.turn(lock)
        assert queue.in_flight == 3
        _finish(lambda: queue.turn(lock), [*running, newcomer])
    for generation in [*running, newcomer]:
        assert generation.error is None
        assert generation.tokens == served.alone(generation)


def test_as_many_run_as_fit_and_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_queue, "_SETTLED_AFTER_S", 0)
    served = _Served()
    queue, lock = ModelQueue(served.shape, served.weights, 16), threading.Condition()
    update = key_value_cache.BatchLayer.update
    rows: list[int] = []

    def update_of_few_rows(layer: key_value_cache.BatchLayer, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if len(keys) > 3:
            raise torch.OutOfMemoryError
        rows.append(len(keys))
        return update(layer, keys, values)

    monkeypatch.setattr(key_value_cache.BatchLayer, "update", update_of_few_rows)
    generations = [served.ask(seed, 5 + seed, 8) for seed in range(8)]
    ended: list[int] = []
    for number, generation in enumerate(generations):
        generation.on_end = partial(ended.append, number)
    with torch.inference_mode():
        queue.add(generations)
        _finish(lambda: queue.turn(lock), generations)
    assert [generation.error for generation in generations] == [None] * 8
    assert [generation.tokens for generation in generations] == [served.alone(each) for each in generations]
    assert max(rows) > 1
    assert ended == list(range(8))
    assert queue.in_flight == 0


@pytest.mark.parametrize("available", [4, 10, 1])
def test_responses_start_while_their_keys_and_values_fit(monkeypatch: pytest.MonkeyPatch, available: int) -> None:
    monkeypatch.setattr(model_queue, "_SETTLED_AFTER_S", 0)
    served = _Served()
    a_row = 0

    class SmallDevice(HostDevice):
        def free_bytes(self) -> float:
            # For `available` rows of 100 columns, with what is allocated beyond those in use.
            return available * a_row * model_queue._GROWTH / model_queue._USABLE + 1

    queue, lock = ModelQueue(served.shape, served.weights, 16, SmallDevice()), threading.Condition()
    with torch.inference_mode():
        first = served.ask(1, 60, 2)
        queue.add([first])
        _finish(lambda: queue.turn(lock), [first])
        a_row = 100 * queue._bytes_a_token
        assert a_row > 0
        generations = [served.ask(seed, 60, 40) for seed in range(8)]
        # Has room beside the first, and waits all the same.
        short = served.ask(9, 2, 4)
        queue.add([*generations, short])
        queue.turn(lock)
        started = [bool(each.choices) for each in [*generations, short]]
        count = max(1, min(9, available * 100 // 60))
        assert started == [True] * count + [False] * (9 - count)
        _finish(lambda: queue.turn(lock), [*generations, short])
    assert [each.tokens for each in generations] == [served.alone(each) for each in generations]


def test_a_response_that_does_not_fit_alone_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_queue, "_SETTLED_AFTER_S", 0)
    served = _Served()
    queue, lock = ModelQueue(served.shape, served.weights, 16), threading.Condition()
    update = key_value_cache.BatchLayer.update

    def update_of_few_tokens(layer: key_value_cache.BatchLayer, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if keys.shape[-2] > 30:
            raise torch.OutOfMemoryError
        return update(layer, keys, values)

    monkeypatch.setattr(key_value_cache.BatchLayer, "update", update_of_few_tokens)
    small, large = served.ask(1, 6, 9), served.ask(2, 40, 9)
    with torch.inference_mode():
        queue.add([small, large])
        _finish(lambda: queue.turn(lock), [small, large])
    assert small.tokens == served.alone(small)
    assert large.error is not None
    assert large.error.code == "OUT_OF_MEMORY"
