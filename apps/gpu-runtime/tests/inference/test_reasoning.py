"""Reasoning of a response: apart from its text, whole and streamed, for any chunking of its tokens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.inference.test_streamed_tools import answer_of, chunks_of

from agentlightning_runtime.engine.loading.byte_tokenizer import CHATML_TOKENS

_CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
_THINKS = "<tool_call></think>"


@pytest.mark.parametrize("step", [1, 3, 1000])
@pytest.mark.parametrize(
    ("prompt", "template", "text", "reasoning", "content", "names"),
    [
        ("", _THINKS, "<think>\nTwo.\n</think>\n\n5", "Two.", "5", []),
        ("", _THINKS, "<think>\n\n</think>\n\n5", "", "5", []),
        ("", _THINKS, "5 </think> is <think>no mark</think>", "", "5 </think> is <think>no mark</think>", []),
        ("", _THINKS, "<think>\nTwo and", "Two and", "", []),
        ("", _THINKS, "<think>Two </thin but not closed", "Two </thin but not closed", "", []),
        ("", _THINKS, "<thinking>5", "", "<thinking>5", []),
        ("", _THINKS, "\n<think>ä😀\n\nb</think>c\n", "ä😀\n\nb", "c\n", []),
        ("", _THINKS, f"<think>{_CALL}</think>\n{_CALL}", _CALL, None, ["add"]),
        ("<think>\n", _THINKS, "Two.\n</think>\n\n5", "Two.", "5", []),
        ("", "<tool_call>", "<think>Two.</think>5", "", "<think>Two.</think>5", []),
    ],
)
def test_reasoning_is_apart(
    step: int, prompt: str, template: str, text: str, reasoning: str, content: str | None, names: list[str]
) -> None:
    answer, tokens = answer_of(CHATML_TOKENS, template, text, stops=[], prompt=prompt)
    chunks = asyncio.run(chunks_of(answer, tokens, step))
    choice = answer.body()["choices"][0]
    assert choice["message"].get("reasoning_content", "") == reasoning
    assert choice["message"]["content"] == content
    assert [call["function"]["name"] for call in choice["message"].get("tool_calls", [])] == names
    assert choice["token_ids"] == tokens
    parts = [part for chunk in chunks for part in chunk["choices"]]
    deltas: list[dict[str, Any]] = [part["delta"] for part in parts]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == reasoning
    assert "".join(delta.get("content") or "" for delta in deltas) == (content or "")
    assert [token for part in parts for token in part.get("token_ids", [])] == tokens
    first_text = next((at for at, delta in enumerate(deltas) if delta.get("content")), len(deltas))
    assert all("reasoning_content" not in delta for delta in deltas[first_text + 1 :])
