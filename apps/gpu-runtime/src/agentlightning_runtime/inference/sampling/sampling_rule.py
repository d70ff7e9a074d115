"""Sampling of a token from logits, and its reported log-probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

#: Tokens of a block when one is drawn.
_BLOCK = 512


@dataclass(frozen=True)
class SamplingRule:
    """Sampling parameters of one response.

    Attributes:
        temperature: logits are divided by it; 0 takes the likeliest token, and log-probabilities are then those at 1.
        top_p: draw only from the likeliest tokens that together reach this probability; 1 draws from all.
        top_k: draw only from this number of likeliest tokens; 0 draws from all.
        top_logprobs: number of likeliest tokens to report in addition to the sampled one.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    top_logprobs: int = 0


@dataclass(frozen=True)
class TokenChoice:
    """A drawn token and its natural-log probability under the distribution it was drawn from.

    ``top`` holds the likeliest alternatives as (token, log-probability), the likeliest first.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


def choose_tokens(
    logits: Tensor, rules: list[SamplingRule], uniforms: list[float], forced: Sequence[int | None] = ()
) -> list[TokenChoice]:
    """Draws one token for each row.

    Args:
        logits: of shape [rows, vocabulary].
        rules: one for each row.
        uniforms: one number in [0, 1) for each row; the same number draws the same token from the same logits.
        forced: the token of each row, None where it is drawn; empty: all are drawn.
    """
    temperatures = [rule.temperature if rule.temperature > 0 else 1.0 for rule in rules]
    scale = torch.tensor(temperatures, dtype=torch.float32, device=logits.device).unsqueeze(1)
    logprobs = torch.log_softmax(logits.float() / scale, dim=-1)
    for row, rule in enumerate(rules):
        if rule.temperature > 0 and (rule.top_p < 1 or rule.top_k > 0):
            logprobs[row] = _nucleus(logprobs[row], rule)
    tokens = _draw(logprobs, uniforms)
    if any(rule.temperature == 0 for rule in rules):
        greedy = torch.tensor([rule.temperature == 0 for rule in rules], device=logits.device)
        tokens = torch.where(greedy, logprobs.argmax(dim=-1), tokens)
    for row, token in enumerate(forced):
        if token is not None:
            tokens[row] = token
    chosen = logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1)
    # One device synchronisation instead of two; float64 represents token ids exactly.
    drawn: list[list[float]] = torch.stack((tokens.double(), chosen.double()), dim=1).tolist()
    return [
        TokenChoice(int(token), logprob, _likeliest(logprobs[row], rule.top_logprobs) if rule.top_logprobs else ())
        for row, (rule, (token, logprob)) in enumerate(zip(rules, drawn, strict=True))
    ]


def _draw(logprobs: Tensor, uniforms: list[float]) -> Tensor:
    """Inverts the distribution function, first that of blocks of tokens, then that of the tokens of one block.

    Sums are in float64, since a vocabulary has more tokens than float32 has steps. Only those of the blocks are
    accumulated over the vocabulary, so float64 takes little time.
    """
    missing = -logprobs.shape[1] % _BLOCK
    blocks = torch.nn.functional.pad(logprobs.exp(), (0, missing)).unflatten(1, (-1, _BLOCK))
    sums = blocks.sum(-1, dtype=torch.float64)
    ends = sums.cumsum(-1)
    points = torch.tensor(uniforms, dtype=torch.float64, device=logprobs.device).unsqueeze(1) * ends[:, -1:]
    block = _first_beyond(ends, points, sums)
    chosen = blocks.gather(1, block.unsqueeze(2).expand(-1, -1, _BLOCK)).squeeze(1).double()
    rest = points - (ends - sums).gather(1, block)
    return (block * _BLOCK + _first_beyond(chosen.cumsum(-1), rest, chosen)).squeeze(1)


def _first_beyond(ends: Tensor, points: Tensor, probabilities: Tensor) -> Tensor:
    """Index in each row of the first end beyond its point; rounding may put the point after all that is possible."""
    possible = probabilities > 0
    last = possible.shape[1] - 1 - possible.flip(1).int().argmax(dim=1, keepdim=True)
    return torch.minimum(torch.searchsorted(ends, points, right=True), last)


def _nucleus(logprobs: Tensor, rule: SamplingRule) -> Tensor:
    """Keeps the likeliest tokens (Holtzman et al. 2020) and renormalises."""
    ordered, order = logprobs.sort(descending=True, stable=True)
    before = ordered.exp().cumsum(dim=0) - ordered.exp()
    is_kept = before < rule.top_p
    if rule.top_k > 0:
        is_kept[rule.top_k :] = False
    is_kept[0] = True
    kept = torch.where(is_kept, ordered, torch.full_like(ordered, float("-inf")))
    kept = kept - kept.logsumexp(dim=0)
    return torch.empty_like(kept).scatter_(0, order, kept)


def _likeliest(logprobs: Tensor, count: int) -> tuple[tuple[int, float], ...]:
    values, tokens = logprobs.topk(min(count, logprobs.shape[0]))
    pairs = zip(tokens.tolist(), values.tolist(), strict=True)
    return tuple((token, value) for token, value in pairs if value > float("-inf"))
