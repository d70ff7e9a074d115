"""Decides which part of a response may be shown before its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.inference.response_text import held_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.inference.text_model import TextModel


class ShownText:
    """Text that may be shown. Held back is what may become a stop text, and everything from a tool call on.

    Args:
        model: whose response it is.
        stops: texts that end the response; none of them is ever shown.
        has_tools: whether a tool call may come.
    """

    def __init__(self, model: TextModel, stops: Sequence[str], *, has_tools: bool) -> None:
        tools = model.tool_format if has_tools else None
        self._markers = () if tools is None else tools.markers
        self._openings = () if tools is None else tools.openings
        self._watchwords = [*stops, *self._markers]
        self._shown = model.response_text(skip_special_tokens=True)
        # A marker may be a special token, which the shown text does not have.
        self._raw = model.response_text(skip_special_tokens=False) if has_tools else None
        self._told = 0
        self._is_held_back = False

    def take(self, tokens: Sequence[int]) -> str:
        """Takes the next tokens and gives the text to show now; empty when there is none."""
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
        """What is left to show of the whole text."""
        return self._tell(content, len(content))

    def _tell(self, text: str, end: int) -> str:
        told, self._told = self._told, max(self._told, end)
        return text[told:end]

    def _may_be_call(self, raw: str) -> bool:
        if any(marker in raw for marker in self._markers):
            return True
        return raw.lstrip().startswith(self._openings) if self._openings else False
