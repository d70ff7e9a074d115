"""The text of a response while its tokens are sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

_CONTEXT_TOKENS = 8
"""Number of preceding tokens decoded with the new ones: spaces and characters depend on context."""


class Decoder(Protocol):
    """The tokenizer methods that texts need."""

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        """The text of tokens."""
        ...


class ResponseText:
    """Collects text token by token; incomplete characters are held back."""

    def __init__(self, decoder: Decoder, *, skip_special_tokens: bool) -> None:
        self._decoder = decoder
        self._skips = skip_special_tokens
        self._tokens: list[int] = []
        self._begin = 0
        self._emitted_count = 0
        self.text = ""

    def add(self, tokens: Sequence[int]) -> str:
        """Adds tokens; returns the text that became final."""
        self._tokens.extend(tokens)
        before = self._decode(self._tokens[self._begin : self._emitted_count])
        now = self._decode(self._tokens[self._begin :])
        if now.endswith("\ufffd") and len(self._tokens) - self._emitted_count < _CONTEXT_TOKENS:
            return ""
        return self._tell(now[len(before) :])

    def end(self) -> str:
        """The remaining text, including incomplete characters."""
        before = self._decode(self._tokens[self._begin : self._emitted_count])
        return self._tell(self._decode(self._tokens[self._begin :])[len(before) :])

    def _tell(self, text: str) -> str:
        self._emitted_count = len(self._tokens)
        self._begin = max(self._begin, self._emitted_count - _CONTEXT_TOKENS)
        self.text += text
        return text

    def _decode(self, tokens: list[int]) -> str:
        return self._decoder.decode(tokens, skip_special_tokens=self._skips) if tokens else ""


def stop_finder(decoder: Decoder, stops: Sequence[str]) -> Callable[[list[int]], str | None] | None:
    """Finds the stop text in a growing response; one instance per response."""
    wanted = [stop for stop in stops if stop != ""]
    if not wanted:
        return None
    text = ResponseText(decoder, skip_special_tokens=True)
    seen = 0

    def find(tokens: list[int]) -> str | None:
        nonlocal seen
        text.add(tokens[seen:])
        seen = len(tokens)
        places = [(at, stop) for stop in wanted if (at := text.text.find(stop)) >= 0]
        return min(places)[1] if places else None

    return find


def held_back(text: str, watchwords: Sequence[str]) -> int:
    """The length of the text's longest suffix that is a prefix of a stop text."""
    lengths = [0]
    for word in watchwords:
        lengths.extend(length for length in range(1, min(len(word), len(text)) + 1) if text.endswith(word[:length]))
    return max(lengths)
