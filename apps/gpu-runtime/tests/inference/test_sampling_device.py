"""Decoding beside training: in a separate stream, after the copy of the weights that it reads."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import torch

from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.inference.sampling import sampling_device
from agentlightning_runtime.inference.sampling.generation import GenerationRequest
from agentlightning_runtime.inference.sampling.model_shape import shape_of
from agentlightning_runtime.inference.sampling.sampler import Sampler
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule
from agentlightning_runtime.inference.sampling.served_weights import ServedWeights, snapshot_weights

if TYPE_CHECKING:
    from collections.abc import Generator

    import pytest


class StrictDevice:
    """A device with streams: refuses work outside of the sampler's, and weights whose copy was not waited for."""

    def __init__(self) -> None:
        self.is_decoding = False
        self.marks: list[int] = []
        self.received: list[int] = []
        self.read: list[int] = []
        self._trainer = threading.get_ident()

    def free_bytes(self) -> float:
        return 2**40

    def mark(self) -> int:
        assert threading.get_ident() == self._trainer
        self.marks.append(len(self.marks))
        return self.marks[-1]

    @contextmanager
    def decoding(self) -> Generator[None]:
        assert threading.get_ident() != self._trainer
        self.is_decoding = True
        yield
        self.is_decoding = False

    def receive(self, weights: ServedWeights) -> None:
        assert self.is_decoding
        assert weights.copied in self.marks
        self.received.append(weights.copied)

    def watched(self, weights: ServedWeights, mark: int) -> ServedWeights:
        """The weights, which are read in the stream of the sampler only, after they were received."""

        def check(_module: object, _inputs: object) -> None:
            assert self.is_decoding
            assert mark in self.received
            self.read.append(mark)

        weights.module.register_forward_pre_hook(check)
        return weights


def test_tokens_are_computed_in_the_stream_after_the_copy_of_their_weights() -> None:
    torch.set_num_threads(1)
    module = load_random_model("random:llama-tiny").causal_lm
    device, asked = StrictDevice(), list[torch.device]()

    def device_of(of: torch.device) -> StrictDevice:
        asked.append(of)
        return device

    sampler = Sampler(device_of=device_of)
    request = GenerationRequest((1, 2, 3), 20, SamplingRule(), 1, frozenset())
    try:
        sampler.add_model("m", shape_of(module), device.watched(snapshot_weights(module, 0), 0))
        sampler.add_model("other", shape_of(module), device.watched(snapshot_weights(module, 0), 1))
        for mark in (2, 3):
            (generation,) = sampler.submit("m", [request])
            assert generation.wait(60)
            assert generation.error is None
            sampler.publish("m", device.watched(snapshot_weights(module, mark), mark))
        (generation,) = sampler.submit("m", [request])
        assert generation.wait(60)
        assert generation.error is None
    finally:
        sampler.close()
    assert asked == [torch.device("cpu")]
    assert sorted(set(device.read)) == [0, 2, 3]
    assert device.received == [0, 2, 3]


class Stream:
    """A stream of CUDA."""

    def __init__(self, device: torch.device, priority: int) -> None:
        assert (device, priority) == (torch.device("cuda", 1), -1)
        self.events: list[object] = []

    def wait_event(self, event: object) -> None:
        self.events.append(event)


def test_a_gpu_decodes_in_a_stream_of_high_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[Any] = ["training"]
    recorded: list[tuple[int, object]] = []

    @contextmanager
    def stream(one: object) -> Generator[None]:
        current.append(one)
        yield
        current.pop()

    def record_stream(tensor: torch.Tensor, one: object) -> None:
        recorded.append((tensor.data_ptr(), one))

    event = Mock()
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", stream)
    monkeypatch.setattr(torch.cuda, "Event", Mock(return_value=event))
    monkeypatch.setattr(torch.cuda, "current_stream", Mock(side_effect=lambda _device: current[-1]))  # pyright: ignore[reportUnknownLambdaType]
    monkeypatch.setattr(torch.Tensor, "record_stream", record_stream)
    device = sampling_device.sampling_device(torch.device("cuda", 1))
    assert device.mark() is event
    event.record.assert_called_once_with("training")
    module = torch.nn.BatchNorm1d(3)
    with device.decoding():
        assert isinstance(current[-1], Stream)
        device.receive(ServedWeights(module, 1, None, event))
        assert current[-1].events == [event]
        # Weights and buffers are kept until the stream has read them.
        expected = [(each.data_ptr(), current[-1]) for each in (*module.parameters(), *module.buffers())]
        assert recorded == expected
    assert current == ["training"]
