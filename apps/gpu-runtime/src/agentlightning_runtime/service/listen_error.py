"""Errors of the listener."""

from __future__ import annotations


class ListenError(Exception):
    """The server cannot or must not listen. `remedy` is the corrective action."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
