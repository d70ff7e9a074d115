"""Selects the part of a response that can be streamed before its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.inference.text.response_text import held_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.inference.text.text_model import TextModel


class ShownText:
    """Text that can be streamed. A potential stop text, and everything from a tool call on, is held back.

    Args:
        model: model of the response.
        stops: texts that end the response; never streamed.
        has_tools: whether tool calls are possible.
    """

    def __init__(self, model: TextModel, stops: Sequence[str], *, has_tools: bool) -> None:
        tools = model.tool_format if has_tools else None
        self._markers = () if tools is None else tools.markers
        self._openings = () if tools is None else tools.openings
        self._watchwords = [*stops, *self._markers]
        self._shown = model.response_text(skip_special_tokens=True)
        # A marker may be a special token, which is not in the streamed text.
        self._raw = model.response_text(skip_special_tokens=False) if has_tools else None
        self._emitted = 0
        self._is_held_back = False

    def take(self, tokens: Sequence[int]) -> str:
        """Adds the next tokens; returns the text to stream, possibly empty."""
        if self._shown is None:
            return ""
        for token in tokens:
            if self._raw is not None:
                self._raw.add([token])
                self._is_held_back = self._is_held_back or self._may_be_call(self._raw.text)
            if self._is_held_back:
                return ""
            self._shown.add([token])
        text = self._shown.text
        ends = [at for word in self._watchwords if (at := text.find(word)) >= 0]
        certain = min(ends) if ends else len(text) - held_back(text, self._watchwords)
        return self._tell(text, certain)

    def rest(self, content: str) -> str:
        """The remaining part of the whole text."""
        return self._tell(content, len(content))

    def _tell(self, text: str, end: int) -> str:
        start, self._emitted = self._emitted, max(self._emitted, end)
        return text[start:end]

    def _may_be_call(self, raw: str) -> bool:
        if any(marker in raw for marker in self._markers):
            return True
        return raw.lstrip().startswith(self._openings) if self._openings else False
