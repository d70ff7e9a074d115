"""Detection of memory exhaustion, and recovery."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from collections.abc import Generator

    from agentlightning_runtime.engine.base.ranks import Ranks


class MicroBatchTooLargeError(Exception):
    """Memory ran out in a micro-batch."""

    def __init__(self, tokens: int, sequences: int) -> None:
        super().__init__(f"Memory ran out with {tokens} tokens of {sequences} sequences")
        self.tokens = tokens
        self.sequences = sequences


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocator reported that memory ran out: CUDA's, the CPU's, or Python's."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # CUDA's and NCCL's own errors are plain ones.
    said = str(error).lower()
    return isinstance(error, RuntimeError) and ("can't allocate memory" in said or "out of memory" in said)


class RankExhaustedError(Exception):
    """Memory ran out on one of several ranks, which cannot continue without it: its process must end.

    Attributes:
        error: What ran out, and what to lower.
    """

    def __init__(self, ranks: Ranks, error: EngineError) -> None:
        super().__init__(
            f"{error.reason}: {error}. Rank {ranks.index} of {ranks.count} ends and the launcher ends the others; "
            "training continues from the last checkpoint when they are started again"
        )
        self.error = error


@contextmanager
def report_out_of_memory(device: torch.device, what: str, ranks: Ranks) -> Generator[None]:
    """Converts memory exhaustion to an engine error.

    Args:
        device: The device whose memory is used.
        what: The action, for the message.
        ranks: The processes that train together.

    Raises:
        EngineError: OUT_OF_MEMORY, of a single process.
        RankExhaustedError: on one of several ranks.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    else:
        return
    free_cached_memory(device)
    failure = EngineError(
        EngineErrorReason.OUT_OF_MEMORY,
        f"Memory ran out on {device} while {what}",
        remedy="Unload other models, or train a LoRA",
    )
    raise failure if ranks.count == 1 else RankExhaustedError(ranks, failure)


def rank_exhausted(ranks: Ranks, device: torch.device, *, tokens: int, sequences: int) -> RankExhaustedError:
    """The end of a rank whose shards are needed by the others.

    Args:
        ranks: The processes that train together.
        device: The device whose memory ran out.
        tokens: Tokens of the micro-batch that did not fit, padding included.
        sequences: Its sequences.
    """
    half = max(1, tokens // 2)
    shorter = "send shorter sequences" if sequences == 1 else f"start with --micro-batch-tokens {half} or less"
    return RankExhaustedError(
        ranks,
        EngineError(
            EngineErrorReason.OUT_OF_MEMORY,
            f"Memory ran out on {device} in a micro-batch of {tokens} tokens in {sequences} sequences",
            remedy=f"To lower the need, {shorter}, turn on --gradient-checkpointing, train a LoRA, or add GPUs",
            num_tokens=tokens,
        ),
    )


def free_cached_memory(device: torch.device) -> None:
    """Releases the memory of the failed pass; call it outside the handler: the exception keeps the frames alive."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def sequence_too_large_error(
    device: torch.device, *, num_tokens: int, max_tokens_seen_ok: int, reads_images: bool
) -> EngineError:
    """The error returned to the client when a sequence alone does not fit.

    Args:
        device: The device whose memory ran out.
        num_tokens: Tokens of the sequence; each patch of an image counts as one.
        max_tokens_seen_ok: Largest number of tokens that succeeded so far.
        reads_images: Whether sequences can have images.
    """
    where = ""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        where = f" ({free / 2**30:.1f} of {total / 2**30:.1f} GiB are free now)"
    unit, shorter = ("tokens and patches of images", " or smaller images") if reads_images else ("tokens", "")
    return EngineError(
        EngineErrorReason.OUT_OF_MEMORY,
        f"Memory ran out with one sequence of {num_tokens} {unit} on {device}{where}; {max_tokens_seen_ok} have fitted",
        remedy=f"Send shorter sequences{shorter}, turn on gradient checkpointing, or train a LoRA",
        num_tokens=num_tokens,
        max_tokens_seen_ok=max_tokens_seen_ok,
    )
