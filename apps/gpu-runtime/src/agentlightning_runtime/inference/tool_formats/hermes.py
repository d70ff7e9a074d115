"""`<tool_call>{"name": …, "arguments": {…}}</tool_call>`: Hermes, Qwen, and many who learned from them."""

from __future__ import annotations

import re

from agentlightning_runtime.inference.tool_formats.tool_format import ParsedText, ToolCall, call_of, json_or_none

# A model that is at its last token may leave the closing tag out.
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", re.DOTALL)


class HermesFormat:
    """Calls between tags, as many as the model likes, text before and between them."""

    name = "hermes"
    markers = ("<tool_call>",)
    openings: tuple[str, ...] = ()

    def is_used_by(self, chat_template: str) -> bool:
        """Its templates explain the tag."""
        return "<tool_call>" in chat_template

    def parse(self, text: str) -> ParsedText:
        """Takes out every call that can be read."""
        calls: list[ToolCall] = []

        def take(match: re.Match[str]) -> str:
            call = call_of(json_or_none(match.group(1)))
            if call is None:
                return match.group(0)
            calls.append(call)
            return ""

        content = _CALL.sub(take, text)
        return ParsedText(content.rstrip() if calls else content, tuple(calls))
