"""State shared by the models of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentlightning_runtime.service.base.clock import Clock
    from agentlightning_runtime.service.hosting.engine_thread import EngineThread


@dataclass(frozen=True, slots=True)
class ModelSurroundings:
    """The state that a model shares with the others of the server."""

    clock: Clock
    thread: EngineThread
    reorder_window: int
    result_ttl_ms: float
