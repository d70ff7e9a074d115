"""The text of a response while its tokens come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

_CONTEXT_TOKENS = 8
"""Tokens before the new ones that are decoded with them: spaces and characters depend on what they follow."""


class Decoder(Protocol):
    """As much of a tokenizer as texts need."""

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        """The text of tokens."""
        ...


class ResponseText:
    """Collects text token by token; bytes that may still become a character are held back."""

    def __init__(self, decoder: Decoder, *, skip_special_tokens: bool) -> None:
        self._decoder = decoder
        self._skips = skip_special_tokens
        self._tokens: list[int] = []
        self._begin = 0
        self._told = 0
        self.text = ""

    def add(self, tokens: Sequence[int]) -> str:
        """Takes tokens, and gives the text that is certain now and was not before."""
        self._tokens.extend(tokens)
        before = self._decode(self._tokens[self._begin : self._told])
        now = self._decode(self._tokens[self._begin :])
        if now.endswith("\ufffd") and len(self._tokens) - self._told < _CONTEXT_TOKENS:
            return ""
        return self._tell(now[len(before) :])

    def end(self) -> str:
        """What is left, whole characters or not."""
        before = self._decode(self._tokens[self._begin : self._told])
        return self._tell(self._decode(self._tokens[self._begin :])[len(before) :])

    def _tell(self, text: str) -> str:
        self._told = len(self._tokens)
        self._begin = max(self._begin, self._told - _CONTEXT_TOKENS)
        self.text += text
        return text

    def _decode(self, tokens: list[int]) -> str:
        return self._decoder.decode(tokens, skip_special_tokens=self._skips) if tokens else ""


def stop_finder(decoder: Decoder, stops: Sequence[str]) -> Callable[[list[int]], str | None] | None:
    """Tells the stop text that a growing response holds; a new one for every response."""
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
    """The length of the text's tail that is a watchword or begins one."""
    lengths = [0]
    for word in watchwords:
        lengths.extend(length for length in range(1, min(len(word), len(text)) + 1) if text.endswith(word[:length]))
    return max(lengths)
