"""Parses a response as an assistant's message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.inference.chat.reasoning import reasoning_place, split_reasoning
from agentlightning_runtime.inference.tool_formats.tool_format import ParsedText

if TYPE_CHECKING:
    from agentlightning_runtime.inference.sampling.generation import Generation
    from agentlightning_runtime.inference.text.text_model import TextModel


@dataclass(frozen=True)
class ReadResponse:
    """A message: its text, None when it has only calls; its reasoning, empty without any; calls in OpenAI's form."""

    content: str | None
    reasoning: str
    tool_calls: tuple[dict[str, Any], ...]
    finish_reason: str
    stop_reason: str | int | None


def response_text(model: TextModel, generation: Generation, *, skip_special_tokens: bool = True) -> str:
    """The text of a response, without its end token or stop text."""
    tokens = generation.tokens
    if tokens and tokens[-1] in generation.request.end_tokens:
        tokens = tokens[:-1]
    text = model.text_of(tokens, skip_special_tokens=skip_special_tokens)
    end = -1 if generation.stop is None else text.find(generation.stop)
    return text if end < 0 else text[:end]


def stop_reason(model: TextModel, generation: Generation) -> str | int | None:
    """The stop text or stop token of the request that ended the response; None for an end token of the model."""
    if generation.stop is not None:
        return generation.stop
    last = generation.tokens[-1] if generation.choices else None
    if last is None or last not in generation.request.end_tokens or last in model.end_tokens:
        return None
    return last


def read_response(model: TextModel, generation: Generation, *, has_tools: bool, call_id_prefix: str) -> ReadResponse:
    """Parses a complete response; tool calls are parsed only when tools were offered."""
    place = reasoning_place(model, generation.request.prompt_tokens)
    parsed = ParsedText("", ())
    if has_tools:
        # A call within the reasoning is not made.
        raw = split_reasoning(response_text(model, generation, skip_special_tokens=False), place)
        parsed = model.tool_format.parse(raw.content)
    finish_reason = generation.finish_reason or "stop"
    message = split_reasoning(response_text(model, generation), place)
    content: str | None
    if not parsed.calls:
        content = message.content
    else:
        content = None if parsed.content.strip() == "" else parsed.content
        finish_reason = "tool_calls" if finish_reason == "stop" else finish_reason
    calls = tuple(
        {
            "id": f"{call_id_prefix}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for index, call in enumerate(parsed.calls)
    )
    return ReadResponse(content, message.reasoning, calls, finish_reason, stop_reason(model, generation))
