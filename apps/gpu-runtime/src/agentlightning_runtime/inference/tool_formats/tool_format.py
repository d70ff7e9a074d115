"""The interface of a tool call format."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class ToolCall:
    """A call by the model; `arguments` is JSON."""

    name: str
    arguments: str


@dataclass(frozen=True)
class ParsedText:
    """A parsed response: its text and its calls. An invalid call stays text."""

    content: str
    calls: tuple[ToolCall, ...]


class ToolFormat(Protocol):
    """Parses the calls of a response."""

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that begin a call at any position: the response is held back from there on until it is complete."""
        ...

    @property
    def openings(self) -> tuple[str, ...]:
        """Texts that begin a call only at the start of a response."""
        ...

    def is_used_by(self, chat_template: str) -> bool:
        """Whether a model's chat template describes this format."""
        ...

    def parse(self, text: str) -> ParsedText:
        """Parses a complete response, including special tokens."""
        ...


def call_of(value: object) -> ToolCall | None:
    """A call from its JSON object, under the field names of the models; None for other objects."""
    if not isinstance(value, dict):
        return None
    fields: dict[str, Any] = dict(value)
    inner = fields.get("function")
    if isinstance(inner, dict):
        fields = dict(inner)
    name = fields.get("name", inner if isinstance(inner, str) else None)
    arguments = fields.get("arguments", fields.get("parameters", {}))
    if not isinstance(name, str) or name == "":
        return None
    if isinstance(arguments, str):
        return ToolCall(name, arguments)
    if not isinstance(arguments, dict):
        return None
    return ToolCall(name, json.dumps(arguments, ensure_ascii=False))


def json_or_none(text: str) -> object:
    """Parsed JSON, or None when invalid."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    return value
