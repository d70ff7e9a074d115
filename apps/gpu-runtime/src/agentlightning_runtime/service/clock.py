"""Time, passed in so that tests can turn it."""

from __future__ import annotations

import time
from collections.abc import Callable

from google.protobuf.timestamp_pb2 import Timestamp

Clock = Callable[[], float]
"""Gives the time as Unix milliseconds, fractions included."""


def system_clock() -> float:
    """The time of this machine."""
    return time.time() * 1000


def to_timestamp(unix_ms: float) -> Timestamp:
    """Unix milliseconds as a moment on the wire."""
    seconds, rest = divmod(unix_ms, 1000)
    return Timestamp(seconds=int(seconds), nanos=int(rest * 1e6))
