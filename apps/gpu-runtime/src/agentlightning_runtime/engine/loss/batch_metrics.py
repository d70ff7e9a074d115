"""The metrics of a pass over a batch: means over trained tokens, by the names of LOSSES.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agentlightning_runtime.engine.loss.losses import TrainedTokens, kl_estimate, mean_by_datum, ratio_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentlightning_runtime.engine.base.ranks import Ranks


_SUMS = (
    "tokens",
    "logprob",
    "entropy",
    "kl_sampler",
    "kl_sampler_k3",
    "logprob_gap",
    "ratio",
    "squared_ratio",
    "clipped",
    "references",
    "kl_reference",
    "values",
    "value_error",
    "value_clipped",
)
_MAXIMA = ("logprob_gap_max", "ratio_max")


class BatchMetrics:
    """Sums over trained tokens, kept on the device until they are read."""

    def __init__(self, loss_name: str, parameters: Mapping[str, float], device: torch.device) -> None:
        self._loss_name = loss_name
        self._parameters = parameters
        self._sums = torch.zeros(len(_SUMS), dtype=torch.float64, device=device)
        self._maxima = torch.zeros(len(_MAXIMA), dtype=torch.float64, device=device)

    @torch.no_grad()
    def add(self, tokens: TrainedTokens, logprobs: Tensor, entropies: Tensor, values: Tensor | None) -> None:
        """Counts the tokens of one micro-batch; tokens of weight 0 do not count.

        The sums are selected, not the tokens: indexing by a mask would synchronise with the device.
        """
        chosen = tokens.is_trained
        lp = logprobs.detach().double()
        log_ratio = torch.where(chosen, lp - tokens.sampling_logprobs.double(), 0.0)
        ratio = ratio_of(log_ratio)
        for name, found in {
            "tokens": torch.ones_like(lp),
            "logprob": lp,
            "entropy": entropies.detach(),
            "kl_sampler": -log_ratio,
            "kl_sampler_k3": ratio - 1 - log_ratio,
            "logprob_gap": log_ratio.abs(),
            "ratio": ratio,
            "squared_ratio": ratio.square(),
            "clipped": self._is_clipped(tokens, log_ratio),
        }.items():
            self._sum(name, found, chosen)
        self._max("logprob_gap_max", log_ratio.abs(), chosen)
        self._max("ratio_max", ratio, chosen)
        if tokens.reference_logprobs is not None:
            self._sum("references", torch.ones_like(lp), chosen)
            self._sum("kl_reference", kl_estimate(lp - tokens.reference_logprobs.double(), 3), chosen)
        if values is not None and tokens.value_targets is not None:
            self._add_values(tokens, values.detach().double(), tokens.value_targets.double())

    def summary(self, ranks: Ranks) -> tuple[int, dict[str, float]]:
        """The number of tokens counted by all processes, and the metrics; no metrics without tokens."""
        sums = dict(zip(_SUMS, ranks.sum_up(self._sums).tolist(), strict=True))
        maxima = dict(zip(_MAXIMA, ranks.largest(self._maxima).tolist(), strict=True))
        count = sums["tokens"]
        if count == 0:
            return 0, {}
        ratio, squared = sums["ratio"], sums["squared_ratio"]
        metrics = {
            "policy/logprob": sums["logprob"] / count,
            "policy/entropy": sums["entropy"] / count,
            "policy/kl_sampler": sums["kl_sampler"] / count,
            "policy/kl_sampler_k3": sums["kl_sampler_k3"] / count,
            "policy/logprob_gap": sums["logprob_gap"] / count,
            "policy/logprob_gap_max": maxima["logprob_gap_max"],
            "policy/ratio_mean": ratio / count,
            "policy/ratio_max": maxima["ratio_max"],
            "policy/clip_fraction": sums["clipped"] / count,
            # 1 when every token counts the same, towards 1/n when one outweighs all others (Kish 1965).
            "policy/effective_sample_fraction": ratio * ratio / (count * squared),
        }
        if sums["references"] > 0:
            metrics["policy/kl_reference"] = sums["kl_reference"] / sums["references"]
        if sums["values"] > 0:
            metrics["value/error"] = sums["value_error"] / sums["values"]
            metrics["value/clip_fraction"] = sums["value_clipped"] / sums["values"]
        return round(count), metrics

    def _add_values(self, tokens: TrainedTokens, values: Tensor, targets: Tensor) -> None:
        chosen = tokens.is_trained
        self._sum("values", torch.ones_like(values), chosen)
        self._sum("value_error", (values - targets).square(), chosen)
        clip = self._parameters.get("value_clip", 0.0)
        if clip <= 0 or tokens.sampling_values is None:
            return
        old = tokens.sampling_values.double()
        held = torch.clamp(values, old - clip, old + clip)
        self._sum("value_clipped", (held - targets).square() > (values - targets).square(), chosen)

    def _is_clipped(self, tokens: TrainedTokens, log_ratio: Tensor) -> Tensor:
        """Whether the clip is active: for `cispo` where it bounds the ratio, else only where it changes the loss."""
        low, high = self._parameters.get("clip_low"), self._parameters.get("clip_high")
        if low is None or high is None:
            return torch.zeros_like(log_ratio)
        ratio = ratio_of(mean_by_datum(log_ratio, tokens) if self._loss_name == "gspo" else log_ratio)
        above, below = ratio > 1 + high, ratio < 1 - low
        if self._loss_name == "cispo":
            return above | below
        return ((tokens.advantages > 0) & above) | ((tokens.advantages < 0) & below)

    def _sum(self, name: str, values: Tensor, chosen: Tensor) -> None:
        self._sums[_SUMS.index(name)] += torch.where(chosen, values.double(), 0.0).sum()

    def _max(self, name: str, values: Tensor, chosen: Tensor) -> None:
        """Both maxima are of non-negative numbers."""
        at = _MAXIMA.index(name)
        self._maxima[at] = torch.maximum(self._maxima[at], torch.where(chosen, values, 0.0).max())
