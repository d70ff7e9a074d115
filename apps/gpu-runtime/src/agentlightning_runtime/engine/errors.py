"""Errors that an engine raises and that reach the client by name."""

from __future__ import annotations

from enum import StrEnum


class EngineErrorReason(StrEnum):
    """Why an engine refuses or fails; the contract has the same names. Anything else is `INTERNAL`."""

    INVALID = "INVALID"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    PRECONDITION = "PRECONDITION"
    TOO_LARGE = "TOO_LARGE"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    NON_FINITE = "NON_FINITE"
    DATA_LOSS = "DATA_LOSS"
    ENGINE_UNAVAILABLE = "ENGINE_UNAVAILABLE"


class EngineError(Exception):
    """A refusal or failure that the client is told by name.

    Args:
        reason: Which kind.
        message: What happened, with the offending value; for people.
        field: Path of the wrong field, when there is one to blame.
        datum_index: Index of the wrong datum in the batch, from 0.
        gradients_discarded: True when the accumulated gradients were dropped because of this.
        remedy: What to do about it; for people.
        num_tokens: With OUT_OF_MEMORY: how many tokens were in hand when memory ran out.
        max_tokens_seen_ok: With OUT_OF_MEMORY: the most that have fitted so far.
        retry_after_ms: With ENGINE_UNAVAILABLE: when the same request may be good.
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
