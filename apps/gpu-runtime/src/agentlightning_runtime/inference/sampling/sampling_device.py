"""The device that the sampler computes on, beside training in the same process."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import torch

from agentlightning_runtime.engine.memory.device_memory import CudaMemory

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from agentlightning_runtime.inference.sampling.served_weights import ServedWeights


class SamplingDevice(Protocol):
    """Where responses are computed."""

    def free_bytes(self) -> float:
        """Memory that can be allocated; infinite where it is not limited."""
        ...

    def mark(self) -> Any:
        """Marks the end of the work that this thread has requested, such as the copy of published weights."""
        ...

    def decoding(self) -> AbstractContextManager[None]:
        """Surrounds the work of the sampler's thread, which does not wait for that of other threads."""
        ...

    def receive(self, weights: ServedWeights) -> None:
        """Makes the following work of the sampler's thread wait for the copy of its weights."""
        ...


class HostDevice:
    """A CPU: work is done when the call returns. Implements `SamplingDevice`."""

    def free_bytes(self) -> float:
        """Not limited."""
        return math.inf

    def mark(self) -> None:
        """Nothing is left to do."""

    @contextmanager
    def decoding(self) -> Generator[None]:
        """Changes nothing."""
        yield

    def receive(self, weights: ServedWeights) -> None:
        """They are complete."""


class CudaDevice:
    """A GPU: decoding has a separate stream with a high priority, so that tokens do not wait behind training.

    Implements `SamplingDevice`.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._memory = CudaMemory(device)
        # Lower numbers are higher priorities.
        self._stream = torch.cuda.Stream(device, priority=-1)

    def free_bytes(self) -> float:
        """Free memory, including what torch has reserved and does not use."""
        return self._memory.available()

    def mark(self) -> torch.cuda.Event:
        """Records an event in this thread's stream."""
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self._device))
        return event

    @contextmanager
    def decoding(self) -> Generator[None]:
        """Work is requested in the stream of the sampler."""
        with torch.cuda.stream(self._stream):
            yield

    def receive(self, weights: ServedWeights) -> None:
        """The stream waits for the copy; its memory is not reused before the stream has read it."""
        self._stream.wait_event(weights.copied)
        for tensor in (*weights.module.parameters(), *weights.module.buffers()):
            # It was allocated for the stream of training, which may free it.
            tensor.record_stream(self._stream)


def sampling_device(device: torch.device) -> SamplingDevice:
    """Sampling on a device."""
    return CudaDevice(device) if device.type == "cuda" else HostDevice()
