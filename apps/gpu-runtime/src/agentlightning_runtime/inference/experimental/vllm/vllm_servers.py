"""The running vLLM servers; models with adapters on the same base share their replicas."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmModel
    from agentlightning_runtime.inference.experimental.vllm.vllm_process import RunningServer

    StartVllm = Callable[[VllmModel, int], RunningServer]


@dataclass
class _Shared:
    replicas: Sequence[RunningServer]
    users: int = 0


class VllmServers:
    """Starts the replicas for the first model that needs them, and stops them after the last.

    Each server takes its share of the GPU's memory, so adapters on one base must not each have a server.

    Args:
        starts: starts each replica, for a model and the bytes that the trainer will allocate.
    """

    def __init__(self, starts: Sequence[StartVllm]) -> None:
        self._starts = starts
        self._shared: dict[VllmModel, _Shared] = {}
        self._lock = threading.Lock()

    def acquire(self, model: VllmModel, reserved_bytes: int) -> Sequence[RunningServer]:
        """The replicas with these settings; release them after use.

        Raises:
            EngineError: when one does not start.
        """
        with self._lock:
            shared = self._shared.get(model)
            if shared is None:
                shared = self._shared[model] = _Shared(self._start(model, reserved_bytes))
            shared.users += 1
            return shared.replicas

    def release(self, model: VllmModel) -> None:
        """Ends the use of the replicas."""
        with self._lock:
            shared = self._shared[model]
            shared.users -= 1
            if shared.users > 0:
                return
            del self._shared[model]
        for replica in shared.replicas:
            replica.stop()

    def running(self) -> Sequence[RunningServer]:
        """All replicas."""
        with self._lock:
            return [replica for shared in self._shared.values() for replica in shared.replicas]

    def _start(self, model: VllmModel, reserved_bytes: int) -> Sequence[RunningServer]:
        started: list[RunningServer] = []
        try:
            for start in self._starts:
                started.append(start(model, reserved_bytes))  # noqa: PERF401 -- those started are stopped on failure
        except BaseException:
            for replica in started:
                replica.stop()
            raise
        return started
