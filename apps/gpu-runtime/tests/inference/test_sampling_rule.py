"""Sampling of tokens."""

from __future__ import annotations

import math

import pytest
import torch

from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule, TokenChoice, choose_tokens

_LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0, -8.0])


def _draws(rule: SamplingRule, count: int = 1000) -> list[TokenChoice]:
    points = [(index + 0.5) / count for index in range(count)]
    return choose_tokens(_LOGITS.expand(count, -1), [rule] * count, points)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_they_are_likely(temperature: float) -> None:
    draws = _draws(SamplingRule(temperature))
    expected = torch.softmax(_LOGITS / temperature, dim=0)
    for token in range(5):
        share = sum(draw.token == token for draw in draws) / len(draws)
        assert share == pytest.approx(float(expected[token]), abs=0.002)
    for draw in draws:
        assert draw.logprob == pytest.approx(math.log(float(expected[draw.token])), abs=1e-5)


def test_a_nucleus_is_a_distribution_of_its_own() -> None:
    draws = _draws(SamplingRule(top_p=0.8))
    assert {draw.token for draw in draws} == {0, 1}
    mass = torch.softmax(_LOGITS, dim=0)[:2]
    for draw in draws:
        assert draw.logprob == pytest.approx(math.log(float(mass[draw.token] / mass.sum())), abs=1e-5)


def test_top_k_keeps_the_likeliest() -> None:
    assert {draw.token for draw in _draws(SamplingRule(top_k=3))} == {0, 1, 2}
    assert {draw.token for draw in _draws(SamplingRule(top_k=1))} == {0}


def test_at_temperature_0_the_likeliest_is_taken_with_its_logprob_at_1() -> None:
    draws = _draws(SamplingRule(temperature=0, top_p=0.1, top_k=1))
    assert {draw.token for draw in draws} == {0}
    assert draws[0].logprob == pytest.approx(float(torch.log_softmax(_LOGITS, dim=0)[0]), abs=1e-6)


def test_the_likeliest_are_told_in_order_and_none_that_cannot_be() -> None:
    draw = _draws(SamplingRule(top_k=2, top_logprobs=4), count=1)[0]
    assert [token for token, _ in draw.top] == [0, 1]
    assert draw.top[0][1] > draw.top[1][1]


def test_the_largest_point_draws_a_token_that_can_be_drawn() -> None:
    logits = torch.tensor([[0.0, 0.0, float("-inf")]])
    assert choose_tokens(logits, [SamplingRule()], [math.nextafter(1, 0)])[0].token == 1


@pytest.mark.parametrize("vocabulary", [3, 512, 513, 5000])
def test_a_point_draws_the_token_where_the_distribution_function_reaches_it(vocabulary: int) -> None:
    random = torch.Generator().manual_seed(vocabulary)
    logits = 3 * torch.randn(400, vocabulary, generator=random)
    # Whole blocks, and the last tokens, cannot be drawn.
    logits[::2, vocabulary // 3 : -1] = float("-inf")
    logits[:, -vocabulary // 10 :] = float("-inf")
    points = torch.rand(400, generator=random, dtype=torch.float64)
    draws = choose_tokens(logits, [SamplingRule()] * 400, points.tolist())
    reached = torch.softmax(logits.double(), dim=1).cumsum(1)
    expected = torch.searchsorted(reached / reached[:, -1:], points[:, None], right=True).squeeze(1)
    assert [draw.token for draw in draws] == expected.tolist()
    assert all(math.isfinite(draw.logprob) for draw in draws)
