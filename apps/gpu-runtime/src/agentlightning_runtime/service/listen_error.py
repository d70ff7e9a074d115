"""What stands in the way of listening."""

from __future__ import annotations


class ListenError(Exception):
    """The server cannot or must not listen. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
