"""Renders a conversation as the prompt format of its model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jinja2.exceptions import TemplateError

from agentlightning_runtime.engine.loading.byte_tokenizer import CHATML_TEMPLATE
from agentlightning_runtime.inference.http.api_error import rejected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Reserved names that the settings of a request must not use.
_OWN_ARGUMENTS = frozenset({"tools", "chat_template", "add_generation_prompt", "tokenize", "conversation"})

_TOOL_PREAMBLE = (
    "You may call one or more functions to assist with the user query.\n\n"
    "The functions, as JSON, one a line:\n{tools}\n\n"
    "For each function call, write a JSON object with its name and arguments like this:\n"
    '<tool_call>\n{{"name": "<function-name>", "arguments": <arguments-object>}}\n</tool_call>'
)


class ChatTemplate:
    """A tokenizer's chat template, or ChatML without one.

    A template without tool support gets the tools as text, in the format of Hermes: a system message lists them, and
    earlier calls are written as text.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        own = getattr(tokenizer, "chat_template", None)
        self.source: str = own if isinstance(own, str) and own != "" else CHATML_TEMPLATE
        self._knows_tools = "tools" in self.source

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any] | None = None,
        *,
        is_prompt: bool = True,
    ) -> list[int]:
        """The token ids of a conversation, up to the start of the assistant's message for a prompt.

        Args:
            messages: in OpenAI's form.
            tools: in OpenAI's form.
            settings: variables of the template, such as Qwen's `enable_thinking`.
            is_prompt: whether the assistant's message starts at the end.

        Raises:
            ApiError: when the template rejects the conversation, with the template's message.
        """
        return self._encoded(self._text(messages, tools, settings, is_prompt=is_prompt))

    def render_response(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        response: Mapping[str, Any],
        settings: Mapping[str, Any] | None = None,
    ) -> list[int]:
        """The token ids of an assistant message that follows the prompt, up to and including the model's end token.

        Raises:
            ApiError: when the template rejects the conversation, or changes the prompt because of the response.
        """
        prompt = self._text(messages, tools, settings, is_prompt=True)
        whole = self._text([*messages, response], tools, settings, is_prompt=False)
        if not whole.startswith(prompt):
            message = "The model's chat template changes the prompt when the response is added"
            raise rejected(message, "Set chat_template_kwargs so that it does not.", "forced_message")
        end = str(self._tokenizer.eos_token)
        text, found, _ = whole[len(prompt) :].rpartition(end)
        return self._encoded(text + end if found else whole[len(prompt) :] + end)

    def _encoded(self, text: str) -> list[int]:
        encoded: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return encoded

    def _text(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any] | None,
        *,
        is_prompt: bool,
    ) -> str:
        plain = [_plain_message(message) for message in messages]
        knows = self._knows_tools
        given = plain if knows else _with_tools_as_text(plain, tools)
        try:
            text = self._tokenizer.apply_chat_template(
                given,
                tools=list(tools) if knows and tools else None,
                chat_template=self.source,
                add_generation_prompt=is_prompt,
                tokenize=False,
                **{key: value for key, value in (settings or {}).items() if key not in _OWN_ARGUMENTS},
            )
        except (TemplateError, ValueError, KeyError, TypeError) as error:
            message = f"The model's chat template rejects this conversation: {error}"
            raise rejected(message, "Correct the messages accordingly.", "messages") from error
        return str(text)


def _plain_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message in the form templates expect: content as one text, arguments of calls as objects."""
    plain = {key: value for key, value in message.items() if value is not None}
    plain["content"] = _text_of(message.get("content"))
    calls = plain.pop("tool_calls", None)
    if calls:
        plain["tool_calls"] = [_plain_call(call) for call in calls]
    return plain


def _plain_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call["function"])
    try:
        function["arguments"] = json.loads(function["arguments"] or "{}")
    except ValueError:
        # Invalid output of the model is passed to it unchanged.
        function["arguments"] = str(function["arguments"])
    return {**call, "function": function}


def _text_of(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        text = (part.get("text") or part.get("refusal")) if isinstance(part, dict) else None
        if kind not in {"text", "input_text", "output_text", "refusal"} or not isinstance(text, str | None):
            raise rejected(f'The content part "{kind}" is not a text', "Send text parts only.", "messages")
        texts.append(text or "")
    return "".join(texts)


def _with_tools_as_text(messages: list[dict[str, Any]], tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    written = [_written_message(message) for message in messages]
    if not tools:
        return written
    listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    preamble = _TOOL_PREAMBLE.format(tools=listed)
    if written and written[0]["role"] == "system":
        first = {**written[0], "content": f"{written[0]['content']}\n\n{preamble}"}
        return [first, *written[1:]]
    return [{"role": "system", "content": preamble}, *written]


def _written_message(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not calls:
        return message
    written = [json.dumps(_named(call["function"]), ensure_ascii=False) for call in calls]
    texts = [message["content"], *(f"<tool_call>\n{call}\n</tool_call>" for call in written)]
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**rest, "content": "\n".join(text for text in texts if text != "")}


def _named(function: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": function["name"], "arguments": function["arguments"]}
