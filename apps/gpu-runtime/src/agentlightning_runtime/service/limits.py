"""What the service accepts and for how long it remembers."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024

MAX_MESSAGE_BYTES = 16 * MEBIBYTE
"""Largest gRPC message either side accepts, in bytes."""

CHUNK_BYTES = MEBIBYTE
"""Size of the pieces that a payload is cut into, in bytes."""

MAX_CLIENT_STATE_BYTES = 4 * MEBIBYTE
"""Largest client state of a checkpoint, in bytes."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits of one server.

    Attributes:
        max_batch_bytes: Largest serialised batch, in bytes. Protocol buffers end at 2 GiB.
        max_batch_data: Most sequences in a batch.
        max_inflight_bytes: Most bytes of batches that wait or run at a time. The next in line is always let in.
        reorder_window: How far ahead of the expected sequence number an operation may arrive.
        heartbeat_interval_ms: How often clients are asked to send a heartbeat.
        session_ttl_ms: After how long without a sign of life a session ends.
        abandoned_model_ttl_ms: For how long a model stays in memory whose session has ended; 0: as long as the server.
        result_ttl_ms: How long the result of a finished operation is kept.
    """

    max_batch_bytes: int = 1536 * MEBIBYTE
    max_batch_data: int = 65_536
    max_inflight_bytes: int = 3072 * MEBIBYTE
    reorder_window: int = 64
    heartbeat_interval_ms: int = 10_000
    session_ttl_ms: int = 300_000
    abandoned_model_ttl_ms: int = 3_600_000
    result_ttl_ms: int = 3_600_000
