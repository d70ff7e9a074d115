"""Running out of memory, told from other errors, and survived."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from collections.abc import Generator


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocator said that there is no more: CUDA's, the CPU's, or Python's own."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


@contextmanager
def told_when_out_of_memory(device: torch.device, what: str, *, is_alone: bool) -> Generator[None]:
    """Tells the client by name when memory runs out.

    Args:
        device: Whose memory it is.
        what: What is being done meanwhile.
        is_alone: Whether one process trains; of several one cannot stop in the middle.

    Raises:
        EngineError: OUT_OF_MEMORY.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error) or not is_alone:
            raise
    else:
        return
    free_what_is_left(device)
    raise EngineError(
        EngineErrorReason.OUT_OF_MEMORY,
        f"Memory ran out on {device} while {what}",
        remedy="Unload other models, or train a LoRA",
    )


def free_what_is_left(device: torch.device) -> None:
    """Gives back what the failed pass held. Not while its exception is being handled: that keeps its frames alive."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def out_of_memory_error(
    device: torch.device, *, num_tokens: int, max_tokens_seen_ok: int, sequences: int, next_budget: int
) -> EngineError:
    """What the client is told.

    Args:
        device: Whose memory it was.
        num_tokens: Tokens of the piece that did not fit, padding included.
        max_tokens_seen_ok: The most that have fitted so far.
        sequences: How many the piece had.
        next_budget: The most tokens that the engine puts into a piece from now on.
    """
    where = ""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        where = f" ({free / 2**30:.1f} of {total / 2**30:.1f} GiB are free now)"
    remedy = (
        f"Pieces now have at most {next_budget} tokens, so the same batch may fit; send it again"
        if sequences > 1
        else "Send shorter sequences, turn on gradient checkpointing, or train a LoRA"
    )
    return EngineError(
        EngineErrorReason.OUT_OF_MEMORY,
        f"Memory ran out with {num_tokens} tokens of {sequences} sequences at once on {device}{where}; "
        f"{max_tokens_seen_ok} have fitted",
        remedy=remedy,
        num_tokens=num_tokens,
        max_tokens_seen_ok=max_tokens_seen_ok,
    )
