"""All tool call formats. To add one, add a file and list it here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.inference.tool_formats.hermes import HermesFormat
from agentlightning_runtime.inference.tool_formats.llama3_json import Llama3JsonFormat
from agentlightning_runtime.inference.tool_formats.mistral import MistralFormat
from agentlightning_runtime.inference.tool_formats.pythonic import PythonicFormat

if TYPE_CHECKING:
    from agentlightning_runtime.inference.tool_formats.tool_format import ToolFormat

#: Every format; the first is the default for models whose template describes none.
TOOL_FORMATS: tuple[ToolFormat, ...] = (HermesFormat(), MistralFormat(), PythonicFormat(), Llama3JsonFormat())


def format_of(chat_template: str) -> ToolFormat:
    """The format that a chat template describes."""
    return next((known for known in TOOL_FORMATS if known.is_used_by(chat_template)), TOOL_FORMATS[0])
