"""Texts of single tokens, for log-probabilities in OpenAI's format."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


class TokenTexts:
    """The text and the bytes of each token of a tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._bytes_of = _byte_alphabet()
        self.of = lru_cache(maxsize=65_536)(self._of)

    def _of(self, token: int) -> tuple[str, tuple[int, ...]]:
        text = str(self._tokenizer.decode([token], skip_special_tokens=False))
        if "\ufffd" not in text:
            return text, tuple(text.encode())
        return text, self._part_of_character(token) or tuple(text.encode())

    def _part_of_character(self, token: int) -> tuple[int, ...] | None:
        """A token that is part of a character has bytes but no text."""
        piece = str(self._tokenizer.convert_ids_to_tokens(token))
        if len(piece) == 6 and piece.startswith("<0x"):
            return (int(piece[3:5], 16),)
        values = [self._bytes_of.get(character) for character in piece]
        known = tuple(value for value in values if value is not None)
        return known if len(known) == len(values) else None


def _byte_alphabet() -> dict[str, int]:
    """The characters that represent bytes in byte-level vocabularies (Radford et al. 2019)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in set(printable)]
    alphabet.update({chr(256 + index): byte for index, byte in enumerate(others)})
    return alphabet
