"""Sequences packed in a row compute what each computes alone; common prefixes are computed once."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress, siblings
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, Gemma3TextConfig, GPT2Config, MambaConfig, MistralConfig, Qwen3Config

from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.engine.base.packing import MIN_SHARED_TOKENS, Segment, pack, plan_packed
from agentlightning_runtime.engine.micro_batch import examples_of
from agentlightning_runtime.engine.models.packed_attention import packed_attention, use_packed_attention
from agentlightning_runtime.engine.models.varlen_attention import RowPlan
from agentlightning_runtime.inference.sampling.served_weights import snapshot_weights

if TYPE_CHECKING:
    from pathlib import Path


SHAPE: dict[str, Any] = {
    "vocab_size": 260,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
}
CONFIGS = {
    "qwen3": Qwen3Config(**SHAPE, head_dim=8),
    "sliding": MistralConfig(**SHAPE, sliding_window=20),
    "gemma3": Gemma3TextConfig(
        **SHAPE, head_dim=8, sliding_window=20, layer_types=["sliding_attention", "full_attention"]
    ),
    "gpt2": GPT2Config(
        vocab_size=260, n_embd=32, n_layer=2, n_head=4, n_positions=512, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    ),
}


@pytest.mark.parametrize(("source", "lora"), [*((source, None) for source in CONFIGS), ("qwen3", LoraSettings(4, 8.0))])
def test_scores_and_gradients_are_those_of_each_sequence_alone(
    tmp_path: Path, source: str, lora: LoraSettings | None
) -> None:
    torch.manual_seed(1)
    AutoModelForCausalLM.from_config(copy.deepcopy(CONFIGS[source])).save_pretrained(tmp_path / "base")
    found: list[tuple[Any, Any]] = []
    for tokens in (1, 4000):
        engine = an_engine(tmp_path, micro_batch_tokens=tokens, base=str(tmp_path / "base"))
        model = engine.create_model(ModelRequest("m", "base", 3, lora, has_value_head=True))
        assert model.parts.settings.is_packed
        loss = a_loss("ppo", value_coefficient=0.5, entropy_coefficient=0.1)
        model.forward_backward(siblings(), loss, no_progress)
        scored = model.forward(siblings(), use_reference=False, progress=no_progress)
        gradients = {name: weight.grad for name, weight in model.weights.items() if weight.grad is not None}
        found.append((np.concatenate(scored.logprobs), gradients))
    (alone, of_alone), (packed, of_packed) = found
    assert packed == pytest.approx(alone, abs=1e-4)
    assert of_packed.keys() == of_alone.keys()
    for name, gradient in of_alone.items():
        assert (of_packed[name] - gradient).norm() <= 1e-4 * gradient.norm() + 1e-6


def test_scores_are_those_of_transformers(tmp_path: Path) -> None:
    torch.manual_seed(1)
    plain = AutoModelForCausalLM.from_config(copy.deepcopy(CONFIGS["gemma3"]), attn_implementation="eager").eval()
    plain.save_pretrained(tmp_path / "base")
    model = an_engine(tmp_path, base=str(tmp_path / "base")).create_model(ModelRequest("m", "base", 3))
    scored = model.forward(siblings(), use_reference=False, progress=no_progress)
    for datum, logprobs in zip(siblings().data, scored.logprobs, strict=True):
        tokens = torch.from_numpy(datum.token_ids.astype(np.int64))
        with torch.no_grad():
            distribution = torch.log_softmax(plain(tokens[None]).logits[0] / datum.temperature, -1)
        at = np.concatenate([np.arange(span.start, span.end) for span in datum.trained])
        assert logprobs == pytest.approx(distribution[at - 1, tokens[at]].numpy(), abs=1e-4)


def test_common_prefixes_are_in_the_row_once() -> None:
    examples = examples_of(siblings(), only_weighted=False)
    (group,) = plan_packed(examples, 4000)
    row = pack(group)
    assert len(row.tokens) == len(row.segments) == len(row.positions)
    tokens, positions = np.concatenate(row.tokens), np.concatenate(row.positions)
    assert row.length == len(tokens) == len(positions)
    for example, places in zip(group, row.places, strict=True):
        assert np.array_equal(tokens[places], example.datum.token_ids[: example.length])
        assert np.array_equal(positions[places], np.arange(example.length))
        # A token attends to its prefix in the row and to its segment, which together are its sequence.
        segment = next(each for each in row.segments if each.start <= places[-1] < each.end)
        seen = [*(np.arange(*interval) for interval in segment.prefix), np.arange(segment.start, places[-1] + 1)]
        assert np.array_equal(np.concatenate(seen), places)
    # The system prompt, two prompts, the responses without their last token; then a continued response and one that
    # is repeated, whose common tokens are too few, and sequences without common tokens.
    assert row.length == 40 + 2 * 30 + 2 * (4 + 11 + 18) + 54 + 11 + 59 + a_batch().tokens - 8


def test_rows_hold_the_budget_and_the_largest_comes_first() -> None:
    examples = examples_of(siblings(), only_weighted=False)
    groups = plan_packed(examples, 130)
    lengths = [pack(group).length for group in groups]
    assert sorted(each.index for group in groups for each in group) == [each.index for each in examples]
    assert max(lengths) <= 130
    assert lengths[0] >= max(lengths) - MIN_SHARED_TOKENS
    assert [len(group) for group in plan_packed(examples, 1)] == [1] * len(examples)


def test_model_with_other_state_is_padded() -> None:
    mamba = AutoModelForCausalLM.from_config(MambaConfig(vocab_size=260, hidden_size=32, num_hidden_layers=2))
    eager = AutoModelForCausalLM.from_config(copy.deepcopy(CONFIGS["qwen3"]), attn_implementation="eager")
    assert not use_packed_attention(mamba)
    assert not use_packed_attention(eager)


def test_sampler_keeps_the_plain_attention() -> None:
    model = AutoModelForCausalLM.from_config(copy.deepcopy(CONFIGS["qwen3"])).eval()
    assert use_packed_attention(model)
    served: Any = snapshot_weights(model, 1).module
    assert served.config._attn_implementation == "sdpa"
    ids = torch.arange(30)[None]
    torch.testing.assert_close(served(ids).logits, model(ids).logits)


class WrittenBytes(TorchDispatchMode):
    """Counts the bytes that operations write."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        # Views have the memory of their operand.
        operands = {each.untyped_storage().data_ptr() for each in args if isinstance(each, torch.Tensor)}
        for each in result if isinstance(result, tuple | list) else [result]:
            if isinstance(each, torch.Tensor) and each.untyped_storage().data_ptr() not in operands:
                self.total += each.numel() * each.element_size()
        return result


def test_the_gradient_of_a_row_does_not_grow_with_its_segments() -> None:
    tokens, width = 256, 16

    def written(count: int) -> int:
        random = torch.Generator().manual_seed(1)
        query, key, value = (torch.randn(1, 2, tokens, width, generator=random, requires_grad=True) for _ in range(3))
        size = tokens // count
        segments = [Segment(start, start + size) for start in range(0, tokens, size)]
        plan = RowPlan(segments, query.device)
        attended, _ = packed_attention(nn.Identity(), query, key, value, None, plan=plan, scaling=width**-0.5)
        with WrittenBytes() as bytes_:
            attended.sum().backward()
        return bytes_.total

    # A row of zeros for each segment and tensor would be 32 times as much.
    assert written(64) < 1.5 * written(2)
