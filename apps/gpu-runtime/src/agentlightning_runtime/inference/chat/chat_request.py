"""A chat completion request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentlightning_runtime.inference.http.api_error import rejected
from agentlightning_runtime.inference.text.model_request import ModelRequest


class CalledFunction(BaseModel):
    """A function name and its arguments as JSON."""

    name: str
    arguments: str


class MessageToolCall(BaseModel):
    """An earlier call of the assistant."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class ChatMessage(BaseModel):
    """A message; unknown fields are passed to the template."""

    model_config = ConfigDict(extra="allow")

    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[MessageToolCall] | None = None


class ForcedMessage(BaseModel):
    """An assistant message that is returned instead of a sampled one."""

    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[MessageToolCall] | None = None


class ToolFunction(BaseModel):
    """Name, description and parameters of a tool."""

    model_config = ConfigDict(extra="allow")

    name: Annotated[str, Field(min_length=1)]


class ChatTool(BaseModel):
    """An available tool."""

    type: Literal["function"]
    function: ToolFunction


class ChatRequest(ModelRequest):
    """A request for the assistant's next message."""

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    tools: list[ChatTool] | None = None
    tool_choice: Any = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    forced_message: ForcedMessage | None = None
    prompt_token_ids: Annotated[list[int], Field(min_length=1)] | None = None
    """The prompt, instead of the rendered messages."""

    @property
    def most_tokens(self) -> int | None:
        """Maximum tokens of a response; None for as many as the context allows."""
        return self.max_completion_tokens or self.max_tokens

    def offered_tools(self) -> list[dict[str, Any]]:
        """The tools; empty with `tool_choice: "none"`.

        Raises:
            ApiError: when a tool is forced, which sampling cannot guarantee.
        """
        if self.tool_choice == "none":
            return []
        if self.tool_choice not in (None, "auto"):
            message = f"tool_choice is {self.tool_choice!r}; this endpoint samples freely and cannot force a tool"
            raise rejected(message, 'Send "auto" or "none", and request the tool in the prompt.', "tool_choice")
        return [tool.model_dump(exclude_none=True) for tool in self.tools or []]

    def conversation(self) -> list[dict[str, Any]]:
        """The messages, as plain values."""
        return [message.model_dump(exclude_none=True) for message in self.messages]

    def forced_response(self) -> dict[str, Any] | None:
        """The forced message, as a plain value; None when the response is sampled."""
        message = self.forced_message
        return None if message is None else {"role": "assistant", **message.model_dump(exclude_none=True)}


class TokenizeRequest(ChatRequest):
    """A request for the token ids of a conversation, as of vLLM."""

    add_generation_prompt: bool = True
