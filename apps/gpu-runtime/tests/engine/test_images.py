"""Images in sequences: log-probabilities and gradients are those of Transformers, however a batch is partitioned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from peft import inject_adapter_in_model
from tests.engine.a_batch import a_loss, an_engine, no_progress
from tests.engine.an_image import PART, VISION_SOURCE, a_batch_with_images, a_datum_of, a_prompt, an_image
from transformers import AutoModelForImageTextToText, CLIPVisionConfig, LlamaConfig, LlavaConfig, Qwen2_5_VLConfig
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.images import Image
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.engine.models.lora import peft_config
from agentlightning_runtime.engine.vision.placed_images import place_images, position_offset, spatial_positions

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.contract.batch import Datum
    from agentlightning_runtime.engine.torch_model import TorchModel


def a_model(directory: Path, source: str = VISION_SOURCE, lora: LoraSettings | None = None) -> TorchModel:
    return an_engine(directory, vision=source).create_model(ModelRequest("m", "vision", seed=3, lora=lora))


def of_transformers(model: TorchModel, datum: Datum) -> torch.Tensor:
    """Log-probabilities of the trained tokens by the model's own forward pass, which places and positions images."""
    causal_lm: Any = model.parts.network.causal_lm
    tokens = torch.tensor(datum.token_ids[None].astype(np.int64))
    extra: dict[str, Any] = {}
    if datum.images:
        reader = model.parts.settings.images
        assert reader is not None
        prepared = [reader.prepare(image) for image in datum.images]
        extra = {
            "pixel_values": torch.from_numpy(np.concatenate([each.patches for each in prepared])),
            "image_grid_thw": torch.tensor([each.grid for each in prepared]),
            "mm_token_type_ids": (tokens == causal_lm.config.image_token_id).int(),
        }
    logits = causal_lm(input_ids=tokens, use_cache=False, **extra).logits[0]
    at = torch.arange(datum.trained[0].start, datum.trained[0].end)
    return logits.float().log_softmax(-1)[at - 1, tokens[0, at]]


def saved_qwen2_5_vl(folder: Path) -> str:
    """A folder with a small Qwen2.5-VL, as one from Hugging Face."""
    loaded = load_random_model(VISION_SOURCE)
    config = Qwen2_5_VLConfig(
        text_config={
            **loaded.causal_lm.config.get_text_config().to_dict(),
            "model_type": "qwen2_5_vl_text",
            "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 3, 3]},
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 4,
            "temporal_patch_size": 1,
            "out_hidden_size": 64,
            "window_size": 16,
            "fullatt_block_indexes": [1],
        },
        image_token_id=PART,
        tie_word_embeddings=True,
    )
    torch.manual_seed(5)
    AutoModelForImageTextToText.from_config(config, dtype=torch.float32).save_pretrained(folder)
    size = {"shortest_edge": 64, "longest_edge": 4096}
    Qwen2VLImageProcessorPil(patch_size=4, merge_size=2, temporal_patch_size=1, size=size).save_pretrained(folder)
    assert loaded.tokenizer is not None
    loaded.tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("name", ["qwen3-vl", "qwen2.5-vl"])
@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("tokens", [1, 10_000])
def test_logprobs_and_gradients_are_those_of_transformers(
    tmp_path: Path, name: str, *, is_packed: bool, tokens: int
) -> None:
    source = VISION_SOURCE if name == "qwen3-vl" else saved_qwen2_5_vl(tmp_path / "model")
    model = a_model(tmp_path / "checkpoints", source)
    model.parts.settings.is_packed = is_packed
    model.parts.settings.sizer = type(model.parts.settings.sizer)(tokens, None, model.parts.ranks)
    batch = a_batch_with_images()
    found = model.forward(batch, use_reference=False, progress=no_progress).logprobs
    loss = torch.zeros(())
    for datum, mine in zip(batch.data, found, strict=True):
        expected = of_transformers(model, datum)
        np.testing.assert_allclose(mine, expected.detach().numpy(), rtol=0, atol=1e-4)
        loss = loss - (expected * torch.from_numpy(datum.advantages * datum.weights)).sum()
    # A weight without effect, such as that of videos, has the gradient 0.
    of_loss = torch.autograd.grad(loss, list(model.weights.values()), allow_unused=True, materialize_grads=True)
    expected_gradients = dict(zip(model.weights, of_loss, strict=True))
    model.forward_backward(batch, a_loss("cross_entropy"), no_progress)
    assert any(".visual." in name for name in expected_gradients)
    for weight, expected_gradient in expected_gradients.items():
        gradient = model.weights[weight].grad
        assert gradient is not None
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=1e-5)


