"""The losses of the runtime contract (packages/runtime/LOSSES.md) in torch.

Every loss is the plain sum over trained tokens of weight times token loss, without normalisation. Tensors are flat, one
entry per trained token of any datum, so the result does not depend on the batching.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from agentlightning_runtime.engine.loss.value_loss import value_token_loss

#: Log-ratios are clamped to this range before exponentiation, so that one outlier cannot overflow.
MAX_LOG_RATIO = 20.0


@dataclass(frozen=True)
class TrainedTokens:
    """Inputs of a loss other than the model's outputs; all of shape [tokens]."""

    sampling_logprobs: Tensor
    advantages: Tensor
    weights: Tensor
    #: int64: index of the token's datum, from 0.
    datum: Tensor
    datum_count: int
    reference_logprobs: Tensor | None = None
    #: Target of the value head, and its output when the batch was planned.
    value_targets: Tensor | None = None
    sampling_values: Tensor | None = None

    @property
    def is_trained(self) -> Tensor:
        """False where the weight is 0: the gradient there is exactly zero, regardless of the values."""
        return self.weights != 0


@dataclass(frozen=True)
class _Terms:
    logprobs: Tensor
    log_ratio: Tensor
    advantages: Tensor
    tokens: TrainedTokens
    parameters: Mapping[str, float]


def _cross_entropy(terms: _Terms) -> Tensor:
    """-lp."""
    return -terms.logprobs


def _importance_sampling(terms: _Terms) -> Tensor:
    """-r A."""
    return -ratio_of(terms.log_ratio) * terms.advantages


def _ppo(terms: _Terms) -> Tensor:
    """max(-r A, -clip(r) A), for A < 0 at most -dual A (Schulman et al. 2017; Ye et al. 2020)."""
    advantages = terms.advantages
    unbounded = _worse_of_clipped(ratio_of(terms.log_ratio), advantages, terms.parameters)
    dual_clip = terms.parameters["dual_clip"]
    if dual_clip <= 0:
        return unbounded
    bounded = torch.minimum(unbounded, -dual_clip * advantages)
    return torch.where(advantages < 0, bounded, unbounded)


def _cispo(terms: _Terms) -> Tensor:
    """-stop_gradient(clip(r)) A lp (MiniMax 2025)."""
    clipped = _clip(ratio_of(terms.log_ratio.detach()), terms.parameters)
    return -clipped * terms.advantages * terms.logprobs


def _gspo(terms: _Terms) -> Tensor:
    """max(-s A, -clip(s) A), s the datum's geometric mean ratio, by token (Zheng et al. 2025)."""
    mean = mean_by_datum(terms.log_ratio.detach(), terms.tokens)
    # The value is the datum's; the gradient of each token is that of the token's log-probability.
    of_token = mean + terms.logprobs - terms.logprobs.detach()
    return _worse_of_clipped(ratio_of(of_token), terms.advantages, terms.parameters)


def _dro(terms: _Terms) -> Tensor:
    """-lp A + beta/2 (lp - q)^2 (Richemond et al. 2024)."""
    away = 0.5 * terms.parameters["beta"] * terms.log_ratio.square()
    return away - terms.logprobs * terms.advantages


_TOKEN_LOSSES: Mapping[str, Callable[[_Terms], Tensor]] = {
    "cross_entropy": _cross_entropy,
    "importance_sampling": _importance_sampling,
    "ppo": _ppo,
    "cispo": _cispo,
    "gspo": _gspo,
    "dro": _dro,
}


def loss_sum(
    name: str,
    parameters: Mapping[str, float],
    tokens: TrainedTokens,
    *,
    logprobs: Tensor,
    entropies: Tensor,
    values: Tensor | None = None,
) -> Tensor:
    """The sum of weight (token loss - entropy_coefficient H + kl_coefficient KL + value_coefficient E), a scalar.

    Args:
        name: One of `LOSS_DEFINITIONS`.
        parameters: A value for every parameter of the loss.
        tokens: The trained tokens.
        logprobs: The model's, natural, at each datum's temperature; differentiable.
        entropies: Entropy of each token's distribution; differentiable.
        values: Output of the value head; differentiable.
    """
    is_trained = tokens.is_trained

    def trained(values: Tensor) -> Tensor:
        # `where` instead of a product: 0 times NaN is NaN, in the loss and in the gradient.
        return torch.where(is_trained, values, torch.zeros_like(values))

    held = trained(logprobs)
    terms = _Terms(
        logprobs=held,
        log_ratio=held - trained(tokens.sampling_logprobs),
        advantages=trained(tokens.advantages),
        tokens=tokens,
        parameters=parameters,
    )
    total = _TOKEN_LOSSES[name](terms)
    if parameters["entropy_coefficient"] != 0:
        total = total - parameters["entropy_coefficient"] * trained(entropies)
    if parameters["kl_coefficient"] != 0 and tokens.reference_logprobs is not None:
        difference = held - trained(tokens.reference_logprobs)
        estimate = kl_estimate(difference, int(parameters["kl_estimator"]))
        total = total + parameters["kl_coefficient"] * estimate
    if parameters["value_coefficient"] != 0 and values is not None and tokens.value_targets is not None:
        error = value_token_loss(
            trained(values),
            trained(tokens.value_targets),
            None if tokens.sampling_values is None else trained(tokens.sampling_values),
            parameters["value_clip"],
        )
        total = total + parameters["value_coefficient"] * error
    return trained(total * tokens.weights).sum()


def mean_by_datum(values: Tensor, tokens: TrainedTokens) -> Tensor:
    """For each token the mean over the trained tokens of its datum; `values` is 0 where a token is not trained."""
    sums = values.new_zeros(tokens.datum_count).index_add_(0, tokens.datum, values)
    counts = torch.zeros_like(sums).index_add_(0, tokens.datum, tokens.is_trained.to(values.dtype))
    return (sums / counts.clamp(min=1))[tokens.datum]


def kl_estimate(difference: Tensor, estimator: int) -> Tensor:
    """k1 = d, k2 = d^2/2, k3 = exp(-d) + d - 1 of d = lp - ref (Schulman 2020)."""
    if estimator == 1:
        return difference
    if estimator == 2:
        return difference.square() / 2
    bounded = difference.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return torch.exp(-bounded) + bounded - 1


def ratio_of(log_ratio: Tensor) -> Tensor:
    """exp of the log-ratio, clamped to +-20."""
    return torch.exp(log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO))


def _worse_of_clipped(ratio: Tensor, advantages: Tensor, parameters: Mapping[str, float]) -> Tensor:
    return torch.maximum(-ratio * advantages, -_clip(ratio, parameters) * advantages)


def _clip(ratio: Tensor, parameters: Mapping[str, float]) -> Tensor:
    return ratio.clamp(1 - parameters["clip_low"], 1 + parameters["clip_high"])
