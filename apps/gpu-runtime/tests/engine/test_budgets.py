"""Budgets of a training pass and of a decoding step, counted on the CPU: what a GPU would launch, move and keep.

A change that exceeds one fails with the number. Lower a budget when a change has made it possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.engine.a_batch import a_datum, with_prompt
from tests.engine.dispatch_counter import DispatchCounter, KeptBytes
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoModelForCausalLM, Qwen3Config

from agentlightning_runtime.contract.batch import Batch, Datum
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.engine.base.packing import Segment, pack, plan_packed
from agentlightning_runtime.engine.base.ranks import Ranks
from agentlightning_runtime.engine.loading.loaded_model import LoadedModel
from agentlightning_runtime.engine.micro_batch import assemble, examples_of, plan_evenly, share_out, split_by_example
from agentlightning_runtime.engine.models import packed_attention
from agentlightning_runtime.engine.models.base_model import BaseModel
from agentlightning_runtime.engine.models.network_factory import make_network
from agentlightning_runtime.inference.sampling.decoding_batch import DecodingBatch
from agentlightning_runtime.inference.sampling.generation import Generation, GenerationRequest
from agentlightning_runtime.inference.sampling.model_shape import shape_of
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule
from agentlightning_runtime.inference.sampling.served_weights import snapshot_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.engine.base.example import Example
    from agentlightning_runtime.engine.models.policy_network import PolicyNetwork

# Those of Qwen3-0.6B, besides the vocabulary, which layers do not depend on.
SHAPE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 3072,
    "vocab_size": 512,
    "tie_word_embeddings": True,
}
# A prompt that 8 responses share, and 16 sequences alone.
SEGMENTS = [
    Segment(0, 768),
    *(Segment(start, start + 256, ((0, 768),)) for start in range(768, 2816, 256)),
    *(Segment(start, start + 848) for start in range(2816, 16_384, 848)),
]
TOKENS = SEGMENTS[-1].end


@dataclass
class Cost:
    """What one layer takes in a pass forward and backward."""

    launches: int
    moved_kilobytes_a_token: float
    kept_kilobytes_a_token: float


def a_network(layers: int, lora: LoraSettings | None, **shape: Any) -> PolicyNetwork:
    torch.manual_seed(1)
    config = Qwen3Config(**{**SHAPE, **shape}, num_hidden_layers=layers)
    causal_lm = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).requires_grad_(requires_grad=False)
    base = BaseModel("base", "injected", torch.device("cpu"), torch.bfloat16)
    loaded = LoadedModel(causal_lm.eval(), None, SHAPE["vocab_size"])
    setattr(base, "_loaded", loaded)  # noqa: B010 -- made here, not read from a source
    setattr(base, "_outline", loaded)  # noqa: B010
    request = ModelRequest("m", "base", 1, lora)
    return make_network(base, request, lora, Ranks(), is_sharded=False, gradient_checkpointing=False)


def without_memory(network: PolicyNetwork) -> FakeTensorMode:
    """Replaces the weights by tensors that have shapes only."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    replaced: dict[int, nn.Parameter] = {}
    for module in network.modules():
        for name, weight in list(module.named_parameters(recurse=False)):
            fake = nn.Parameter(mode.from_tensor(weight.detach()), requires_grad=weight.requires_grad)
            setattr(module, name, replaced.setdefault(id(weight), fake))
        for name, buffer in list(module.named_buffers(recurse=False)):
            setattr(module, name, mode.from_tensor(buffer))
    return mode


def is_always_possible(*_of: object) -> bool:
    return True


def pass_of(layers: int) -> tuple[DispatchCounter, int]:
    lora = LoraSettings(16, 16.0, ("down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"))
    network = a_network(layers, lora)
    with without_memory(network):
        token_ids, selected = torch.zeros(1, TOKENS, dtype=torch.long), torch.zeros(16, dtype=torch.long)
        kept = KeptBytes(list(network.parameters()))
        with DispatchCounter() as counter:
            with kept:
                scores = network(token_ids, token_ids, selected, selected, torch.ones(16), segments=SEGMENTS)
            scores[0].sum().backward()
    return counter, kept.total


