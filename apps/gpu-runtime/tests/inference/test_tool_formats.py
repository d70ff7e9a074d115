"""Parsing of tool calls in the formats of models."""

from __future__ import annotations

import json

import pytest

from agentlightning_runtime.inference.tool_formats.hermes import HermesFormat
from agentlightning_runtime.inference.tool_formats.llama3_json import Llama3JsonFormat
from agentlightning_runtime.inference.tool_formats.mistral import MistralFormat
from agentlightning_runtime.inference.tool_formats.pythonic import PythonicFormat
from agentlightning_runtime.inference.tool_formats.registry import format_of
from agentlightning_runtime.inference.tool_formats.tool_format import ToolFormat

_HERMES, _LLAMA, _MISTRAL, _PYTHONIC = HermesFormat(), Llama3JsonFormat(), MistralFormat(), PythonicFormat()
_ADD = ("add", {"a": 1, "b": [2, "drei"]})
_NOW = ("now", {})


@pytest.mark.parametrize(
    ("tool_format", "text", "content", "calls"),
    [
        (_HERMES, '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [2, "drei"]}}\n</tool_call>', "", [_ADD]),
        (
            _HERMES,
            'Let me see.\n<tool_call>{"name": "now"}</tool_call>\n<tool_call>'
            + json.dumps({"name": "add", "arguments": json.dumps(_ADD[1])})
            + "</tool_call>",
            "Let me see.",
            [_NOW, _ADD],
        ),
        (_HERMES, '<tool_call>{"name": "now", "arguments": {}}', "", [_NOW]),
        (_LLAMA, '{"name": "add", "parameters": {"a": 1, "b": [2, "drei"]}}', "", [_ADD]),
        (_LLAMA, '<|python_tag|>{"name": "now", "parameters": {}}; {"name": "now"}', "", [_NOW, _NOW]),
        (_LLAMA, '{"type": "function", "function": {"name": "now", "parameters": {}}}', "", [_NOW]),
        (_MISTRAL, '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1, "b": [2, "drei"]}}]', "", [_ADD]),
        (
            _MISTRAL,
            'Well. [TOOL_CALLS]add[ARGS]{"a": 1, "b": [2, "drei"]}[TOOL_CALLS]now[ARGS]{}',
            "Well.",
            [_ADD, _NOW],
        ),
        (_PYTHONIC, "[add(a=1, b=[2, 'drei']), now()]", "", [_ADD, _NOW]),
    ],
)
def test_calls_are_read(
    tool_format: ToolFormat, text: str, content: str, calls: list[tuple[str, dict[str, object]]]
) -> None:
    parsed = tool_format.parse(text)
    assert [(call.name, json.loads(call.arguments)) for call in parsed.calls] == calls
    assert parsed.content == content


@pytest.mark.parametrize(
    ("tool_format", "text"),
    [
        (_HERMES, "No tool is needed."),
        (_HERMES, "<tool_call>{broken}</tool_call>"),
        (_HERMES, '<tool_call>{"arguments": {}}</tool_call>'),
        (_LLAMA, '{"name": "add", "parameters": {"a": 1}} and so on'),
        (_LLAMA, '{"answer": 3}'),
        (_LLAMA, '{"name": "add", "parameters": '),
        (_MISTRAL, "[TOOL_CALLS] [{]"),
        (_PYTHONIC, "[1, 2, 3]"),
        (_PYTHONIC, "[add(1)]"),
        (_PYTHONIC, "[add(a=open('/etc/passwd'))]"),
        (_PYTHONIC, "[" * 400),
    ],
)
def test_what_is_no_call_stays_text(tool_format: ToolFormat, text: str) -> None:
    parsed = tool_format.parse(text)
    assert parsed.calls == ()
    assert parsed.content == text


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("within <tool_call></tool_call> tags", "hermes"),
        ("{{ '[TOOL_CALLS] [' }}", "mistral"),
        ("<|python_tag|>", "llama3_json"),
        ("[func_name1(params_name1=params_value1, ...)]", "pythonic"),
        ("nothing of the kind", "hermes"),
    ],
)
def test_a_template_tells_the_format(template: str, name: str) -> None:
    assert format_of(template).name == name
