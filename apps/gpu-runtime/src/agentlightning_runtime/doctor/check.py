"""One thing that the doctor looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "problem"]
"""`warning`: it works, but not as well as it might. `problem`: it will not work."""


@dataclass(frozen=True, slots=True)
class Check:
    """What was found, and what to do about it; there is a remedy unless all is well."""

    name: str
    status: Status
    found: str
    remedy: str = ""
