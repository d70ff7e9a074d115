"""Metrics streamed to watching clients."""

from __future__ import annotations

import asyncio
import math
import uuid
from collections import deque
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.users import current_user
from agentlightning_runtime.gen.agentlightning.runtime.v1 import runtime_pb2
from agentlightning_runtime.service.base.clock import to_timestamp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from agentlightning_runtime.service.base.clock import Clock

KEPT_POINTS = 20_000
"""Number of measurements kept; the oldest are dropped first."""

POINTS_PER_MESSAGE = 1_000


class MetricsLog:
    """The latest measurements with their positions, so that a reader resumes at its cursor."""

    def __init__(self, clock: Clock, kept_points: int = KEPT_POINTS) -> None:
        self._clock = clock
        self._incarnation = uuid.uuid4().hex[:8]
        self._points: deque[tuple[int, str, runtime_pb2.MetricPoint]] = deque(maxlen=kept_points)
        self._next = 1
        self._changed = asyncio.Event()
        self._end: BaseException | None = None

    def add(self, values: Mapping[str, float], *, model_id: str = "", step: int = 0) -> None:
        """Records metrics of a model, or of the whole runtime; values that are not finite are omitted."""
        user = current_user.get() if model_id else ""
        now = to_timestamp(self._clock())
        for name, value in values.items():
            if not math.isfinite(value):
                continue
            point = runtime_pb2.MetricPoint(model_id=model_id, name=name, value=value, step=step, time=now)
            self._points.append((self._next, user, point))
            self._next += 1
        self._wake()

    def close(self, error: BaseException) -> None:
        """Ends all current and future reads with an error."""
        self._end = error
        self._wake()

    async def follow(self, after_cursor: str, model_id: str = "") -> AsyncIterator[runtime_pb2.WatchMetricsResponse]:
        """Measurements of the user's models and of the runtime after a cursor, then new ones.

        A cursor of an earlier process restarts at the beginning.
        """
        user = current_user.get()
        incarnation, _, place_text = after_cursor.partition(":")
        place = int(place_text) if incarnation == self._incarnation and place_text.isdigit() else 0
        while True:
            changed = self._changed
            fresh = [each for each in self._points if each[0] > place]
            for start in range(0, len(fresh), POINTS_PER_MESSAGE):
                piece = fresh[start : start + POINTS_PER_MESSAGE]
                place = piece[-1][0]
                points = [
                    point
                    for _, owner, point in piece
                    if (not model_id or point.model_id == model_id) and owner in ("", user)
                ]
                if points:
                    yield runtime_pb2.WatchMetricsResponse(cursor=f"{self._incarnation}:{place}", points=points)
            if self._end is not None:
                raise self._end
            if not changed.is_set():
                await changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
