"""The speed of a pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.engine.base.example import Example
    from agentlightning_runtime.engine.observation.throughput import ModelCost


@dataclass(frozen=True)
class PassMeasure:
    """A finished pass.

    Attributes:
        examples: Its sequences.
        computed_tokens: Tokens in its rows, over all ranks: less than those of the sequences when these share prefixes.
        seconds: Its duration.
        is_backward: Whether gradients were computed.
    """

    examples: Sequence[Example]
    computed_tokens: int
    seconds: float
    is_backward: bool

    @property
    def tokens(self) -> int:
        """Tokens of the sequences."""
        return sum(example.length for example in self.examples)

    def flops(self, cost: ModelCost) -> float:
        """Floating-point operations over all ranks."""
        computed = min(1.0, self.computed_tokens / max(1, self.tokens))
        return cost.flops(self.examples, is_backward=self.is_backward, computed=computed)

    def metrics(self, flops: float, peak_flops: float | None) -> dict[str, float]:
        """Tokens per second and utilisation; empty for a pass without tokens.

        Args:
            flops: Floating-point operations of this rank.
            peak_flops: Peak FLOP/s of its device; None when unknown.
        """
        if self.seconds <= 0 or self.tokens == 0:
            return {}
        speed = {
            "train/tokens_per_second": self.tokens / self.seconds,
            "train/computed_tokens_per_second": self.computed_tokens / self.seconds,
        }
        if peak_flops is not None:
            speed["train/mfu"] = flops / self.seconds / peak_flops
        return speed
