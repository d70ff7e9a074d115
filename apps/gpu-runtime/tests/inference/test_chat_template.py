"""Rendering of conversations as prompts."""

from __future__ import annotations

from typing import Any

import pytest

from agentlightning_runtime.engine.loading.byte_tokenizer import CHATML_TEMPLATE, CHATML_TOKENS, byte_tokenizer
from agentlightning_runtime.inference.http.api_error import ApiError
from agentlightning_runtime.inference.text.chat_template import ChatTemplate

_TOOL: dict[str, Any] = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
_CALL: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}],
}


def _rendered(template: str | None, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
    tokenizer = byte_tokenizer(CHATML_TOKENS, end="<|im_end|>", chat_template=template or "")
    if template is None:
        tokenizer.chat_template = None
    return str(tokenizer.decode(ChatTemplate(tokenizer).render(messages, tools), skip_special_tokens=False))


def test_a_model_without_a_template_gets_chatml() -> None:
    said = _rendered(None, [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], [])
    assert said == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_tools_reach_a_template_that_knows_them_with_arguments_as_objects() -> None:
    template = (
        "{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}"
        "{% for m in messages %}{{ m.role }}:{{ m.content }}"
        "{% for c in m.tool_calls or [] %}{{ c.function.name }}={{ c.function.arguments.a }}{% endfor %};{% endfor %}"
    )
    result = {"role": "tool", "tool_call_id": "c1", "content": "2"}
    said = _rendered(template, [{"role": "user", "content": "1+1"}, _CALL, result], [_TOOL])
    assert said == "[add]user:1+1;assistant:add=1;tool:2;"


def test_a_template_that_knows_no_tools_gets_them_as_text() -> None:
    said = _rendered(CHATML_TEMPLATE, [{"role": "system", "content": "Be brief."}, _CALL], [_TOOL])
    assert said.startswith("<|im_start|>system\nBe brief.\n\nYou may call")
    assert '"name": "add"' in said
    assert '<|im_start|>assistant\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>' in said


def test_settings_of_the_request_reach_the_template() -> None:
    template = "{% if enable_thinking is false %}no thoughts{% else %}thoughts{% endif %}"
    tokenizer = byte_tokenizer(CHATML_TOKENS, end="<|im_end|>", chat_template=template)
    rendered = ChatTemplate(tokenizer).render([{"role": "user", "content": "a"}], [], {"enable_thinking": False})
    assert tokenizer.decode(rendered) == "no thoughts"


def test_what_a_template_refuses_is_told_in_its_words() -> None:
    with pytest.raises(ApiError, match="Roles must alternate") as caught:
        _rendered("{{ raise_exception('Roles must alternate') }}", [{"role": "user", "content": "a"}], [])
    assert caught.value.field == "messages"


def test_a_response_is_rendered_up_to_the_end_token() -> None:
    tokenizer = byte_tokenizer(CHATML_TOKENS, end="<|im_end|>", chat_template=CHATML_TEMPLATE)
    question = [{"role": "user", "content": "1+1"}]
    tokens = ChatTemplate(tokenizer).render_response(question, [_TOOL], _CALL)
    text = tokenizer.decode(tokens, skip_special_tokens=False)
    assert text == '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>'


def test_a_template_that_changes_the_prompt_for_a_response_is_rejected() -> None:
    template = "{% if messages | length > 1 %}Two{% else %}One{% endif %}"
    tokenizer = byte_tokenizer(CHATML_TOKENS, end="<|im_end|>", chat_template=template)
    with pytest.raises(ApiError, match="changes the prompt") as caught:
        ChatTemplate(tokenizer).render_response([{"role": "user", "content": "a"}], [], _CALL)
    assert caught.value.field == "forced_message"
