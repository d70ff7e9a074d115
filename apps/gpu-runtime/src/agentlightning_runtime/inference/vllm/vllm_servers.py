"""The running vLLM servers; models with adapters on the same base share one."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentlightning_runtime.inference.vllm.vllm_process import RunningVllm, VllmModel


@dataclass
class _Shared:
    server: RunningVllm
    users: int = 0


class VllmServers:
    """Starts a server for the first model that needs it, and stops it after the last.

    Each server takes its share of the GPU's memory, so adapters on one base must not each have a server.

    Args:
        start: starts a server.
    """

    def __init__(self, start: Callable[[VllmModel], RunningVllm]) -> None:
        self._start = start
        self._shared: dict[VllmModel, _Shared] = {}
        self._lock = threading.Lock()

    def acquire(self, model: VllmModel) -> RunningVllm:
        """A server with these settings; release it after use.

        Raises:
            EngineError: when it does not start.
        """
        with self._lock:
            shared = self._shared.get(model)
            if shared is None:
                shared = self._shared[model] = _Shared(self._start(model))
            shared.users += 1
            return shared.server

    def release(self, model: VllmModel) -> None:
        """Ends the use of a server."""
        with self._lock:
            shared = self._shared[model]
            shared.users -= 1
            if shared.users > 0:
                return
            del self._shared[model]
        shared.server.stop()
