"""What a format of tool calls is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class ToolCall:
    """A call the model wrote; `arguments` is JSON."""

    name: str
    arguments: str


@dataclass(frozen=True)
class ParsedText:
    """A response, read: what it says, and the calls in it. A call that cannot be read stays text."""

    content: str
    calls: tuple[ToolCall, ...]


class ToolFormat(Protocol):
    """Reads the calls out of a response."""

    @property
    def name(self) -> str:
        """What it is called in the registry."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that begin a call wherever they are: nothing from there on is shown before the response is whole."""
        ...

    @property
    def openings(self) -> tuple[str, ...]:
        """Texts that may begin a call at the very beginning of a response."""
        ...

    def is_used_by(self, chat_template: str) -> bool:
        """Whether a model's chat template tells it to write calls like this."""
        ...

    def parse(self, text: str) -> ParsedText:
        """Reads a whole response, special tokens included."""
        ...


def call_of(value: object) -> ToolCall | None:
    """A call from its JSON object, under the names that models use; None when it is none."""
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
    """JSON, or None when it is none."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    return value
