"""Separates the reasoning of a response from its text: ``<think>…</think>`` at its begin.

``packages/runtime-tinker`` has the same rule. Templates that do not know the marks leave them in the text.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentlightning_runtime.inference.text.response_text import held_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.inference.text.text_model import TextModel

_OPENING, _CLOSING = "<think>", "</think>"

_MARK_TOKENS = 16
"""More tokens than the first mark and the line break after it have."""


class ReasoningPlace(enum.Enum):
    """Where a response has its reasoning."""

    NONE = enum.auto()
    MARKED = enum.auto()
    #: From the first token on: the prompt ends with the first mark.
    OPEN = enum.auto()


@dataclass(frozen=True)
class SplitResponse:
    """A response without the marks of its reasoning, which is empty without one."""

    reasoning: str
    content: str


def reasoning_place(model: TextModel, prompt_tokens: Sequence[int]) -> ReasoningPlace:
    """Where responses to a prompt have their reasoning: only where the template reads the marks in earlier messages."""
    if not model.has_in_template(_CLOSING):
        return ReasoningPlace.NONE
    end = model.text_of(prompt_tokens[-_MARK_TOKENS:], skip_special_tokens=False)
    return ReasoningPlace.OPEN if end.rstrip().endswith(_OPENING) else ReasoningPlace.MARKED


def split_reasoning(text: str, place: ReasoningPlace) -> SplitResponse:
    """Splits a response. Without the second mark, as in a truncated response, all of it is reasoning."""
    start = None if place is ReasoningPlace.NONE else re.match(r"\s*<think>", text)
    if start is None and place is not ReasoningPlace.OPEN:
        return SplitResponse("", text)
    inner = text if start is None else text[start.end() :]
    reasoning, _, content = inner.partition(_CLOSING)
    return SplitResponse(reasoning.strip("\n"), content.lstrip("\n"))


def split_begin(text: str, place: ReasoningPlace) -> SplitResponse:
    """As :func:`split_reasoning`, for the begin of a response: without the end that may belong to a mark."""
    if place is not ReasoningPlace.NONE and _OPENING.startswith(text.lstrip()):
        return SplitResponse("", "")
    split = split_reasoning(text, place)
    if split.reasoning == "" or _CLOSING in text:
        return split
    reasoning = split.reasoning
    return SplitResponse(reasoning[: len(reasoning) - held_back(reasoning, [_CLOSING])].rstrip("\n"), split.content)


class StreamedMessage:
    """The deltas of a streamed message.

    Args:
        place: where it has its reasoning.
    """

    def __init__(self, place: ReasoningPlace) -> None:
        self._place = place
        self._text = ""
        self._reasoning = ""
        self._content = ""

    def take(self, text: str) -> dict[str, str]:
        """Adds text; returns the fields of the next delta."""
        self._text += text
        return self.rest(split_begin(self._text, self._place))

    def rest(self, message: SplitResponse) -> dict[str, str]:
        """The fields that complete the message."""
        reasoning = _after(message.reasoning, self._reasoning)
        content = _after(message.content, self._content)
        self._reasoning += reasoning
        self._content += content
        return {**({"reasoning_content": reasoning} if reasoning else {}), **({"content": content} if content else {})}


def _after(text: str, start: str) -> str:
    """What follows the start of a text; empty for a text with another start."""
    return text[len(start) :] if text.startswith(start) else ""
