"""Limits and retention times of the service."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024

MAX_MESSAGE_BYTES = 16 * MEBIBYTE
"""Largest gRPC message either side accepts, in bytes."""

CHUNK_BYTES = MEBIBYTE
"""Size of the chunks of a payload, in bytes."""

MAX_CLIENT_STATE_BYTES = 4 * MEBIBYTE
"""Largest client state of a checkpoint, in bytes."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits of one server.

    Attributes:
        max_batch_bytes: Largest serialised batch, in bytes. Protocol buffers are limited to 2 GiB.
        max_batch_data: Maximum number of sequences in a batch.
        max_inflight_bytes: Maximum bytes of batches in flight. The next in sequence is always admitted.
        reorder_window: Maximum distance of an operation from the expected sequence number.
        heartbeat_interval_ms: Interval of the clients' heartbeats.
        session_ttl_ms: Idle time after which a session expires.
        abandoned_model_ttl_ms: Retention of a model whose session has ended; 0: unlimited.
        result_ttl_ms: Retention of the result of a finished operation.
    """

    max_batch_bytes: int = 1536 * MEBIBYTE
    max_batch_data: int = 65_536
    max_inflight_bytes: int = 3072 * MEBIBYTE
    reorder_window: int = 64
    heartbeat_interval_ms: int = 10_000
    session_ttl_ms: int = 300_000
    abandoned_model_ttl_ms: int = 3_600_000
    result_ttl_ms: int = 3_600_000
