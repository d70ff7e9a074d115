"""A streamed response equals the complete one, including tool calls and stop texts, for any chunking of its tokens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from torch import nn

from agentlightning_runtime.engine.loading.byte_tokenizer import CHATML_TOKENS, byte_tokenizer
from agentlightning_runtime.inference.chat.answer_parts import AnswerIdentity
from agentlightning_runtime.inference.chat.chat_answer import ChatAnswer
from agentlightning_runtime.inference.chat.chat_request import ChatMessage, ChatRequest
from agentlightning_runtime.inference.sampling.generation import Generation, GenerationRequest
from agentlightning_runtime.inference.sampling.model_shape import ModelShape
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule, TokenChoice
from agentlightning_runtime.inference.sampling.served_weights import ServedWeights
from agentlightning_runtime.inference.text.response_text import stop_finder
from agentlightning_runtime.inference.text.text_model import TextModel

_NAMED = (*CHATML_TOKENS, "<tool_call>", "</tool_call>")
_CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'


def answer_of(
    names: tuple[str, ...], template: str, text: str, *, stops: list[str], prompt: str = ""
) -> tuple[ChatAnswer, list[int]]:
    """A response that begins, and the tokens of its text."""
    question = ChatMessage(role="user", content="?")
    request = ChatRequest(model="m", messages=[question], stop=stops, return_token_ids=True)
    tokenizer: Any = byte_tokenizer(names, end="<|im_end|>", chat_template=template)
    model = TextModel("m", ModelShape(1, 4096, 300, 300), tokenizer)
    tokens: list[int] = tokenizer(text + "<|im_end|>", add_special_tokens=False)["input_ids"]
    finder = stop_finder(tokenizer, request.stops)
    before: list[int] = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    asked = GenerationRequest((1, 2, *before), 4096, SamplingRule(), 0, model.end_tokens, finder)
    generation = Generation(asked, ServedWeights(nn.Identity(), 7))
    identity = AnswerIdentity("chatcmpl-x", 0, "m")
    return ChatAnswer(identity, request, model, [generation], has_tools=True), tokens


async def chunks_of(answer: ChatAnswer, tokens: list[int], step: int) -> list[dict[str, Any]]:
    """Adds tokens in chunks while the stream is read."""
    generation = answer.generations[0]

    async def feed() -> None:
        for at in range(0, len(tokens), step):
            for token in tokens[at : at + step]:
                if not generation.is_over:
                    generation.add(TokenChoice(token, -1.0), 4096)
            for _ in range(3):
                await asyncio.sleep(0)

    feeding = asyncio.create_task(feed())
    chunks = [chunk async for chunk in answer.chunks()]
    await feeding
    return chunks


@pytest.mark.parametrize("markers_are_tokens", [True, False])
@pytest.mark.parametrize("step", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "stops", "content", "names"),
    [
        ("Grüße, 世界 👋!", [], "Grüße, 世界 👋!", []),
        (f"Well.\n{_CALL}", [], "Well.", ["add"]),
        (f"{_CALL}\n{_CALL}", [], None, ["add", "add"]),
        ("a < b <tool", [], "a < b <tool", []),
        ("<tool_call>{broken</tool_call> it is", [], "<tool_call>{broken</tool_call> it is", []),
        ("One. STOP Two.", ["STOP"], "One. ", []),
        ("One. STO", ["STOP"], "One. STO", []),
    ],
)
def test_the_stream_says_what_the_answer_says(
    markers_are_tokens: bool, step: int, text: str, stops: list[str], content: str | None, names: list[str]
) -> None:
    answer, tokens = answer_of(_NAMED if markers_are_tokens else CHATML_TOKENS, "<tool_call>", text, stops=stops)
    chunks = asyncio.run(chunks_of(answer, tokens, step))
    body = answer.body()
    choice = body["choices"][0]
    parts = [part for chunk in chunks for part in chunk["choices"]]
    if markers_are_tokens and not names and content is not None:
        # Texts do not contain special tokens, as with other engines.
        content = content.replace("<tool_call>", "").replace("</tool_call>", "")
    assert choice["message"]["content"] == content
    assert [call["function"]["name"] for call in choice["message"].get("tool_calls", [])] == names
    assert choice["finish_reason"] == ("tool_calls" if names else "stop")
    assert "".join(part["delta"].get("content", "") for part in parts).rstrip() == (content or "").rstrip()
    assert [token for part in parts for token in part.get("token_ids", [])] == choice["token_ids"]
    streamed = [call for part in parts for call in part["delta"].get("tool_calls", [])]
    expected = [{"index": at, **call} for at, call in enumerate(choice["message"].get("tool_calls", []))]
    assert streamed == expected
    assert parts[-1]["finish_reason"] == choice["finish_reason"]


def test_a_response_that_opens_like_a_call_is_shown_when_it_turns_out_to_be_none() -> None:
    answer, tokens = answer_of(CHATML_TOKENS, "<|python_tag|>", '{"answer": 3}', stops=[])
    chunks = asyncio.run(chunks_of(answer, tokens, 1))
    parts = [part for chunk in chunks for part in chunk["choices"]]
    assert parts[-1]["delta"]["content"] == '{"answer": 3}'
