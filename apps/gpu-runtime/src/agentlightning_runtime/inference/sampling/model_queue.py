"""The waiting and running responses of one model.

On a GPU responses start while keys and values of all, as long as the longest, fit in the free memory. When memory runs
out, responses are suspended and continue later, fewer at a time, the oldest first.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable

import torch

from agentlightning_runtime.inference.http.api_error import ApiError, failed, out_of_memory
from agentlightning_runtime.inference.sampling.decoding_batch import DecodingBatch
from agentlightning_runtime.inference.sampling.generation import Generation
from agentlightning_runtime.inference.sampling.key_value_cache import BatchCache
from agentlightning_runtime.inference.sampling.loop_waker import gathered_wakes
from agentlightning_runtime.inference.sampling.model_shape import ModelShape
from agentlightning_runtime.inference.sampling.sampling_device import HostDevice, SamplingDevice
from agentlightning_runtime.inference.sampling.served_weights import ServedWeights

_log = logging.getLogger(__name__)

_SETTLED_AFTER_S = 0.001
_LONGEST_WAIT_S = 0.005
"""Maximum time that requests of a burst wait for each other: prefilling several prompts takes little more time than
one, and every prefill delays the running responses."""


_USABLE = 0.8
"""Share of the free memory for keys and values; the rest is for the states of a pass."""

_GROWTH = 1.5
"""Columns that are allocated at most, relative to those in use."""


class ModelQueue:
    """One model of a sampler. All methods except `turn` are called with the sampler's lock held.

    Args:
        shape: sizes of the model.
        weights: its first weights.
        max_running: maximum number of running responses.
        device: computes the responses; a CPU by default.
    """

    def __init__(
        self,
        shape: ModelShape,
        weights: ServedWeights,
        max_running: int,
        device: SamplingDevice | None = None,
    ) -> None:
        self.shape = shape
        self.device = device or HostDevice()
        self.weights = weights
        self.is_paused = False
        self.waiting: deque[Generation] = deque()
        self._active: list[Generation] = []
        self._batches: list[tuple[ServedWeights, DecodingBatch]] = []
        self._max_running = max_running
        self._fitting = max_running
        self._bytes_a_token = 0
        self._suspended: list[Generation] = []
        self._first_came_s = 0.0
        self._last_came_s = 0.0

    def add(self, generations: list[Generation]) -> None:
        """Queues new responses."""
        now = time.monotonic()
        if not self.waiting:
            self._first_came_s = now
        self._last_came_s = now
        self.waiting.extend(generations)

    def idle_s(self) -> float:
        """Time until there is work, in seconds."""
        return 0.0 if self._active else self._unsettled_s()

    def _unsettled_s(self) -> float:
        if not self.waiting:
            return 0.0
        settled = min(self._last_came_s + _SETTLED_AFTER_S, self._first_came_s + _LONGEST_WAIT_S)
        return settled - time.monotonic()

    @property
    def in_flight(self) -> int:
        """The number of waiting and running responses."""
        return len(self.waiting) + len(self._active)

    def abort(self, reason: str) -> None:
        """Ends all responses with an error."""
        for generation in [*self.waiting, *self._active]:
            generation.cancel(reason)

    def turn(self, lock: threading.Condition) -> None:
        """Admits waiting responses and samples a token for every response. In the sampler thread, unlocked."""
        with gathered_wakes(), self.device.decoding():
            self._turn(lock)

    def _turn(self, lock: threading.Condition) -> None:
        with lock:
            newcomers = self._admit()
        by_weights: dict[int, list[Generation]] = {}
        for generation in newcomers:
            by_weights.setdefault(id(generation.weights), []).append(generation)
        for weights, batch in self._batches:
            stepping = batch.generations
            if not self._guarded(batch.step, stepping):
                # Some layers of its cache may be a column ahead of others: new responses start a new batch.
                batch.clear()
                continue
            self._join(batch, by_weights.pop(id(weights), []))
        for joining in by_weights.values():
            weights = joining[0].weights
            self.device.receive(weights)
            batch = DecodingBatch(weights, self.shape)
            self._batches.append((weights, batch))
            self._join(batch, joining)
        if self._bytes_a_token == 0:
            self._bytes_a_token = max((cache.bytes_a_token for cache in self._caches()), default=0)
        with lock:
            running = [generation for generation in self._active if not generation.is_over]
            # What an ended response leaves is room for one more.
            self._fitting = min(self._max_running, self._fitting + len(self._active) - len(running))
            suspended = {id(generation) for generation in self._suspended}
            self._active = [generation for generation in running if id(generation) not in suspended]
            self.waiting.extendleft(generation for generation in reversed(running) if id(generation) in suspended)
            self._suspended.clear()
            # Weights without responses are released here.
            self._batches = [(weights, batch) for weights, batch in self._batches if batch.size > 0]
            lock.notify_all()

    def _admit(self) -> list[Generation]:
        if self._unsettled_s() > 0:
            return []
        newcomers: list[Generation] = []
        staying: deque[Generation] = deque()
        columns = self._affordable_columns() if self.waiting else 0
        longest = max((generation.length for generation in self._active), default=0)
        while self.waiting:
            generation = self.waiting.popleft()
            if generation.fail_if_cancelled():
                continue
            count = len(self._active) + len(newcomers)
            longest = max(longest, generation.length)
            # The first that has no room keeps its place: shorter ones do not overtake it.
            has_room = not staying and count < self._fitting and (count + 1) * longest <= columns
            if generation.is_probe or has_room or (count == 0 and not staying):
                newcomers.append(generation)
            else:
                staying.append(generation)
        self.waiting = staying
        self._active.extend(newcomers)
        return newcomers

    def _affordable_columns(self) -> float:
        """Columns of all rows together that fit in memory; unlimited until the size of one is known."""
        if self._bytes_a_token == 0:
            return math.inf
        usable = self.device.free_bytes() * _USABLE + sum(cache.nbytes for cache in self._caches())
        return usable / (self._bytes_a_token * _GROWTH)

    def _caches(self) -> list[BatchCache]:
        return [batch.cache for _, batch in self._batches if batch.cache is not None]

    def _join(self, batch: DecodingBatch, joining: list[Generation]) -> None:
        self._guarded(lambda: batch.join(joining), joining, batch)

    def _guarded(
        self, work: Callable[[], None], concerned: list[Generation], batch: DecodingBatch | None = None
    ) -> bool:
        """Runs an action whose failure concerns only its own responses, not the sampler; returns whether it succeeded.

        Those that have joined `batch` meanwhile are not concerned.
        """
        try:
            work()
        except torch.OutOfMemoryError:
            error = None
        except Exception as reason:  # noqa: BLE001
            _log.exception("sampling failed")
            error = reason if isinstance(reason, ApiError) else failed()
        else:
            return True
        # Outside the handler: the exception references the frames, and they the tensors.
        joined = set() if batch is None else {id(generation) for generation in batch.generations}
        left = [generation for generation in concerned if not generation.is_over and id(generation) not in joined]
        if error is None:
            self._suspend(left)
        else:
            _fail(left, error)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return False

    def _suspend(self, generations: list[Generation]) -> None:
        """Lets responses wait for memory. One that was alone, and those of the runtime itself, fail instead."""
        running = sum(not generation.is_over for generation in self._active)
        _log.warning("sampling ran out of memory with %d responses", running)
        if running == 1:
            _fail(generations, out_of_memory(running))
            return
        _fail([generation for generation in generations if generation.is_probe], out_of_memory(running))
        self._fitting = max(1, running - (len(generations) + 1) // 2)
        for generation in generations:
            if not generation.is_over:
                generation.suspend()
                self._suspended.append(generation)


def _fail(generations: list[Generation], error: ApiError) -> None:
    for generation in generations:
        generation.fail(error)
