"""Small models with random weights, for tests and trials: no download, deterministic weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.loading.byte_tokenizer import CHATML_TEMPLATE, CHATML_TOKENS, byte_tokenizer
from agentlightning_runtime.engine.loading.loaded_model import LoadedModel

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

#: Prefix of sources of this kind.
RANDOM_PREFIX = "random:"

_SEED = 20_260_101

_SHAPE: dict[str, Any] = {
    "vocab_size": 260,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    # Deliberately large: it improves the exploration of small models.
    "initializer_range": 0.08,
    "bos_token_id": 256,
    "eos_token_id": 258,
    "pad_token_id": 258,
}


def _config_of(source: str) -> PreTrainedConfig:
    name = source.removeprefix(RANDOM_PREFIX)
    if name == "llama-tiny":
        return LlamaConfig(**_SHAPE)
    if name == "llama-untied":
        untied: dict[str, Any] = {**_SHAPE, "tie_word_embeddings": False}
        return LlamaConfig(**untied)
    if name == "qwen2-tiny":
        return Qwen2Config(**_SHAPE)
    raise EngineError(
        EngineErrorReason.INVALID,
        f'Unknown random model "{name}"',
        remedy="Use random:llama-tiny, random:llama-untied or random:qwen2-tiny",
    )


def load_random_model(source: str) -> LoadedModel:
    """The model of a source such as `random:llama-tiny`, with a byte tokenizer and the ChatML template.

    Raises:
        EngineError: INVALID when the name is unknown.
    """
    config = _config_of(source)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        causal_lm = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    tokenizer = byte_tokenizer(CHATML_TOKENS, end="<|im_end|>", chat_template=CHATML_TEMPLATE)
    return LoadedModel(causal_lm, tokenizer, output_size=_SHAPE["vocab_size"])
