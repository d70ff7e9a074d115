"""LoRAs on a base in four bits, and moments in eight, by bitsandbytes; on the CPU."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
import torch
from tests.engine.a_batch import SilentBackend, a_batch, a_loss, no_progress
from torch import nn
from transformers import AutoModelForCausalLM, LlamaConfig

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.create_engine import create_engine
from agentlightning_runtime.engine.experimental.eight_bit_adam import EightBitAdam, moment_bytes
from agentlightning_runtime.engine.experimental.four_bit_base import dequantised
from agentlightning_runtime.engine.torch_engine import TorchEngine

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel

pytest.importorskip("bitsandbytes")

LORA = LoraSettings(rank=16, alpha=32.0)
ADAM = AdamParameters(learning_rate=0.01, weight_decay=0.01)

#: The values of NF4 (Dettmers et al. 2023, appendix E).
# fmt: off
NF4 = torch.tensor([
    -1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.09105004, 0.0,
    0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0,
])
# fmt: on


def save_wide_model(folder: Path) -> str:
    """A model whose weights have rows of 256 values or a multiple."""
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=260,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
    )
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_wide_model(tmp_path_factory.mktemp("models") / "wide")


def make(
    directory: Path,
    source: str,
    *,
    lora: LoraSettings | None = LORA,
    load_in_4bit: bool = False,
    optimizer: Literal["adamw", "adamw-8bit"] = "adamw",
    seed: int = 3,
) -> TorchModel:
    settings = EngineSettings({"base": source}, directory, device="cpu", load_in_4bit=load_in_4bit, optimizer=optimizer)
    return TorchEngine(settings, SilentBackend()).create_model(ModelRequest("m", "base", seed, lora))


def train(model: TorchModel, *steps: int) -> None:
    for step in steps:
        model.forward_backward(a_batch(step), a_loss("ppo"), no_progress)
        model.optim_step(ADAM)


def logprobs(model: TorchModel, *, use_reference: bool = False) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.concatenate(model.forward(a_batch(5), use_reference=use_reference, progress=no_progress).logprobs)


def four_bit_weights(model: TorchModel) -> dict[str, torch.Tensor]:
    weights = model.parts.base.load().causal_lm.named_parameters()
    return {name: weight for name, weight in weights if hasattr(weight, "quant_state")}


def in_full(model: TorchModel, folder: Path) -> str:
    """The same base with dequantised weights in float32."""
    weights = model.parts.base.load().causal_lm
    twin = AutoModelForCausalLM.from_config(weights.config, dtype=torch.float32)
    twin.load_state_dict({name: dequantised(weight) for name, weight in weights.named_parameters()}, strict=False)
    twin.tie_weights()
    twin.save_pretrained(folder)
    return str(folder)


def test_weights_are_those_of_nf4(tmp_path: Path, wide: str) -> None:
    quantised = four_bit_weights(make(tmp_path, wide, load_in_4bit=True))
    assert {name.split(".")[-2] for name in quantised} == {
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"
    }  # fmt: skip
    exact = AutoModelForCausalLM.from_pretrained(wide).state_dict()
    for name, weight in quantised.items():
        blocks = exact[name].reshape(-1, 64)
        scales = blocks.abs().amax(1, keepdim=True)
        nearest = NF4[(blocks / scales)[..., None].sub(NF4).abs().argmin(-1)] * scales
        errors = [(found.reshape(-1, 64) - blocks).abs() for found in (dequantised(weight), nearest)]
        # The scales are quantised too, in eight bits.
        assert (errors[0] <= errors[1] + 0.02 * scales).all()
        assert weight.numel() * weight.element_size() == exact[name].numel() / 2


def test_scores_and_gradients_are_those_of_the_dequantised_base(tmp_path: Path, wide: str) -> None:
    model = make(tmp_path / "a", wide, load_in_4bit=True)
    twin = make(tmp_path / "b", in_full(model, tmp_path / "full"))
    packed = {name: weight.data.clone() for name, weight in four_bit_weights(model).items()}
    for step in range(2):
        assert logprobs(model) == pytest.approx(logprobs(twin), abs=1e-4)
        for each in (model, twin):
            each.forward_backward(a_batch(step), a_loss("ppo"), no_progress)
        for name, weight in model.weights.items():
            assert weight.grad is not None
            torch.testing.assert_close(weight.grad, twin.weights[name].grad, rtol=1e-3, atol=1e-5)
        for each in (model, twin):
            each.optim_step(ADAM)
    assert all(".lora_" in name for name in model.weights)
    assert logprobs(model, use_reference=True) == pytest.approx(logprobs(twin, use_reference=True), abs=1e-4)
    for name, weight in four_bit_weights(model).items():
        assert weight.grad is None
        assert torch.equal(weight.data, packed[name])


def test_sampler_computes_what_the_trainer_computes(tmp_path: Path, wide: str) -> None:
    engine = create_engine(EngineSettings({"base": wide}, tmp_path, device="cpu", load_in_4bit=True))
    try:
        model = engine.create_model(ModelRequest("m", "base", 3, LORA))
        for step in range(2):
            model.forward_backward(a_batch(step), a_loss("ppo"), no_progress)
            model.optim_step(ADAM)
            published = model.publish_weights().weights
            assert published is not None
            assert published.probe is not None
            assert published.probe.logprob_gap < 1e-4
    finally:
        engine.close()


def test_copies_share_the_base(tmp_path: Path, wide: str) -> None:
    settings = EngineSettings({"base": wide}, tmp_path, device="cpu", load_in_4bit=True)
    engine = TorchEngine(settings, SilentBackend())
    one, two = (engine.create_model(ModelRequest(name, "base", 1, LORA)) for name in ("one", "two"))
    layers = [
        each.parts.network.causal_lm.get_submodule("model.layers.0.mlp.up_proj.base_layer") for each in (one, two)
    ]
    assert layers[0] is not layers[1]
    assert layers[0].weight is layers[1].weight
    assert layers[0].quant_state is layers[1].quant_state


def test_export_is_what_was_trained(tmp_path: Path, wide: str) -> None:
    model = make(tmp_path, wide, load_in_4bit=True)
    train(model, 1, 2)
    folder = tmp_path / "export"
    folder.mkdir()
    model.export_weights("", "safetensors", folder)
    exported = make(tmp_path / "again", str(folder), lora=None)
    assert logprobs(exported) == pytest.approx(logprobs(model), abs=1e-4)


def test_all_weights_of_a_base_in_four_bits_cannot_be_trained(tmp_path: Path, wide: str) -> None:
    with pytest.raises(EngineError, match="4 bits") as caught:
        make(tmp_path, wide, lora=None, load_in_4bit=True)
    assert (caught.value.reason, caught.value.field) == (EngineErrorReason.INVALID, "lora")


@pytest.mark.parametrize("lora", [None, LORA])
def test_moments_in_eight_bits_take_nearly_the_same_steps(tmp_path: Path, wide: str, lora: LoraSettings | None) -> None:
    exact = make(tmp_path / "a", wide, lora=lora)
    quantised = make(tmp_path / "b", wide, lora=lora, optimizer="adamw-8bit")
    before = {name: weight.detach().clone() for name, weight in exact.weights.items()}
    for model in (exact, quantised):
        train(model, *range(5))
    for name, start in before.items():
        change, wanted = (model.weights[name].detach() - start for model in (quantised, exact))
        assert (change - wanted).norm() <= 0.1 * wanted.norm(), name
    in_float32 = {name for name in exact.weights if f"{name}/state1" not in moments(quantised)}
    assert in_float32 == {name for name in exact.weights if "norm" in name or "embed" in name or "lora_B" in name}
    expected = moment_bytes(quantised.weights, quantised.parts.eight_bit)
    assert expected < 0.8 * moment_bytes(exact.weights, ())
    assert size_of(moments(quantised)) == pytest.approx(expected, rel=0.01)


def moments(model: TorchModel) -> dict[str, torch.Tensor]:
    return model._adam.state()  # pyright: ignore[reportPrivateUsage]


def size_of(tensors: dict[str, torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


@pytest.mark.parametrize(("lora", "load_in_4bit"), [(None, False), (LORA, True)])
def test_training_goes_on_bit_for_bit(
    tmp_path: Path, wide: str, lora: LoraSettings | None, *, load_in_4bit: bool
) -> None:
    def new(seed: int) -> TorchModel:
        return make(tmp_path, wide, lora=lora, load_in_4bit=load_in_4bit, optimizer="adamw-8bit", seed=seed)

    whole = new(3)
    train(whole, 1, 2)
    uri = whole.save_checkpoint("two", b"").result().uri
    train(whole, 3, 4)
    resumed = new(99)
    train(resumed, 5)
    resumed.load_checkpoint(uri)
    train(resumed, 3, 4)
    found, wanted = ({**model.weights, **moments(model)} for model in (resumed, whole))
    assert found.keys() == wanted.keys()
    assert all(torch.equal(tensor, found[name]) for name, tensor in wanted.items())


def test_shards_take_the_step_of_the_whole_weight() -> None:
    torch.manual_seed(1)
    whole = nn.Parameter(torch.randn(24, 512))
    shards = [nn.Parameter(rows.clone()) for rows in whole.detach().split([10, 14])]
    optimizers = [EightBitAdam({"w": whole}), *(EightBitAdam({"w": shard}) for shard in shards)]
    for _ in range(3):
        whole.grad = torch.randn(24, 512)
        for shard, gradient in zip(shards, whole.grad.split([10, 14]), strict=True):
            shard.grad = gradient
        for optimizer in optimizers:
            optimizer.step(ADAM)
    assert torch.equal(torch.cat([shard.detach() for shard in shards]), whole.detach())
    states = [optimizer.state() for optimizer in optimizers]
    for field in ("w/state1", "w/state2", "w/absmax1", "w/absmax2"):
        assert torch.equal(torch.cat([states[1][field], states[2][field]]), states[0][field])


@pytest.mark.parametrize("saved", ["adamw", "adamw-8bit"])
def test_checkpoint_of_the_other_optimizer_is_refused(
    tmp_path: Path, wide: str, saved: Literal["adamw", "adamw-8bit"]
) -> None:
    model = make(tmp_path, wide, lora=None, optimizer=saved)
    train(model, 1)
    uri = model.save_checkpoint("one", b"").result().uri
    other = make(tmp_path, wide, lora=None, optimizer="adamw-8bit" if saved == "adamw" else "adamw")
    train(other, 2)
    before = {name: weight.detach().clone() for name, weight in other.weights.items()}
    with pytest.raises(EngineError, match=f"--optimizer {saved}$") as caught:
        other.load_checkpoint(uri)
    assert caught.value.reason == EngineErrorReason.INVALID
    assert not other.state().is_corrupted
    assert all(torch.equal(weight, before[name]) for name, weight in other.weights.items())


@pytest.mark.parametrize("flags", [{"load_in_4bit": True}, {"optimizer": "adamw-8bit"}])
def test_missing_package_is_reported_at_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: dict[str, Any]
) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(EngineError, match=r"agentlightning-runtime\[quantization\]") as caught:
        create_engine(EngineSettings({"base": "random:llama-tiny"}, tmp_path, device="cpu", **flags))
    assert caught.value.reason == EngineErrorReason.PRECONDITION