def test_a_lora_of_another_family_leaves_its_tower_too() -> None:
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**sizes, image_size=8, num_hidden_layers=1, patch_size=4),
        text_config=LlamaConfig(**sizes, vocab_size=64, num_hidden_layers=1),
    )
    causal_lm = AutoModelForImageTextToText.from_config(config)
    inject_adapter_in_model(peft_config(LoraSettings(2, 2.0, ("q_proj",)), causal_lm), causal_lm, "default")
    adapted = [name for name, _ in causal_lm.named_parameters() if "lora_" in name]
    assert adapted
    assert all("language_model" in name for name in adapted)


def test_images_with_equal_placeholders_are_not_shared(tmp_path: Path) -> None:
    model = a_model(tmp_path)
    prompt = a_prompt(an_image(1), [5, 6])
    data = [a_datum_of(prompt, [50, 51], [an_image(seed)]) for seed in (1, 2, 1)]
    found = model.forward(Batch(data), use_reference=False, progress=no_progress).logprobs
    np.testing.assert_array_equal(found[0], found[2])
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_a_lora_leaves_the_vision_tower_as_it_is(tmp_path: Path) -> None:
    model = a_model(tmp_path, lora=LoraSettings(rank=2, alpha=4.0))
    assert model.weights
    assert not any(".visual." in name for name in model.weights)
    model.forward_backward(a_batch_with_images(), a_loss("cross_entropy"), no_progress)
    assert any(weight.grad is not None and weight.grad.abs().max() > 0 for weight in model.weights.values())


@pytest.mark.parametrize("lora", [None, LoraSettings(rank=2, alpha=4.0)])
def test_an_exported_model_reads_images_again(tmp_path: Path, lora: LoraSettings | None) -> None:
    model, batch = a_model(tmp_path, lora=lora), a_batch_with_images()
    model.forward_backward(batch, a_loss("cross_entropy"), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.02))
    model.export_weights("", "safetensors", tmp_path / "exported")
    again = a_model(tmp_path / "again", str(tmp_path / "exported"))
    found = [each.forward(batch, use_reference=False, progress=no_progress).logprobs for each in (model, again)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("images", "problem"),
    [
        ([an_image(1), an_image(2)], "Image 1 has 4 tokens"),
        ([an_image(1, width=64, height=64)], "Image 0 has 64 tokens"),
        ([Image.of(b"no image")], "The image of 8 bytes cannot be read"),
        ([an_image(1, width=8000, height=5001)], "it has 8000 x 5001 pixels, more than 40000000"),
    ],
)
def test_images_that_do_not_fit_are_refused(tmp_path: Path, images: list[Image], problem: str) -> None:
    datum = a_datum_of(a_prompt(an_image(1), [5]), [6], images)
    with pytest.raises(EngineError, match=problem) as caught:
        a_model(tmp_path).forward(Batch([datum]), use_reference=False, progress=no_progress)
    assert caught.value.reason == EngineErrorReason.INVALID
    assert (caught.value.field, caught.value.datum_index) == ("images", 0)


def test_a_model_of_texts_refuses_images(tmp_path: Path) -> None:
    datum = a_datum_of([1, 2], [3], [an_image(1)])
    with pytest.raises(EngineError, match="reads text only"):
        a_model(tmp_path, "random:llama-tiny").forward(Batch([datum]), use_reference=False, progress=no_progress)


def test_positions_are_those_of_transformers() -> None:
    loaded = load_random_model(VISION_SOURCE)
    assert loaded.images is not None
    images = [an_image(1, width=32, height=16), an_image(2), an_image(3, width=16, height=40)]
    tokens = a_prompt([1, 2, 3], images[0], images[1], [4], images[2], [5, 6])
    prepared = [loaded.images.prepare(image) for image in images]
    placed = place_images(tokens, PART, prepared)
    ids = torch.tensor([tokens])
    causal_lm: Any = loaded.causal_lm
    expected, offset = causal_lm.model.get_rope_index(
        ids, (ids == PART).int(), image_grid_thw=torch.tensor([each.grid for each in prepared])
    )
    np.testing.assert_array_equal(spatial_positions(len(tokens), placed), expected[:, 0].numpy())
    assert position_offset(placed) == int(offset)


def test_a_placeholder_that_the_model_wrote_is_no_image(tmp_path: Path) -> None:
    image = an_image(1)
    prompt = [PART, 9, *a_prompt(image, [5])]
    found = a_model(tmp_path).forward(
        Batch([a_datum_of(prompt, [PART, 6], [image])]), use_reference=False, progress=no_progress
    )
    assert np.isfinite(found.logprobs[0]).all()


def test_images_after_the_last_trained_token_are_not_computed(tmp_path: Path) -> None:
    first, later = an_image(1), an_image(2)
    short = a_datum_of(a_prompt(first, [5]), [6, 7], [first])
    tokens = np.concatenate([short.token_ids, np.array(a_prompt([8], later, [9]), dtype=np.int32)])
    batch = Batch([short, replace(short, token_ids=tokens, images=[first, later])])
    found = a_model(tmp_path).forward(batch, use_reference=False, progress=no_progress).logprobs
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6)
