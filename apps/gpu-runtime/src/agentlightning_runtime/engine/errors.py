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


class EngineError(Exception):
    """A refusal or failure that the client is told by name.

    Args:
        reason: Which kind.
        message: What happened, with the offending value; for people.
        field: Path of the wrong field, when there is one to blame.
        datum_index: Index of the wrong datum in the batch, from 0.
        gradients_discarded: True when the accumulated gradients were dropped because of this.
        remedy: What to do about it. Appended to the message.
        numbers: Figures that help, such as `allocated_bytes` or `max_seen_ok_tokens` of OUT_OF_MEMORY.
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
        numbers: dict[str, float] | None = None,
    ) -> None:
        super().__init__(f"{message}. {remedy}" if remedy else message)
        self.reason = reason
        self.message = message
        self.field = field
        self.datum_index = datum_index
        self.gradients_discarded = gradients_discarded
        self.remedy = remedy
        self.numbers = numbers or {}
