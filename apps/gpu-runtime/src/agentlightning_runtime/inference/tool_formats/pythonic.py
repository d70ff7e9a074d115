"""`[get_weather(city="Kyoto"), now()]` as the whole response: Llama 3.2 and 4, and ToolACE."""

from __future__ import annotations

import ast
import json

from agentlightning_runtime.inference.tool_formats.tool_format import ParsedText, ToolCall


class PythonicFormat:
    """A list of calls in Python syntax, with literal keyword arguments. Nothing is executed."""

    name = "pythonic"
    markers: tuple[str, ...] = ()
    openings = ("[",)

    def is_used_by(self, chat_template: str) -> bool:
        """Matches templates that describe the format."""
        return "[func_name1(params_name1=params_value1" in chat_template

    def parse(self, text: str) -> ParsedText:
        """Parses the response as calls when all of it is calls."""
        try:
            body = ast.parse(text.strip(), mode="eval").body
            elements = body.elts if isinstance(body, ast.List) else []
            calls = tuple(_call(element) for element in elements)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            return ParsedText(text, ())
        return ParsedText("" if calls else text, calls)


def _call(node: ast.expr) -> ToolCall:
    if not isinstance(node, ast.Call) or node.args:
        raise ValueError("A call must have keyword arguments only.")
    arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg is not None}
    return ToolCall(ast.unparse(node.func), json.dumps(arguments, ensure_ascii=False))
