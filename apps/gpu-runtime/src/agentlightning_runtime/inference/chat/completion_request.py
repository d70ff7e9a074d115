"""A completion request: a prompt without a conversation."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agentlightning_runtime.inference.http.api_error import rejected
from agentlightning_runtime.inference.text.model_request import ModelRequest


class CompletionRequest(ModelRequest):
    """A request to continue a text or token ids."""

    prompt: str | list[int] | list[str] | list[list[int]]
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None

    def single_prompt(self) -> str | list[int]:
        """The prompt.

        Raises:
            ApiError: when there is not exactly one.
        """
        prompt = self.prompt
        if isinstance(prompt, str):
            return prompt
        if not prompt:
            raise rejected("The prompt is empty", "Send a text, or token ids.", "prompt")
        first = prompt[0]
        if isinstance(first, int):
            return [token for token in prompt if isinstance(token, int)]
        if len(prompt) > 1:
            message = f"prompt has {len(prompt)} prompts; this endpoint accepts one per request"
            raise rejected(message, "Send one request for each; they are sampled together.", "prompt")
        return first
