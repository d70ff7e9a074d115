"""Combinations of settings that are not supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from agentlightning_runtime.engine.settings import EngineSettings


def require_supported(settings: EngineSettings, processes: int) -> None:
    """Checks the settings that depend on each other.

    Args:
        settings: The settings of the command line.
        processes: Number of processes that train together.

    Raises:
        EngineError: INVALID when they cannot be combined.
    """
    size = settings.tensor_parallel
    if size > 1 and (settings.load_in_4bit or settings.optimizer == "adamw-8bit"):
        message = "Tensor parallelism does not support quantised bases and moments"
        remedy = "Remove --tensor-parallel-size, or --load-in-4bit and --optimizer"
        raise EngineError(EngineErrorReason.INVALID, message, remedy=remedy)
    if processes % size != 0:
        message = f"{processes} processes cannot be divided into groups of {size} for tensor parallelism"
        remedy = f"Start a multiple of {size} processes with torchrun, or change --tensor-parallel-size"
        raise EngineError(EngineErrorReason.INVALID, message, remedy=remedy)
