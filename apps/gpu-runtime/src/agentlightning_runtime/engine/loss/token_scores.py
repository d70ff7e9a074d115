"""Log-probabilities and entropies of selected tokens, without holding all logits in memory.

Logits are computed for a chunk of positions at a time, in float32. With several chunks they are recomputed in the
backward pass from the hidden state of each selected position. With a vocabulary of 150,000 tokens this needs 40 times
less memory than keeping logits for a width of 4,096. A single chunk is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from agentlightning_runtime.engine.models.float32_head import float32_logits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from transformers import PreTrainedConfig

#: Number of logits in memory at a time: 128 MiB of float32 for each of the three copies at the peak.
_LOGITS_AT_A_TIME = 2**25


@dataclass(frozen=True)
class LogitRule:
    """Transformation of the product of hidden state and output embeddings; the identity for most models.

    Attributes:
        scale: Logits are multiplied by it (Cohere's `logit_scale`; one over Granite's `logits_scaling`).
        softcap: Logits are `softcap * tanh(logits / softcap)` (Gemma 2). 0: disabled.
        output_size: Number of leading token ids that can be generated.
    """

    scale: float
    softcap: float
    output_size: int

    @staticmethod
    def of(config: PreTrainedConfig, output_size: int) -> LogitRule:
        """The transformation from a model's config."""
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
