"""`[TOOL_CALLS] [{"name": …, "arguments": {…}}]`, and the newer `[TOOL_CALLS]name[ARGS]{…}`: Mistral."""

from __future__ import annotations

import re

from agentlightning_runtime.inference.tool_formats.tool_format import ParsedText, ToolCall, call_of, json_or_none

_MARK = "[TOOL_CALLS]"
_NAMED = re.compile(r"\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?\[ARGS\](.*)", re.DOTALL)


class MistralFormat:
    """A marker, then the calls, to the end of the response."""

    name = "mistral"
    markers = (_MARK,)
    openings: tuple[str, ...] = ()

    def is_used_by(self, chat_template: str) -> bool:
        """Matches templates that contain the marker."""
        return _MARK in chat_template

    def parse(self, text: str) -> ParsedText:
        """Parses the text after the marker."""
        content, *parts = text.split(_MARK)
        calls: list[ToolCall] = []
        for part in parts:
            found = _calls_in(part)
            if not found:
                return ParsedText(text, ())
            calls.extend(found)
        return ParsedText(content.rstrip() if calls else text, tuple(calls))


def _calls_in(part: str) -> list[ToolCall]:
    named = _NAMED.fullmatch(part)
    if named is not None:
        arguments = json_or_none(named.group(2))
        call = call_of({"name": named.group(1), "arguments": arguments})
        return [] if call is None else [call]
    listed = json_or_none(part.strip())
    values: list[object] = list(listed) if isinstance(listed, list) else [listed]
    calls = [call_of(value) for value in values]
    return [call for call in calls if call is not None] if None not in calls else []
