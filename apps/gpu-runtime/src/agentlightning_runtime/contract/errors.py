"""Errors that an engine raises and that reach the client with a reason."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentlightning_runtime.contract.results import ProbeResult


class EngineErrorReason(StrEnum):
    """Error reasons of an engine, named as in the contract. Other exceptions are `INTERNAL`."""

    INVALID = "INVALID"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    PRECONDITION = "PRECONDITION"
    TOO_LARGE = "TOO_LARGE"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    NON_FINITE = "NON_FINITE"
    DATA_LOSS = "DATA_LOSS"
    ENGINE_UNAVAILABLE = "ENGINE_UNAVAILABLE"
    WEIGHT_MISMATCH = "WEIGHT_MISMATCH"


class EngineError(Exception):
    """An engine error that the client receives with its reason.

    Args:
        reason: Error reason.
        message: Description with the offending value; human-readable.
        field: Path of the invalid field, if any.
        datum_index: Index of the invalid datum in the batch, from 0.
        gradients_discarded: True when the accumulated gradients were discarded because of it.
        remedy: Corrective action; human-readable.
        num_tokens: With OUT_OF_MEMORY: tokens in the micro-batch that ran out of memory.
        max_tokens_seen_ok: With OUT_OF_MEMORY: largest number of tokens that succeeded so far.
        retry_after_ms: With ENGINE_UNAVAILABLE: delay after which the request may be retried.
        probe: With WEIGHT_MISMATCH: the comparison that failed.
    """

    def __init__(
        self,
        reason: EngineErrorReason,
        message: str,
        *,
        field: str = "",
        datum_index: int | None = None,
        gradients_discarded: bool = False,
        remedy: str = "",
        num_tokens: int | None = None,
        max_tokens_seen_ok: int | None = None,
        retry_after_ms: int | None = None,
        probe: ProbeResult | None = None,
    ) -> None:
        super().__init__(f"{message}. {remedy}" if remedy else message)
        self.reason = reason
        self.message = message
        self.field = field
        self.datum_index = datum_index
        self.gradients_discarded = gradients_discarded
        self.remedy = remedy
        self.num_tokens = num_tokens
        self.max_tokens_seen_ok = max_tokens_seen_ok
        self.retry_after_ms = retry_after_ms
        self.probe = probe
