"""Log-probabilities and entropies of selected tokens, without holding all logits in memory.

Logits are in float32. Few are computed at once and kept for the backward pass. More are computed in tiles
(`tiled_head.py`), or, with a head that is not a plain linear layer, for a chunk of positions at a time; both compute
them again in the backward pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from agentlightning_runtime.engine.loss.float32_head import float32_logits
from agentlightning_runtime.engine.loss.tiled_head import TiledHead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentlightning_runtime.engine.loss.logit_rule import LogitRule

#: Log-probabilities, entropies, and values when there is a value head.
Scores = tuple[Tensor, Tensor, Tensor | None]

#: Number of logits in memory at a time: 128 MiB of float32 for each of the three copies at the peak.
_LOGITS_AT_A_TIME = 2**25


def score_tokens(
    head: nn.Module,
    rule: LogitRule,
    hidden: Tensor,
    targets: Tensor,
    temperatures: Tensor,
    *,
    trains_entropy: bool = True,
) -> tuple[Tensor, Tensor]:
    """Log-probability of each target and entropy of its distribution, in nats.

    Args:
        head: Computes logits from hidden states.
        rule: Transformation of the logits.
        hidden: [tokens, width], at the position before each target.
        targets: int64 [tokens].
        temperatures: [tokens]; logits are divided by them.
        trains_entropy: Whether entropies are differentiable, which takes time and memory.

    Returns:
        Two tensors [tokens], in float32 or better. The first is differentiable, the second if `trains_entropy`.
    """

    def score(chunk: Tensor, target: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
        logits = rule.apply(float32_logits(head, chunk))
        logits = logits / temperature[:, None].to(logits.dtype)
        log_distribution = torch.log_softmax(logits, dim=-1)
        logprobs = log_distribution.gather(1, target[:, None]).squeeze(1)
        with torch.set_grad_enabled(torch.is_grad_enabled() and trains_entropy):
            entropies = -(log_distribution.exp() * log_distribution).sum(-1)
        return logprobs, entropies

    if len(targets) * rule.output_size > _LOGITS_AT_A_TIME and type(head) is nn.Linear:
        bias: Tensor | None = getattr(head, "bias", None)
        tiled = TiledHead.apply(
            hidden, head.weight, bias, targets, temperatures, rule, _LOGITS_AT_A_TIME, trains_entropy
        )
        return cast("tuple[Tensor, Tensor]", tiled)
    chunks = list(_chunks(rule.output_size, hidden, targets, temperatures))
    if len(chunks) == 1:
        return score(hidden, targets, temperatures)
    parts = [_run(score, each) for each in chunks]
    logprobs, entropies = zip(*parts, strict=True)
    return torch.cat(logprobs), torch.cat(entropies)


def _chunks(output_size: int, *columns: Tensor) -> Iterator[tuple[Tensor, ...]]:
    rows = max(1, _LOGITS_AT_A_TIME // output_size)
    return zip(*(column.split(rows) for column in columns), strict=True)


def _run(
    score: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]], chunk: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor]:
    if not torch.is_grad_enabled():
        return score(chunk[0], chunk[1], chunk[2])
    again = checkpoint(score, *chunk, use_reentrant=False, preserve_rng_state=False)
    return cast("tuple[Tensor, Tensor]", again)
