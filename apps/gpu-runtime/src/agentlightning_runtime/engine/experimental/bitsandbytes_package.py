"""The optional package bitsandbytes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from agentlightning_runtime.contract.settings import EngineSettings


def bitsandbytes() -> Any:
    """The module, imported on first use.

    Raises:
        EngineError: PRECONDITION when it is not installed.
    """
    try:
        return importlib.import_module("bitsandbytes")
    except ImportError as error:
        message = f"bitsandbytes cannot be imported, which --load-in-4bit and --optimizer adamw-8bit need: {error}"
        remedy = "Install agentlightning-runtime[quantization], or start without these flags"
        raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy) from error


def require_bitsandbytes(settings: EngineSettings) -> None:
    """Imports the package when the settings need it, so that its absence is reported at start.

    Raises:
        EngineError: PRECONDITION when it is not installed.
    """
    if settings.load_in_4bit or settings.optimizer == "adamw-8bit":
        bitsandbytes()
