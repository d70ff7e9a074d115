"""Validation errors."""

from __future__ import annotations

import re

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError

NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")


def invalid(field: str, message: str, datum_index: int | None = None) -> RuntimeFailureError:
    """The error for an invalid value, with its field and datum."""
    where = field if datum_index is None else f"data[{datum_index}].{field}"
    return RuntimeFailureError(
        error_pb2.ERROR_REASON_INVALID, f"{where} {message}", field=field, datum_index=datum_index
    )


def check_name(field: str, value: str) -> None:
    """Validates an id or name chosen by a client.

    Raises:
        RuntimeFailureError: INVALID.
    """
    if NAME.fullmatch(value) is None:
        raise invalid(field, f'is "{value[:80]}"; it must be 1 to 255 of A-Z a-z 0-9 _ -')
