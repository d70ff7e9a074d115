"""Combinations of settings that are not supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from agentlightning_runtime.contract.settings import EngineSettings


def require_supported(settings: EngineSettings, processes: int) -> None:
    """Checks the settings that depend on each other.

    Args:
        settings: The settings of the command line.
        processes: Number of processes that train together.

    Raises:
        EngineError: INVALID when they cannot be combined.
    """
    tensor, sequence = settings.tensor_parallel, settings.sequence_parallel
    if tensor > 1 and (settings.load_in_4bit or settings.optimizer == "adamw-8bit"):
        message = "Tensor parallelism does not support quantised bases and moments"
        remedy = "Remove --tensor-parallel-size, or --load-in-4bit and --optimizer"
        raise EngineError(EngineErrorReason.INVALID, message, remedy=remedy)
    if tensor > 1 and sequence > 1:
        message = f"Tensor parallelism of {tensor} and sequence parallelism of {sequence} cannot be combined"
        remedy = "Remove --tensor-parallel-size or --sequence-parallel-size"
        raise EngineError(EngineErrorReason.INVALID, message, remedy=remedy)
    if sequence > 1 and not settings.packing:
        message = "Sequence parallelism divides packed rows, and packing is disabled"
        remedy = "Remove --no-packing or --sequence-parallel-size"
        raise EngineError(EngineErrorReason.INVALID, message, remedy=remedy)
    for kind, size in (("tensor", tensor), ("sequence", sequence)):
        if processes % size != 0:
            message = f"{processes} processes cannot be divided into groups of {size} for {kind} parallelism"
            remedy = f"Start a multiple of {size} processes with torchrun, or change --{kind}-parallel-size"
            raise EngineError(EngineErrorReason.INVALID, message, remedy=remedy)
