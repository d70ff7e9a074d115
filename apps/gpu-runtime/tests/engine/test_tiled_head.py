"""Scores from tiles of logits: exact, and in memory that does not depend on the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tests.engine.allocations import PeakMemory
from torch import Tensor, nn

from agentlightning_runtime.engine.loss import token_scores
from agentlightning_runtime.engine.loss.logit_rule import LogitRule
from agentlightning_runtime.engine.loss.token_scores import score_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    Scores = Callable[[nn.Linear, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]

_TOKENS, _WIDTH, _VOCABULARY = 256, 32, 50_000


class _ChunkedHead(nn.Linear):
    """Scored for chunks of positions with recomputation, the way before tiles: each chunk converts the head."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 -- the name of the base class
        return nn.functional.linear(input.float(), self.weight.float())


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setattr(token_scores, "_LOGITS_AT_A_TIME", 2**18)


def _plain(head: nn.Linear, hidden: Tensor, targets: Tensor, temperatures: Tensor) -> tuple[Tensor, Tensor]:
    logits = nn.functional.linear(hidden.float(), head.weight.float()) / temperatures[:, None]
    distribution = torch.log_softmax(logits, -1)
    return distribution.gather(1, targets[:, None])[:, 0], -(distribution.exp() * distribution).sum(-1)


def _scored(head: nn.Linear, hidden: Tensor, targets: Tensor, temperatures: Tensor) -> tuple[Tensor, Tensor]:
    rule = LogitRule(scale=1.0, softcap=0.0, output_size=head.out_features)
    return score_tokens(head, rule, hidden, targets, temperatures)


def _inputs(head: nn.Linear) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(2)
    hidden = torch.randn(_TOKENS, _WIDTH, requires_grad=True)
    return hidden, torch.randint(0, head.out_features, (_TOKENS,)), torch.linspace(0.5, 1.5, _TOKENS)


def test_values_and_gradients_are_those_of_all_logits() -> None:
    torch.manual_seed(1)
    head = nn.Linear(_WIDTH, _VOCABULARY, bias=False)
    hidden, targets, temperatures = _inputs(head)
    mix = torch.randn(2, _TOKENS) / _TOKENS
    found: list[list[Tensor]] = []
    for scores in (_scored, _plain):
        logprobs, entropies = scores(head, hidden, targets, temperatures)
        slopes = torch.autograd.grad((logprobs * mix[0] + entropies * mix[1]).sum(), (hidden, head.weight))
        found.append([logprobs.detach(), entropies.detach(), *slopes])
    for ours, theirs in zip(*found, strict=True):
        # Processors add in different orders: a few units in the last place of float32.
        torch.testing.assert_close(ours, theirs, rtol=2e-6, atol=1e-6)


def test_short_operands_are_multiplied_like_their_float32_copies() -> None:
    torch.manual_seed(1)
    head = nn.Linear(_WIDTH, _VOCABULARY, bias=False, dtype=torch.bfloat16)
    copied = nn.Linear(_WIDTH, _VOCABULARY, bias=False)
    copied.load_state_dict(head.state_dict())
    hidden, targets, temperatures = _inputs(head)
    short = hidden.detach().bfloat16().requires_grad_()
    mix = torch.randn(2, _TOKENS) / _TOKENS
    found: list[list[Tensor]] = []
    for scores, layer, states in ((_scored, head, short), (_plain, copied, short.detach().float().requires_grad_())):
        logprobs, entropies = scores(layer, states, targets, temperatures)
        slopes = torch.autograd.grad((logprobs * mix[0] + entropies * mix[1]).sum(), (states, layer.weight))
        found.append([logprobs.detach(), entropies.detach(), *slopes])
    ours, theirs = found
    assert [each.dtype for each in ours] == [torch.float32, torch.float32, torch.bfloat16, torch.bfloat16]
    # Products of short numbers are exact in float32.
    torch.testing.assert_close(ours[:2], theirs[:2], rtol=2e-6, atol=1e-6)
    # The gradients of the logits and the results are rounded to 8 bits.
    for one, other in zip(ours[2:], theirs[2:], strict=True):
        assert (one.float() - other).norm() < 2**-7 * other.norm()


def test_infinitely_unlikely_tokens_have_no_gradient_that_is_not_finite() -> None:
    head = nn.Linear(_WIDTH, _VOCABULARY, bias=False)
    hidden, targets, temperatures = _inputs(head)
    # Beyond the range of exp in float32.
    logprobs, entropies = _scored(head, hidden * 1e4, targets, temperatures)
    slope = torch.autograd.grad(logprobs.sum() + entropies.sum(), hidden)[0]
    assert all(bool(each.isfinite().all()) for each in (logprobs, entropies, slope))


def _peak(scores: Scores, head: nn.Linear) -> int:
    """Peak of a pass with a frozen head, forward and backward, in bytes."""
    head.requires_grad_(requires_grad=False)
    hidden, targets, temperatures = _inputs(head)
    with PeakMemory() as memory:
        logprobs, entropies = scores(head, hidden, targets, temperatures)
        (logprobs.sum() + entropies.sum()).backward()
    return memory.peak


def test_memory_does_not_depend_on_the_vocabulary() -> None:
    sizes = (_VOCABULARY, 2 * _VOCABULARY)
    small, large = (_peak(_scored, nn.Linear(_WIDTH, size, bias=False, dtype=torch.bfloat16)) for size in sizes)
    plain = _peak(_plain, nn.Linear(_WIDTH, _VOCABULARY, bias=False, dtype=torch.bfloat16))
    chunked = _peak(_scored, _ChunkedHead(_WIDTH, _VOCABULARY, bias=False, dtype=torch.bfloat16))
    print(f"plain {plain / 2**20:.1f} MiB, chunks {chunked / 2**20:.1f} MiB, tiles {small / 2**20:.1f} MiB")  # noqa: T201
    assert large <= 1.02 * small
    assert small < chunked / 2
    assert small < plain / 20
