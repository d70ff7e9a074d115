"""Errors of the command line."""

from __future__ import annotations


class UsageError(Exception):
    """A setting that cannot be used. `remedy` is the corrective action."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
