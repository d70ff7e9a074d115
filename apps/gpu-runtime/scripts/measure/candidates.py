"""Changes of the runtime that are measured and not shipped: each is applied to a model for one measurement."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor
from transformers import AttentionInterface

from agentlightning_runtime.engine.loss import token_scores
from agentlightning_runtime.engine.models.mixed_precision import MixedPrecision
from agentlightning_runtime.engine.models.packed_attention import PACKED_ATTENTION, packed_attention
from agentlightning_runtime.engine.packing import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from agentlightning_runtime.engine.torch_model import TorchModel

Candidate = Literal["lora-autocast", "varlen", "short-head", "compiled-layers"]
"""Names of the changes.

`lora-autocast`: adapters compute in bfloat16 and inputs are not copied to float32. `varlen`: one call of flash
attention for all segments. `short-head`: the output layer multiplies in bfloat16 and sums in float32.
`compiled-layers`: `torch.compile` of each layer.
"""

HEAD_COLUMNS = 16_384


def has_varlen() -> bool:
    """Whether torch has attention of sequences of different lengths, for this device."""
    return torch.cuda.is_available() and importlib.util.find_spec("torch.nn.attention.varlen") is not None


@contextlib.contextmanager
def candidates_of(model: TorchModel, names: Sequence[Candidate]) -> Generator[None]:
    """Applies candidates to a model, and undoes what they change outside of it."""
    with contextlib.ExitStack() as undo:
        for name in names:
            _APPLY[name](model.parts.network, undo)
        yield


def _compute_adapters_in_bfloat16(network: Any, _undo: contextlib.ExitStack) -> None:
    network.precision = MixedPrecision(torch.bfloat16)
    for module in network.modules():
        if hasattr(module, "lora_A"):
            module.cast_input_dtype_enabled = False


def _replace_attention(attention: Callable[..., Any], undo: contextlib.ExitStack) -> None:
    AttentionInterface.register(PACKED_ATTENTION, attention)
    undo.callback(AttentionInterface.register, PACKED_ATTENTION, packed_attention)


def _replace_head(_network: Any, undo: contextlib.ExitStack) -> None:
    undo.callback(setattr, token_scores, "TiledHead", token_scores.TiledHead)
    token_scores.TiledHead = ShortHead  # pyright: ignore[reportAttributeAccessIssue]


def _compile_layers(network: Any, undo: contextlib.ExitStack) -> None:
    attention = varlen_attention if has_varlen() else packed_attention
    _replace_attention(torch.compiler.disable(attention), undo)
    for layer in network.causal_lm.get_decoder().layers:
        layer.compile(dynamic=True)


_APPLY: dict[Candidate, Callable[[Any, contextlib.ExitStack], None]] = {
    "lora-autocast": _compute_adapters_in_bfloat16,
    "varlen": lambda _network, undo: _replace_attention(varlen_attention, undo),
    "short-head": _replace_head,
    "compiled-layers": _compile_layers,
}


class _VarlenPlan:
    """Cumulative lengths and the places of the keys, of all segments of a row; the layers of a pass share it."""

    last: _VarlenPlan | None = None

    def __init__(self, segments: Sequence[Segment], device: torch.device) -> None:
        self.segments = segments
        intervals = [[*each.prefix, (each.start, each.end)] for each in segments]
        queries = [each.end - each.start for each in segments]
        keys = [sum(end - start for start, end in each) for each in intervals]
        self.queries, self.keys = (
            torch.tensor([0, *np.cumsum(each)], dtype=torch.int32, device=device) for each in (queries, keys)
        )
        self.most_queries, self.most_keys = max(queries), max(keys)
        self.places: Tensor | None = None
        if any(each.prefix for each in segments):
            places = np.concatenate([np.arange(start, end) for each in intervals for start, end in each])
            self.places = torch.from_numpy(places).to(device)

    @classmethod
    def of(cls, segments: Sequence[Segment], device: torch.device) -> _VarlenPlan:
        """The plan of the segments, kept until others follow."""
        if cls.last is None or cls.last.segments is not segments:
            cls.last = cls(segments, device)
        return cls.last


def varlen_attention(
    _module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _mask: Any,
    *,
    segments: Any = None,
    scaling: float | None = None,
    **_options: Any,
) -> tuple[Tensor, None]:
    """All segments by one call. Its causal mask is aligned at the end, which is the mask of a segment with a prefix."""
    from torch.nn.attention.varlen import varlen_attn

    queries, keys, values = (each[0].transpose(0, 1) for each in (query, key, value))
    if segments is None:
        last = _VarlenPlan.last
        is_same = last is not None and len(last.segments) == 1 and last.segments[0].end == len(queries)
        segments = last.segments if last is not None and is_same else (Segment(0, len(queries)),)
    plan = _VarlenPlan.of(segments, query.device)
    if plan.places is not None:
        keys, values = keys.index_select(0, plan.places), values.index_select(0, plan.places)
    known = inspect.signature(varlen_attn).parameters
    options: dict[str, Any] = {"scale": scaling} if "scale" in known else {}
    options |= {"window_size": (-1, 0)} if "window_size" in known else {"is_causal": True}
    groups = queries.shape[1] // keys.shape[1]
    if "enable_gqa" in known:
        options["enable_gqa"] = groups != 1
    elif groups != 1:
        keys, values = (each.repeat_interleave(groups, 1) for each in (keys, values))
    attended: Any = varlen_attn(
        queries.contiguous(),
        keys.contiguous(),
        values.contiguous(),
        plan.queries,
        plan.keys,
        plan.most_queries,
        plan.most_keys,
        **options,
    )
    return attended[None], None


class ShortHead(torch.autograd.Function):
    """Log-probabilities and entropies of trained tokens, a tile of the logits at a time.

    Products have operands of the type of the hidden states and sums in float32. The softmax is computed online, over
    blocks of columns (Milakov and Gimelshein 2018, algorithm 3). Entropies have no gradient.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> tuple[Tensor, Tensor]:
        """Takes the operands of the runtime's own tiled head."""
        hidden, weight, bias, targets, temperatures, rule, tile_size, _trains_entropy = operands
        if bias is not None or rule.scale != 1 or rule.softcap != 0:
            raise ValueError("The candidate has neither biases nor scaled or capped logits")
        width = min(rule.output_size, HEAD_COLUMNS)
        height = max(1, tile_size // width)
        inverse = (1 / temperatures.float())[:, None]
        largest = torch.full((len(targets),), -math.inf, device=hidden.device)
        total, weighted, chosen = (torch.zeros_like(largest) for _ in range(3))
        for start in range(0, rule.output_size, width):
            block = weight[start : min(start + width, rule.output_size)].to(hidden.dtype)
            for row in range(0, len(targets), height):
                rows = slice(row, row + height)
                state = (largest[rows], total[rows], weighted[rows], chosen[rows])
                logits = _product(hidden[rows], block.T)
                folded = KERNELS.fold(logits, inverse[rows], state, targets[rows] - start)
                largest[rows], total[rows], weighted[rows], chosen[rows] = folded
        normaliser = largest + total.log()
        entropies = total.log() - weighted / total
        ctx.save_for_backward(hidden, weight, targets, inverse, normaliser)
        ctx.size, ctx.width, ctx.height = rule.output_size, width, height
        ctx.mark_non_differentiable(entropies)
        return chosen - normaliser, entropies

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Of the hidden states and the weights, where they are needed."""
        of_logprobs = gradients[0]
        hidden, weight, targets, inverse, normaliser = ctx.saved_tensors
        of_hidden = torch.zeros_like(hidden, dtype=torch.float32) if ctx.needs_input_grad[0] else None
        of_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        for start in range(0, ctx.size, ctx.width):
            block = weight[start : min(start + ctx.width, ctx.size)].to(hidden.dtype)
            for row in range(0, len(targets), ctx.height):
                rows = slice(row, row + ctx.height)
                logits = _product(hidden[rows], block.T) * inverse[rows] - normaliser[rows, None]
                slopes = (of_logprobs[rows, None] * inverse[rows], targets[rows] - start)
                slope = KERNELS.slope(logits, *slopes).to(hidden.dtype)
                if of_hidden is not None:
                    of_hidden[rows] += _product(slope, block)
                if of_weight is not None:
                    of_weight[start : start + ctx.width] += (slope.T @ hidden[rows]).to(weight.dtype)
        return None if of_hidden is None else of_hidden.to(hidden.dtype), of_weight, *[None] * 6


def _product(left: Tensor, right: Tensor) -> Tensor:
    if left.is_cuda and left.dtype == torch.bfloat16:
        return torch.mm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


def _fold(logits: Tensor, inverse: Tensor, state: tuple[Tensor, ...], targets: Tensor) -> tuple[Tensor, ...]:
    """Adds a tile to the largest logit, the sum of exponentials, its weighted sum, and the logits of the targets."""
    largest, total, weighted, chosen = state
    logits = logits * inverse
    now = torch.maximum(largest, logits.amax(-1))
    centred = logits - now[:, None]
    powers = centred.exp()
    shrink = torch.exp(largest - now)
    shift = torch.where(largest.isinf(), 0.0, largest - now)
    weighted = shrink * (weighted + shift * total) + (powers * centred).sum(-1)
    total = shrink * total + powers.sum(-1)
    is_here = (targets >= 0) & (targets < logits.shape[1])
    found = logits.gather(1, targets.clamp(0, logits.shape[1] - 1)[:, None]).squeeze(1)
    return now, total, weighted, torch.where(is_here, found, chosen)


def _slope(centred: Tensor, scaled_gradient: Tensor, targets: Tensor) -> Tensor:
    """The gradient of a tile's logits, from its log-probabilities."""
    columns = torch.arange(centred.shape[1], device=centred.device)[None]
    return scaled_gradient * ((columns == targets[:, None]).float() - centred.exp())


KERNELS = SimpleNamespace(fold=_fold, slope=_slope)
"""The elementwise work of a tile of `ShortHead`; `compiled_kernels` replaces it."""


@contextlib.contextmanager
def compiled_kernels() -> Generator[None]:
    """Compiles the elementwise work of `ShortHead`."""
    KERNELS.fold, KERNELS.slope = torch.compile(_fold, dynamic=True), torch.compile(_slope, dynamic=True)
    try:
        yield
    finally:
        KERNELS.fold, KERNELS.slope = _fold, _slope
