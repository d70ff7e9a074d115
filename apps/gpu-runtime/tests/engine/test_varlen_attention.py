"""All segments of a row in one call of attention: the plan of the call, with a reference of torch's function."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.engine.a_batch import a_loss, an_engine, no_progress, siblings
from torch import Tensor, nn
from torch.nn.attention import varlen

from agentlightning_runtime.contract.settings import ModelRequest
from agentlightning_runtime.engine.base.packing import Segment
from agentlightning_runtime.engine.models import packed_attention, varlen_attention
from agentlightning_runtime.engine.models.varlen_attention import RowPlan, is_possible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    Varlen = Callable[..., Tensor]

calls: list[int] = []
"""Segments of each call."""


def reference(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    scale: float,
    left: int,
) -> Tensor:
    """What flash attention computes and demands; the mask is aligned at the end."""
    calls.append(len(cu_seq_q) - 1)
    assert query.dtype == key.dtype == value.dtype
    assert cu_seq_q.dtype == cu_seq_k.dtype == torch.int32
    assert all(each.is_contiguous() for each in (query, key, value))
    query_ends, key_ends = cu_seq_q.tolist(), cu_seq_k.tolist()
    assert (query_ends[-1], key_ends[-1]) == (len(query), len(key))
    assert (max_q, max_k) == (np.diff(query_ends).max(), np.diff(key_ends).max())
    parts: list[Tensor] = []
    for at in range(len(query_ends) - 1):
        own = query[query_ends[at] : query_ends[at + 1]]
        keys, values = (each[key_ends[at] : key_ends[at + 1]] for each in (key, value))
        keys, values = (each.repeat_interleave(own.shape[1] // each.shape[1], 1) for each in (keys, values))
        distances = torch.arange(len(keys) - len(own), len(keys))[:, None] - torch.arange(len(keys))
        is_seen = (distances >= 0) & ((distances <= left) if left >= 0 else True)
        scores = torch.einsum("qhd,khd->hqk", own, keys) * scale
        shares = scores.masked_fill(~is_seen, -torch.inf).softmax(-1)
        parts.append(torch.einsum("hqk,khd->qhd", shares, values))
    return torch.cat(parts)


def as_in_2_13(
    *states: Any, window_size: tuple[int, int] = (-1, -1), scale: float = 0.0, enable_gqa: bool = False
) -> Tensor:
    assert window_size[1] == 0
    assert enable_gqa == (states[0].shape[1] > states[1].shape[1])
    return reference(*states, scale=scale, left=window_size[0])


def as_in_2_10(*states: Any, is_causal: bool = False) -> Tensor:
    assert is_causal
    assert states[0].shape[1] == states[1].shape[1]
    return reference(*states, scale=states[0].shape[-1] ** -0.5, left=-1)


def answering(*, value: bool) -> Callable[..., bool]:
    def answer(*_of: object) -> bool:
        return value

    return answer


@pytest.fixture(params=[as_in_2_13, as_in_2_10])
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[Varlen]:
    """A version of torch that has the function on the CPU."""
    monkeypatch.setattr(varlen, "varlen_attn", request.param)
    monkeypatch.setattr(packed_attention, "is_possible", answering(value=True))
    varlen_attention._parameters.cache_clear()  # pyright: ignore[reportPrivateUsage]
    calls.clear()
    yield request.param
    varlen_attention._parameters.cache_clear()  # pyright: ignore[reportPrivateUsage]


# A prompt with two continuations, one of which is continued twice, and a sequence alone.
SEGMENTS = [
    Segment(0, 20),
    Segment(20, 27, ((0, 20),)),
    Segment(27, 40, ((0, 20),)),
    Segment(40, 41, ((0, 20), (27, 40))),
    Segment(41, 50, ((0, 20), (27, 40))),
    Segment(50, 64),
]


def states_of(key_heads: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    random = torch.Generator().manual_seed(3)
    shapes = [(1, heads, 64, 16) for heads in (4, key_heads, key_heads)]
    return [torch.randn(shape, generator=random).to(dtype).requires_grad_() for shape in shapes]


def attention(states: list[Tensor], segments: list[Segment], **options: Any) -> Tensor:
    query, key, value = states
    plan = RowPlan(segments, query.device)
    return packed_attention.packed_attention(nn.Identity(), query, key, value, None, plan=plan, **options)[0]


@pytest.mark.parametrize("segments", [SEGMENTS, [Segment(0, 30), Segment(30, 64)]])
@pytest.mark.parametrize("key_heads", [2, 4])
@pytest.mark.parametrize("window", [None, 5])
def test_one_call_is_the_calls_of_all_segments(
    version: Varlen, monkeypatch: pytest.MonkeyPatch, segments: list[Segment], key_heads: int, window: int | None
) -> None:
    if window is not None and version is as_in_2_10:
        pytest.skip("this version has no windows")
    found: list[list[Tensor]] = []
    for is_one_call in (True, False):
        monkeypatch.setattr(packed_attention, "is_possible", answering(value=is_one_call))
        states = states_of(key_heads)
        attended = attention(states, segments, scaling=0.25, sliding_window=window)
        mix = torch.randn(attended.shape, generator=torch.Generator().manual_seed(4))
        (attended * mix).sum().backward()
        found.append([attended.detach(), *(each.grad for each in states if each.grad is not None)])
    assert len(calls) == 1
    for one, each in zip(*found, strict=True):
        torch.testing.assert_close(one, each, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("version")
def test_states_in_float32_beside_short_values_are_rounded() -> None:
    query, key, value = states_of(2)
    attended = attention([query, key, value.bfloat16()], SEGMENTS, scaling=0.25)
    assert attended.dtype == torch.bfloat16
    assert calls == [len(SEGMENTS)]


@pytest.mark.usefixtures("version")
def test_layers_share_the_plan_of_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def count(make: Callable[..., Any], segments: Any, device: Any) -> Any:
        made.append(len(segments))
        return make(segments, device)

    call = varlen_attention.VarlenCall
    monkeypatch.setattr(call, "of", staticmethod(partial(count, call.of)))
    model = an_engine(tmp_path, micro_batch_tokens=4000).create_model(ModelRequest("m", "tiny", 3))
    model.forward_backward(siblings(), a_loss("ppo"), no_progress)
    layers = model.parts.network.causal_lm.config.num_hidden_layers
    assert layers > 1
    assert made == calls[:1]
    assert calls == made * layers


def test_it_is_for_cuda_and_short_types() -> None:
    assert not is_possible(states_of(2)[2], 0.25, None)
    assert not is_possible(states_of(2, torch.bfloat16)[2], 0.25, None)


def test_attention_of_cudnn_is_not_chosen(tmp_path: Path) -> None:
    torch.backends.cuda.enable_cudnn_sdp(enabled=True)
    an_engine(tmp_path)
    assert not torch.backends.cuda.cudnn_sdp_enabled()
