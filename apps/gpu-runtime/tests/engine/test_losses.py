"""The losses against independent formulas, one token at a time, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from agentlightning_runtime.engine.loss.loss_definitions import LOSS_DEFINITIONS
from agentlightning_runtime.engine.loss.losses import TrainedTokens, loss_sum
from agentlightning_runtime.engine.loss.value_loss import value_token_loss

DEFAULTS = {definition.name: dict(definition.defaults) for definition in LOSS_DEFINITIONS}

VARIANTS: list[tuple[str, dict[str, float]]] = [
    ("cross_entropy", {}),
    ("importance_sampling", {}),
    ("importance_sampling", {"entropy_coefficient": 0.1}),
    ("importance_sampling", {"kl_coefficient": 0.5, "kl_estimator": 1}),
    ("importance_sampling", {"kl_coefficient": 0.5, "kl_estimator": 2}),
    ("importance_sampling", {"kl_coefficient": 0.5, "kl_estimator": 3}),
    ("ppo", {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 0}),
    ("ppo", {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 1.3}),
    ("cispo", {"clip_low": 0.1, "clip_high": 0.3}),
    ("gspo", {"clip_low": 0.2, "clip_high": 0.05}),
    ("dro", {"beta": 0.4, "entropy_coefficient": 0.02}),
]


def some_tokens() -> tuple[Tensor, Tensor, TrainedTokens]:
    """Twelve tokens of two data, with ratios below, inside and above every clip, and one of weight 0."""
    logprobs = torch.tensor([-1.0, -2, -0.5, -3, -1.5, -0.2] * 2, dtype=torch.float64)
    gaps = torch.tensor([-0.6, -0.1, 0.03, 0.1, 0.4, 0.9, 0.2, 0.3, -0.5, 0.7, 0.01, 0.0])
    away = torch.tensor([0.4, -0.7, 0.1, 0.0, -0.2, 1.1] * 2)
    weights = torch.tensor([0.5, 1, 0.25, 2, 1, 0.5, 1, 1, 0, 1, 1, 1])
    tokens = TrainedTokens(
        sampling_logprobs=logprobs - gaps,
        reference_logprobs=logprobs + away,
        advantages=torch.tensor([1.0, -1, 0.5, -2, 1.5, -1] * 2, dtype=torch.float64),
        weights=weights.double(),
        datum=torch.tensor([0] * 6 + [1] * 6),
        datum_count=2,
    )
    entropies = torch.linspace(0.1, 2, 12, dtype=torch.float64)
    return logprobs.requires_grad_(), entropies.requires_grad_(), tokens


@pytest.mark.parametrize(("name", "given"), VARIANTS)
def test_value_and_slopes_are_those_of_the_contract(name: str, given: dict[str, float]) -> None:
    parameters = {**DEFAULTS[name], **given}
    logprobs, entropies, tokens = some_tokens()
    loss = loss_sum(name, parameters, tokens, logprobs=logprobs, entropies=entropies)
    slopes = torch.autograd.grad(loss, (logprobs, entropies), allow_unused=True)
    expected, logprob_slopes = plain_sum(name, parameters, logprobs.detach(), entropies, tokens)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    assert slopes[0].tolist() == pytest.approx(logprob_slopes, rel=1e-12, abs=1e-14)
    # Without a coefficient the entropies are not in the graph, and their slope is None.
    entropy_slopes = slopes[1] if parameters["entropy_coefficient"] else torch.zeros(12)
    wanted = (-parameters["entropy_coefficient"] * tokens.weights).tolist()
    assert entropy_slopes.tolist() == pytest.approx(wanted, abs=1e-14)


@pytest.mark.parametrize(
    ("name", "given"),
    # The slopes of cispo and gspo are deliberately not those of their values: a factor is detached.
    [variant for variant in VARIANTS if variant[0] not in ("cispo", "gspo")],
)
def test_slopes_are_those_of_finite_differences(name: str, given: dict[str, float]) -> None:
    parameters = {**DEFAULTS[name], **given}
    logprobs, entropies, tokens = some_tokens()

    def objective(lp: Tensor, entropy: Tensor) -> Tensor:
        return loss_sum(name, parameters, tokens, logprobs=lp, entropies=entropy)

    assert torch.autograd.gradcheck(objective, (logprobs, entropies), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("name", list(DEFAULTS))
def test_token_without_weight_takes_no_part_whatever_it_holds(name: str) -> None:
    logprobs, entropies, tokens = some_tokens()
    poison = tokens.weights == 0
    nan = torch.tensor(math.nan, dtype=torch.float64)
    poisoned = TrainedTokens(
        sampling_logprobs=torch.where(poison, nan, tokens.sampling_logprobs),
        reference_logprobs=tokens.reference_logprobs,
        advantages=torch.where(poison, nan, tokens.advantages),
        weights=tokens.weights,
        datum=tokens.datum,
        datum_count=2,
    )
    given = {**DEFAULTS[name], "kl_coefficient": 0.1, "entropy_coefficient": 0.1}
    plain = loss_sum(name, given, tokens, logprobs=logprobs, entropies=entropies)
    again = loss_sum(name, given, poisoned, logprobs=logprobs, entropies=entropies)
    assert again.item() == pytest.approx(plain.item(), rel=1e-12)
    slopes = torch.autograd.grad(again, logprobs)[0]
    assert bool(torch.isfinite(slopes).all())
    assert slopes[poison].tolist() == [0.0]


def test_sequence_loss_and_token_gspo_have_the_same_slope_when_advantage_is_one_number() -> None:
    """Zheng et al. 2025: with constant advantage and weight, the token form equals the sequence form."""
    parameters = {**DEFAULTS["gspo"], "clip_low": 0.5, "clip_high": 0.5}
    logprobs, entropies, tokens = some_tokens()
    ones = torch.ones(12, dtype=torch.float64)
    same = TrainedTokens(tokens.sampling_logprobs, ones * 2, ones, tokens.datum, 2)
    loss = loss_sum("gspo", parameters, same, logprobs=logprobs, entropies=entropies)
    ratios = (logprobs - tokens.sampling_logprobs).reshape(2, 6).mean(1).exp()
    of_sequences = (-ratios * 2 * 6).sum()
    ours, theirs = (torch.autograd.grad(each, logprobs)[0] for each in (loss, of_sequences))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)


def test_value_loss_is_the_larger_of_the_plain_and_the_clipped_error() -> None:
    values = torch.tensor([1.0, 2.0, -1.0, 0.5], dtype=torch.float64, requires_grad=True)
    returns = torch.tensor([0.0, 3.0, -3.0, 0.5], dtype=torch.float64)
    old = torch.tensor([1.1, 1.0, 0.0, 0.5], dtype=torch.float64)
    losses = value_token_loss(values, returns, old, 0.2)
    # (1-0)^2; clipped to 1.2: (1.2-3)^2; clipped to -0.2: (-0.2+3)^2; 0.
    assert losses.tolist() == pytest.approx([0.5, 1.62, 3.92, 0.0])
    slopes = torch.autograd.grad(losses.sum(), values)[0]
    assert slopes.tolist() == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert value_token_loss(values, returns).tolist() == pytest.approx([0.5, 0.5, 2.0, 0.0])


def plain_sum(
    name: str,
    parameters: Mapping[str, float],
    logprobs: Tensor,
    entropies: Tensor,
    tokens: TrainedTokens,
) -> tuple[float, list[float]]:
    """The sum and its derivatives by log-probability, from the contract's formulas, token by token."""
    assert tokens.reference_logprobs is not None
    total, slopes = 0.0, []
    ratios = (logprobs - tokens.sampling_logprobs).tolist()
    for index, weight in enumerate(tokens.weights.tolist()):
        own = [i for i in range(12) if tokens.datum[i] == tokens.datum[index] and tokens.weights[i] != 0]
        mean = sum(ratios[i] for i in own) / len(own)
        value, slope = plain_token(
            name,
            parameters,
            lp=logprobs[index].item(),
            log_ratio=ratios[index],
            advantage=tokens.advantages[index].item(),
            mean=mean,
        )
        d = (logprobs[index] - tokens.reference_logprobs[index]).item()
        estimator = parameters["kl_estimator"]
        kl = {1: d, 2: d * d / 2, 3: math.exp(-d) + d - 1}[int(estimator)]
        kl_slope = {1: 1.0, 2: d, 3: 1 - math.exp(-d)}[int(estimator)]
        entropy = parameters["entropy_coefficient"] * entropies[index].item()
        total += weight * (value - entropy + parameters["kl_coefficient"] * kl)
        slopes.append(weight * (slope + parameters["kl_coefficient"] * kl_slope))
    return total, slopes


def plain_token(
    name: str, parameters: Mapping[str, float], *, lp: float, log_ratio: float, advantage: float, mean: float
) -> tuple[float, float]:
    """One token's loss and its derivative by the log-probability."""
    r = math.exp(log_ratio)
    low, high = 1 - parameters.get("clip_low", 0), 1 + parameters.get("clip_high", 0)
    if name == "cross_entropy":
        return -lp, -1.0
    if name == "importance_sampling":
        return -r * advantage, -r * advantage
    if name == "dro":
        beta = parameters["beta"]
        return beta / 2 * log_ratio**2 - lp * advantage, beta * log_ratio - advantage
    if name == "cispo":
        factor = min(max(r, low), high) * advantage
        return -factor * lp, -factor
    s = math.exp(mean) if name == "gspo" else r
    clipped = min(max(s, low), high)
    plain, bounded = -s * advantage, -clipped * advantage
    value, slope = (plain, plain) if plain >= bounded else (bounded, 0.0)
    dual = parameters.get("dual_clip", 0)
    if dual > 0 and advantage < 0 and value > -dual * advantage:
        return -dual * advantage, 0.0
    return value, slope
