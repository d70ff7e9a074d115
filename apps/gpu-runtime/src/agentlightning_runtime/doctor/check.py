"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "problem"]
"""`warning`: it works, with a limitation. `problem`: it does not work."""


@dataclass(frozen=True, slots=True)
class Check:
    """The finding and its remedy; the remedy is set unless the status is `ok`."""

    name: str
    status: Status
    found: str
    remedy: str = ""
