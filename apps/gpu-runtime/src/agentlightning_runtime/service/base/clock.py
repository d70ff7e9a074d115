"""The clock, injected so that tests can control it."""

from __future__ import annotations

import time
from collections.abc import Callable

from google.protobuf.timestamp_pb2 import Timestamp

Clock = Callable[[], float]
"""Returns the time in Unix milliseconds, fractions included."""


def system_clock() -> float:
    """The system clock."""
    return time.time() * 1000


def to_timestamp(unix_ms: float) -> Timestamp:
    """Unix milliseconds as a protobuf timestamp."""
    seconds, rest = divmod(unix_ms, 1000)
    return Timestamp(seconds=int(seconds), nanos=int(rest * 1e6))
