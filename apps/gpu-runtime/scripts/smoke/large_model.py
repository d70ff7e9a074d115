"""A model of a given shape with random weights, for throughput and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from transformers import AutoModelForCausalLM, Qwen3Config
from transformers.utils.logging import disable_progress_bar

from agentlightning_runtime.engine.models.random_model import load_random_model

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class LargeShape:
    """Shape of a Qwen3 model; by default that of Qwen3-8B (its `config.json`)."""

    layers: int = 36
    width: int = 4096
    heads: int = 32
    key_value_heads: int = 8
    inner: int = 12_288
    vocabulary: int = 151_936


def write_model(folder: Path, shape: LargeShape) -> Path:
    """Writes a model in bfloat16 with random weights and a byte tokenizer, unless the folder has it already."""
    marker = folder / "complete"
    if marker.exists():
        return folder
    config = Qwen3Config(
        num_hidden_layers=shape.layers,
        hidden_size=shape.width,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        head_dim=shape.width // shape.heads,
        intermediate_size=shape.inner,
        vocab_size=shape.vocabulary,
        max_position_embeddings=40_960,
        tie_word_embeddings=False,
    )
    disable_progress_bar()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    del model
    if device == "cuda":
        torch.cuda.empty_cache()
    tokenizer = load_random_model("random:llama-tiny").tokenizer
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    marker.touch()
    return folder
