"""`{"name": …, "parameters": {…}}` as the whole response: Llama 3.1 and later."""

from __future__ import annotations

import json

from agentlightning_runtime.inference.tool_formats.tool_format import ParsedText, ToolCall, call_of

_TAG = "<|python_tag|>"


class Llama3JsonFormat:
    """Only calls, one object after another separated by `;`, with or without the leading tag."""

    name = "llama3_json"
    markers = (_TAG,)
    openings = ("{",)

    def is_used_by(self, chat_template: str) -> bool:
        """Matches templates with the tag, or with the wording of Llama's prompt for `parameters`."""
        return _TAG in chat_template or '{"name": function name, "parameters"' in chat_template

    def parse(self, text: str) -> ParsedText:
        """Parses the response as calls when all of it is calls."""
        rest = text.strip().removeprefix(_TAG).strip()
        calls: list[ToolCall] = []
        decoder = json.JSONDecoder()
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except ValueError:
                return ParsedText(text, ())
            call = call_of(value)
            if call is None:
                return ParsedText(text, ())
            calls.append(call)
            rest = rest[end:].lstrip("; \n\t")
        return ParsedText("" if calls else text, tuple(calls))
