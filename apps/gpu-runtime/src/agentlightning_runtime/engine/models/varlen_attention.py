"""Attention of all segments of a packed row in one call of torch's attention of sequences of different lengths.

It exists for CUDA, for data types of 16 bits, and from torch 2.10 on. Its causal mask is aligned at the end of keys and
queries, which is the mask of a segment that attends to a prefix, so keys and values of prefixes are gathered for each
segment.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from agentlightning_runtime.engine.base.mixed_precision import SHORT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentlightning_runtime.engine.base.packing import Segment

#: Widths of a head that flash attention has: multiples of 8 up to this one.
_LARGEST_WIDTH = 256

#: Compute capability from which on it exists: Ampere.
_LEAST_CAPABILITY = (8, 0)


@dataclass(frozen=True)
class VarlenCall:
    """What a call needs besides the states.

    Attributes:
        queries: int32 [segments + 1]: cumulative lengths of the queries.
        keys: int32 [segments + 1]: cumulative lengths of the keys.
        longest: The largest number of queries and of keys of a segment.
        places: int64 [keys]: index in the row of each key; None: keys are the row.
    """

    queries: Tensor
    keys: Tensor
    longest: tuple[int, int]
    places: Tensor | None

    @staticmethod
    def of(segments: Sequence[Segment], device: torch.device) -> VarlenCall:
        """The call for a partition of a row."""
        attended = [[*segment.prefix, (segment.start, segment.end)] for segment in segments]
        queries = [segment.end - segment.start for segment in segments]
        keys = [sum(end - start for start, end in intervals) for intervals in attended]
        places = None
        if any(segment.prefix for segment in segments):
            parts = [np.arange(start, end) for intervals in attended for start, end in intervals]
            places = torch.from_numpy(np.concatenate(parts)).to(device)
        query_ends, key_ends = (
            torch.from_numpy(np.cumsum([0, *each], dtype=np.int32)).to(device) for each in (queries, keys)
        )
        return VarlenCall(query_ends, key_ends, (max(queries), max(keys)), places)


@dataclass(frozen=True, eq=False)
class RowPlan:
    """The segments of a packed row; the layers of a pass share what they compute from them.

    Attributes:
        segments: Partition of the row.
        device: Device of the states.
    """

    segments: Sequence[Segment]
    device: torch.device

    @cached_property
    def call(self) -> VarlenCall:
        """What one call for all segments needs."""
        return VarlenCall.of(self.segments, self.device)


def is_possible(value: Tensor, scaling: float, sliding_window: int | None) -> bool:
    """Whether torch has one call for this device, data type, scale of the scores and window."""
    width = value.shape[-1]
    if not value.is_cuda or value.dtype not in SHORT_TYPES or width > _LARGEST_WIDTH or width % 8 != 0:
        return False
    if torch.cuda.get_device_capability(value.device) < _LEAST_CAPABILITY:
        return False
    known = _parameters()
    has_scale = "scale" in known or scaling == width**-0.5
    # Up to torch 2.10 without windows.
    return has_scale and ("window_size" in known or ("is_causal" in known and sliding_window is None))


def varlen_attention(
    query: Tensor, key: Tensor, value: Tensor, plan: RowPlan, *, scaling: float, sliding_window: int | None
) -> Tensor:
    """The attention of all segments of a row.

    Args:
        query: [1, heads, tokens, width].
        key: [1, key heads, tokens, width].
        value: Like the keys; in its data type all is computed: norms of queries and keys may return float32.
        plan: The segments.
        scaling: Factor of the scores.
        sliding_window: Number of tokens that a token attends to, itself included; None: all.

    Returns:
        [1, tokens, heads, width].
    """
    queries, keys, values = (states[0].transpose(0, 1).to(value.dtype) for states in (query, key, value))
    call = plan.call
    if call.places is not None:
        keys, values = keys.index_select(0, call.places), values.index_select(0, call.places)
    known = _parameters()
    options: dict[str, Any] = {"scale": scaling} if "scale" in known else {}
    left = -1 if sliding_window is None else sliding_window - 1
    options |= {"window_size": (left, 0)} if "window_size" in known else {"is_causal": True}
    groups = queries.shape[1] // keys.shape[1]
    if "enable_gqa" in known:
        options["enable_gqa"] = groups > 1
    elif groups > 1:
        keys, values = (states.repeat_interleave(groups, 1) for states in (keys, values))
    states = queries.contiguous(), keys.contiguous(), values.contiguous()
    attend: Callable[..., Any] = _torch_varlen().varlen_attn
    attended: Tensor = attend(*states, call.queries, call.keys, *call.longest, **options)
    return attended[None]


def _torch_varlen() -> Any:
    """The module of torch.

    Raises:
        ImportError: Before torch 2.10.
    """
    from torch.nn.attention import varlen

    return varlen


@lru_cache(maxsize=1)
def _parameters() -> frozenset[str]:
    """The parameters of torch's function, which differ between versions; none before 2.10."""
    try:
        return frozenset(inspect.signature(_torch_varlen().varlen_attn).parameters)
    except ImportError:
        return frozenset()
