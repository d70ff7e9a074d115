"""`<tool_call>{"name": …, "arguments": {…}}</tool_call>`: Hermes, Qwen, and models derived from them."""

from __future__ import annotations

import re

from agentlightning_runtime.inference.tool_formats.tool_format import ParsedText, ToolCall, call_of, json_or_none

# The closing tag may be missing at the end of a truncated response.
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", re.DOTALL)


class HermesFormat:
    """Any number of calls between tags, with text before and between them."""

    name = "hermes"
    markers = ("<tool_call>",)
    openings: tuple[str, ...] = ()

    def is_used_by(self, chat_template: str) -> bool:
        """Matches templates that contain the tag."""
        return "<tool_call>" in chat_template

    def parse(self, text: str) -> ParsedText:
        """Extracts every valid call."""
        calls: list[ToolCall] = []

        def take(match: re.Match[str]) -> str:
            call = call_of(json_or_none(match.group(1)))
            if call is None:
                return match.group(0)
            calls.append(call)
            return ""

        content = _CALL.sub(take, text)
        return ParsedText(content.rstrip() if calls else content, tuple(calls))
