"""Log-probabilities and entropies of chosen tokens, without ever holding the logits of all of them.

Logits are made for a chunk of positions at a time, in float32. Where there are several chunks they are made again in
the backward pass: what is kept is the hidden state of each chosen position. With a vocabulary of 150,000 tokens this is
40 times less memory than keeping logits for a width of 4,096. A single chunk is kept: it was to be in memory anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from agentlightning_runtime.engine.float32_head import float32_logits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from transformers import PreTrainedConfig

#: How many logits are in memory at a time: 128 MiB of float32 for each of the three copies at the peak.
_LOGITS_AT_A_TIME = 2**25


@dataclass(frozen=True)
class LogitRule:
    """What a model does to the product of hidden state and output table; most do nothing.

    Attributes:
        scale: Logits are multiplied by it (Cohere's `logit_scale`; one over Granite's `logits_scaling`).
        softcap: Logits are `softcap * tanh(logits / softcap)` (Gemma 2). 0: not.
        output_size: How many of the first tokens can be written.
    """

    scale: float
    softcap: float
    output_size: int

    @staticmethod
    def of(config: PreTrainedConfig, output_size: int) -> LogitRule:
        """The rule that a model's config names."""
        scale = float(getattr(config, "logit_scale", None) or 1.0)
        scale /= float(getattr(config, "logits_scaling", None) or 1.0)
        return LogitRule(scale, float(getattr(config, "final_logit_softcapping", None) or 0.0), output_size)

    def apply(self, logits: Tensor) -> Tensor:
        """The model's logits, in float32 or better."""
        kept = logits[:, : self.output_size]
        scaled = kept if kept.dtype == torch.float64 else kept.float()
        if self.scale != 1:
            scaled = scaled * self.scale
        return self.softcap * torch.tanh(scaled / self.softcap) if self.softcap > 0 else scaled


def score_tokens(
    head: nn.Module,
    rule: LogitRule,
    hidden: Tensor,
    targets: Tensor,
    temperatures: Tensor,
    *,
    trains_entropy: bool = True,
) -> tuple[Tensor, Tensor]:
    """Log-probability of each target, and entropy of the distribution it is from, in nats.

    Args:
        head: Makes logits of hidden states.
        rule: What becomes of the logits.
        hidden: [tokens, width], at the position before each target.
        targets: int64 [tokens].
        temperatures: [tokens]; logits are divided by them.
        trains_entropy: Whether gradients are to flow through the entropies too, which takes time and memory.

    Returns:
        Two tensors [tokens], in float32 or better. Gradients flow through the first, and through both if wanted.
    """

    def score(chunk: Tensor, target: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
        logits = rule.apply(float32_logits(head, chunk))
        logits = logits / temperature[:, None].to(logits.dtype)
        log_distribution = torch.log_softmax(logits, dim=-1)
        logprobs = log_distribution.gather(1, target[:, None]).squeeze(1)
        with torch.set_grad_enabled(torch.is_grad_enabled() and trains_entropy):
            entropies = -(log_distribution.exp() * log_distribution).sum(-1)
        return logprobs, entropies

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
