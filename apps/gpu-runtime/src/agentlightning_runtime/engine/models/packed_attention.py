"""Attention of sequences that are packed end to end in one row, without padding; they may share prefixes.

No token is compared with one of another sequence, and memory does not grow with the square of the row. On CUDA all
segments are one call of torch's attention where it has one (`varlen_attention.py`); elsewhere each is a call.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from agentlightning_runtime.engine.base.packing import Segment
from agentlightning_runtime.engine.models.varlen_attention import is_possible, varlen_attention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.models.varlen_attention import RowPlan

#: Name of this attention in Transformers.
PACKED_ATTENTION = "agentlightning_packed"

#: Transformers' name of torch's attention, which computes the same for a sequence alone.
_PLAIN_ATTENTION = "sdpa"

#: Layers whose only state is keys and values, so that sequences in a row do not affect each other.
_PACKABLE_LAYERS = frozenset({"full_attention", "sliding_attention"})


def is_packable(causal_lm: PreTrainedModel) -> bool:
    """Whether a model can attend by segments.

    Its attention is torch's, it passes further arguments to it, and it has no other state between tokens.
    """
    config = causal_lm.config
    return (
        getattr(config, "_attn_implementation", None) in (_PLAIN_ATTENTION, PACKED_ATTENTION)
        and getattr(causal_lm, "_supports_attention_backend", False)
        and not getattr(causal_lm, "_is_stateful", False)
        and set(getattr(config, "layer_types", None) or ()) <= _PACKABLE_LAYERS
    )


def use_packed_attention(causal_lm: PreTrainedModel) -> bool:
    """Makes a model attend by segments, if it can; returns whether it can."""
    can_pack = is_packable(causal_lm)
    if can_pack:
        causal_lm.set_attn_implementation(PACKED_ATTENTION)
    return can_pack


def use_plain_attention(causal_lm: PreTrainedModel) -> None:
    """Undoes `use_packed_attention`, for a copy that decodes with a cache."""
    if getattr(causal_lm.config, "_attn_implementation", None) == PACKED_ATTENTION:
        causal_lm.set_attn_implementation(_PLAIN_ATTENTION)


def packed_attention(
    _module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _attention_mask: Tensor | None,
    *,
    plan: RowPlan | None = None,
    sliding_window: int | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Transformers' interface of an attention.

    Args:
        _module: Not used: the shapes have the number of heads.
        query: [1, heads, tokens, width].
        key: [1, key heads, tokens, width].
        value: Like the keys.
        _attention_mask: Not used: segments are causal.
        plan: The segments of the row; None: every row is one sequence.
        sliding_window: Number of tokens that a token attends to, itself included; None: all.
        options: Passed on.

    Returns:
        [1, tokens, heads, width], and no weights.
    """
    scaling = options.get("scaling") or query.shape[-1] ** -0.5
    if plan is not None and is_possible(value, scaling, sliding_window):
        attended = varlen_attention(query, key, value, plan, scaling=scaling, sliding_window=sliding_window)
    else:
        segments = (Segment(0, query.shape[2]),) if plan is None else plan.segments
        attended = _attention_by_segment(query, key, value, segments, sliding_window=sliding_window, **options)
    return attended, None


def _attention_by_segment(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    segments: Sequence[Segment],
    *,
    sliding_window: int | None,
    **options: Any,
) -> Tensor:
    """The attention of each segment by a separate call."""
    heads = cast("nn.Module", SimpleNamespace(num_key_value_groups=query.shape[1] // key.shape[1]))
    sizes = [segment.end - segment.start for segment in segments]
    # The gradient of a split is one row; that of a slice is a row for each segment, all of which are added.
    queries, keys, values = (states.split(sizes, dim=2) for states in (query, key, value))
    parts: list[Tensor] = []
    for own, chosen in enumerate(_attended_segments(segments)):
        own_keys, own_values = (_joined(states, chosen) for states in (keys, values))
        mask = _mask(sizes[own], own_keys.shape[2], sliding_window, query.device)
        part, _ = sdpa_attention_forward(
            heads, queries[own], own_keys, own_values, mask, is_causal=mask is None, **options
        )
        parts.append(part)
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _attended_segments(segments: Sequence[Segment]) -> list[list[int]]:
    """Indices of the segments that each segment attends to, itself last: a prefix consists of whole segments."""
    starts = {segment.start: index for index, segment in enumerate(segments)}
    ends = {segment.end: index for index, segment in enumerate(segments)}
    return [
        [at for start, end in segment.prefix for at in range(starts[start], ends[end] + 1)] + [index]
        for index, segment in enumerate(segments)
    ]


def _joined(states: Sequence[Tensor], chosen: Sequence[int]) -> Tensor:
    return states[chosen[0]] if len(chosen) == 1 else torch.cat([states[at] for at in chosen], dim=2)


def _mask(queries: int, keys: int, window: int | None, device: torch.device) -> Tensor | None:
    """True where a query attends to a key; None where plain causal attention is the same."""
    if queries == keys and (window is None or keys <= window):
        return None
    distances = torch.arange(keys - queries, keys, device=device)[:, None] - torch.arange(keys, device=device)
    mask = distances >= 0
    return (mask if window is None else mask & (distances < window))[None, None]


AttentionInterface.register(PACKED_ATTENTION, packed_attention)
