"""Memory exhaustion between layers ends only the responses that needed the memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
import torch

from agentlightning_runtime.engine.models.random_model import load_random_model
from agentlightning_runtime.inference import key_value_cache, model_queue
from agentlightning_runtime.inference.decoding_batch import DecodingBatch
from agentlightning_runtime.inference.generation import Generation, GenerationRequest
from agentlightning_runtime.inference.model_queue import ModelQueue
from agentlightning_runtime.inference.model_shape import ModelShape, shape_of
from agentlightning_runtime.inference.sampling_rule import SamplingRule
from agentlightning_runtime.inference.served_weights import ServedWeights, snapshot_weights

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


def test_who_comes_when_a_step_fails_is_not_taken_into_what_it_left(monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert [generation.error is not None for generation in running] == [True, True]
        _finish(lambda: queue.turn(lock), [newcomer])
    assert newcomer.error is None
    assert newcomer.tokens == served.alone(newcomer)
