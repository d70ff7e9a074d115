"""Scores of tokens from a linear head, tile by tile over tokens and vocabulary.

A tile of logits is folded into the running maximum, sum and mean of each token (Milakov & Gimelshein 2018) and dropped.
The backward pass computes each tile once more and multiplies its gradient right away. Besides the head and its
gradient, memory does not depend on the vocabulary. Operands of products keep a short data type that both have, sums are
in float32: the products of forward passes are exact, and gradients of logits are rounded before they are multiplied.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from agentlightning_runtime.engine.loss.float32_head import float32_product

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentlightning_runtime.engine.loss.logit_rule import LogitRule


class TiledHead(torch.autograd.Function):
    """Log-probability of each target and entropy of its distribution; see `score_tokens`."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        temperatures: Tensor,
        rule: LogitRule,
        tile_size: int,
        trains_entropy: bool,
    ) -> tuple[Tensor, Tensor]:
        """Scores all tokens; `tile_size` is the number of logits in memory at a time."""
        with torch.autocast(hidden.device.type, enabled=False):
            tiles = _Tiles(hidden, weight, bias, temperatures, rule, tile_size)
            largest = torch.full_like(tiles.temperatures, -math.inf)
            total, weighted, chosen = (torch.zeros_like(largest) for _ in range(3))
            for columns, rows, logits in tiles.logits():
                state = largest[rows], total[rows], weighted[rows], chosen[rows]
                folded = _folded(logits, state, *_within(targets[rows], columns))
                largest[rows], total[rows], weighted[rows], chosen[rows] = folded
            normaliser = largest + total.log()
            entropies = total.log() - weighted / total
        ctx.save_for_backward(hidden, weight, bias, targets, temperatures, normaliser, entropies)
        ctx.rule, ctx.tile_size, ctx.trains_entropy = rule, tile_size, trains_entropy
        if not trains_entropy:
            ctx.mark_non_differentiable(entropies)
        return chosen - normaliser, entropies

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] -- autograd passes the gradients in order
        ctx: Any, of_logprobs: Tensor, of_entropies: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Gradients of hidden states, weights and bias, in their data types."""
        hidden, weight, bias, targets, temperatures, normaliser, entropies = ctx.saved_tensors
        of_hidden, of_weight, of_bias = ctx.needs_input_grad[:3]
        rule: LogitRule = ctx.rule
        with torch.autocast(hidden.device.type, enabled=False):
            tiles = _Tiles(hidden, weight, bias, temperatures, rule, ctx.tile_size)
            hidden_gradient = torch.zeros_like(tiles.hidden, dtype=tiles.sum_dtype) if of_hidden else None
            weight_gradient = torch.zeros_like(weight) if of_weight else None
            bias_gradient = torch.zeros_like(bias) if of_bias else None
            for columns, block, bias_block in tiles.blocks():
                block_gradient = torch.zeros_like(block, dtype=tiles.sum_dtype) if of_weight else None
                bias_block_gradient = torch.zeros_like(block[:, 0], dtype=tiles.sum_dtype) if of_bias else None
                for rows in tiles.rows():
                    logits = tiles.tile(rows, block, bias_block)
                    of_entropy = (entropies[rows], of_entropies[rows]) if ctx.trains_entropy else None
                    is_here, at = _within(targets[rows], columns)
                    slope = _slope(logits - normaliser[rows, None], of_logprobs[rows], of_entropy)
                    slope.scatter_add_(1, at[:, None], torch.where(is_here, of_logprobs[rows], 0.0)[:, None])
                    slope = rule.backward(logits, slope, tiles.temperatures[rows])
                    if bias_block_gradient is not None:
                        bias_block_gradient += slope.sum(0)
                    slope = slope.to(block.dtype)
                    if hidden_gradient is not None:
                        _accumulate(hidden_gradient[rows], slope, block)
                    if block_gradient is not None:
                        _accumulate(block_gradient, slope.T, tiles.hidden[rows])
                if weight_gradient is not None and block_gradient is not None:
                    weight_gradient[columns] = block_gradient.to(weight.dtype)
                if bias_gradient is not None and bias_block_gradient is not None:
                    bias_gradient[columns] = bias_block_gradient.to(bias.dtype)
        found = None if hidden_gradient is None else hidden_gradient.to(hidden.dtype)
        return found, weight_gradient, bias_gradient, None, None, None, None, None


class _Tiles:
    """Logits of some tokens and some of the vocabulary, in float32 or better.

    Attributes:
        hidden: In the type of the products' operands.
        temperatures: In the type of their sums.
        sum_dtype: Data type of sums and logits.
    """

    def __init__(
        self,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        temperatures: Tensor,
        rule: LogitRule,
        tile_size: int,
    ) -> None:
        types = hidden.dtype, weight.dtype
        self.sum_dtype = torch.float64 if torch.float64 in types else torch.float32
        self._dtype = hidden.dtype if hidden.dtype == weight.dtype else self.sum_dtype
        self.hidden = hidden.to(self._dtype)
        self.temperatures = temperatures.to(self.sum_dtype)
        self._weight, self._bias, self._rule = weight, bias, rule
        self._width = max(1, min(rule.output_size, math.isqrt(tile_size)))
        self._height = max(1, tile_size // self._width)

    def blocks(self) -> Iterator[tuple[slice, Tensor, Tensor | None]]:
        """Parts of the vocabulary: columns of the logits, rows of the head, and their bias."""
        for start in range(0, self._rule.output_size, self._width):
            columns = slice(start, min(start + self._width, self._rule.output_size))
            bias = None if self._bias is None else self._bias[columns].to(self.sum_dtype)
            yield columns, self._weight[columns].to(self._dtype), bias

    def rows(self) -> Iterator[slice]:
        """Parts of the tokens."""
        for start in range(0, len(self.hidden), self._height):
            yield slice(start, min(start + self._height, len(self.hidden)))

    def tile(self, rows: slice, block: Tensor, bias: Tensor | None) -> Tensor:
        """The logits of a tile, divided by the temperatures."""
        product = float32_product(self.hidden[rows], block.T)
        if bias is not None:
            product += bias
        return self._rule.apply(product) / self.temperatures[rows, None]

    def logits(self) -> Iterator[tuple[slice, slice, Tensor]]:
        """All tiles, each with its columns and rows."""
        for columns, block, bias in self.blocks():
            for rows in self.rows():
                yield columns, rows, self.tile(rows, block, bias)


def _folded(logits: Tensor, state: tuple[Tensor, ...], is_here: Tensor, at: Tensor) -> tuple[Tensor, ...]:
    """Adds a tile to the largest logit, the sum of exponentials, its weighted sum, and the logits of the targets."""
    before, total, weighted, chosen = state
    now = torch.maximum(before, logits.amax(-1))
    shrink = torch.exp(before - now)
    shift = torch.where(before.isinf(), 0.0, before - now)
    centred = logits - now[:, None]
    powers = centred.exp()
    # Sum of exp(x) x relative to the maximum: without it the entropy loses digits.
    weighted = shrink * (weighted + shift * total) + (powers * centred).sum(-1)
    total = shrink * total + powers.sum(-1)
    return now, total, weighted, torch.where(is_here, logits.gather(1, at[:, None]).squeeze(1), chosen)


def _slope(log_distribution: Tensor, of_logprobs: Tensor, of_entropy: tuple[Tensor, Tensor] | None) -> Tensor:
    """The gradient of a tile's logits, without what targets add."""
    distribution = log_distribution.exp()
    slope = distribution * -of_logprobs[:, None]
    if of_entropy is not None:
        entropies, gradient = of_entropy
        slope -= distribution * (log_distribution + entropies[:, None]) * gradient[:, None]
    return slope


def _accumulate(total: Tensor, left: Tensor, right: Tensor) -> None:
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += float32_product(left, right)


def _within(targets: Tensor, columns: slice) -> tuple[Tensor, Tensor]:
    """Whether each target is among the columns, and its index there; any valid index otherwise."""
    is_here = (targets >= columns.start) & (targets < columns.stop)
    return is_here, torch.where(is_here, targets - columns.start, 0)