@pytest.fixture(scope="module", name="layer")
def _layer() -> Cost:
    """The second layer of two: the difference to a network of one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_attention, "is_possible", is_always_possible)
        (one, kept_of_one), (two, kept_of_two) = (pass_of(layers) for layers in (1, 2))
    return Cost(
        launches=two.launches - one.launches,
        moved_kilobytes_a_token=(two.moved - one.moved) / TOKENS / 1e3,
        kept_kilobytes_a_token=(kept_of_two - kept_of_one) / TOKENS / 1e3,
    )


def test_launches_of_a_layer(layer: Cost) -> None:
    print(layer)  # noqa: T201
    assert layer.launches <= 285


def test_bytes_that_a_layer_moves(layer: Cost) -> None:
    assert layer.moved_kilobytes_a_token <= 1700


def test_bytes_that_a_layer_keeps_for_the_backward_pass(layer: Cost) -> None:
    assert layer.kept_kilobytes_a_token <= 70


def sequences(kind: str, tokens: int, seed: int) -> list[Example]:
    """Conversations of log-normal lengths, or groups of 8 responses to a prompt, of at least `tokens` tokens."""
    random, data = np.random.default_rng(seed), list[Datum]()
    while sum(len(each.token_ids) for each in data) < tokens:
        number = 100 * seed + len(data)
        if kind == "agents":
            length = int(np.clip(random.lognormal(6.2, 0.9), 64, 4096))
            data.append(a_datum(length, [(length // 2, length)], seed=number))
        else:
            prompt = a_datum(768, [(767, 768)], seed=number)
            data += [with_prompt(prompt, int(random.integers(128, 384)), number + at) for at in range(8)]
    return examples_of(Batch(data), only_weighted=False)


def busy_share(groups: list[Sequence[Example]], ranks: int) -> float:
    """Mean share of the time in which a rank computes, while all wait for the longest row of a round."""
    shares = [[pack(group).length for group in share_out(groups, rank, ranks)] for rank in range(ranks)]
    computed = sum(pack(group).length for group in groups)
    return computed / (ranks * sum(max(each) for each in zip(*shares, strict=True)))


@pytest.mark.parametrize(("kind", "least"), [("agents", 0.9), ("groups", 0.88)])
def test_ranks_are_busy(kind: str, least: float) -> None:
    batches = [sequences(kind, tokens, 3) for tokens in (64_000, 100_000, 130_000, 260_000)]
    shares = [busy_share(plan_evenly(plan_packed, each, 16_384, 8), 8) for each in batches]
    print(kind, shares)  # noqa: T201
    assert min(shares) >= least


def test_rows_are_full_for_one_rank_and_small_enough_for_more() -> None:
    examples = sequences("agents", 64_000, 1)
    assert plan_evenly(plan_packed, examples, 16_384, 1) == plan_packed(examples, 16_384)
    for ranks in (2, 3, 8):
        full, even = plan_packed(examples, 16_384), plan_evenly(plan_packed, examples, 16_384, ranks)
        assert -(-len(even) // ranks) == -(-len(full) // ranks)
        assert sorted(each.index for group in even for each in group) == list(range(len(examples)))
        assert max(pack(group).length for group in even) <= max(pack(group).length for group in full)


def test_a_rank_without_work_computes_two_tokens() -> None:
    examples = sequences("agents", 4000, 1)[:1]
    (placeholder,) = share_out([examples], 1, 2)
    piece = assemble(placeholder, torch.device("cpu"), is_packed=True)
    assert piece.token_ids.numel() == 1
    assert not piece.trained.weights.any()
    assert list(split_by_example(placeholder, np.zeros(1, dtype=np.float32))) == []


LORA = LoraSettings(4, 8.0, ("down_proj", "q_proj"))


@pytest.mark.parametrize(("lora", "launches"), [(None, 200), (LORA, 225)])
def test_a_decoding_step_casts_no_weights(lora: LoraSettings | None, launches: int) -> None:
    network = a_network(2, lora, hidden_size=64, intermediate_size=128, head_dim=16)
    served = snapshot_weights(network.causal_lm, 1, network.precision.compute_dtype)
    batch = DecodingBatch(served, shape_of(served.module))
    request = GenerationRequest((1, 2, 3), 10, SamplingRule(), 1, frozenset())
    batch.join([Generation(request, served)])
    with torch.no_grad(), DispatchCounter() as counter:
        batch.step()
    # Logits in float32 are the largest.
    logits = 4 * SHAPE["vocab_size"]
    # Only the CPU copies a short head.
    head = 0 if lora is None else 2 * 64 * SHAPE["vocab_size"]
    assert [each for each in counter.casts if each > logits] == [head] * (head > 0)
    assert len(counter.casts) <= 33
    assert counter.launches <= launches
