"""Models of the embedded runtime (`@agentlightning/runtime-cpu`), whose files hold a Llama with other tensor names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.loading.byte_tokenizer import byte_tokenizer
from agentlightning_runtime.engine.loading.loaded_model import LoadedModel

if TYPE_CHECKING:
    from pathlib import Path

    import torch

_FORMAT = "agentlightning-cpu/1"

#: Names of a block's tensors in a Llama; matrices are output by input in both.
_BLOCK_NAMES = {
    "attention_norm": "input_layernorm",
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "attention_output": "self_attn.o_proj",
    "feed_forward_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}

_NAMED_TOKENS = (
    "<|end|>",
    "<|arg|>",
    *(f"<|tool_{index}|>" for index in range(10)),
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|tool|>",
    "<|tools|>",
)

_CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + (message['content'] or '') }}"
    "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def is_embedded_checkpoint(path: Path) -> bool:
    """Whether a file is a checkpoint of the embedded runtime."""
    if path.suffix != ".safetensors" or not path.is_file():
        return False
    with safe_open(path, framework="pt") as file:
        return (file.metadata() or {}).get("format") == _FORMAT


def load_embedded_checkpoint(path: Path) -> LoadedModel:
    """The model in a checkpoint of the embedded runtime, as a Llama that computes the same numbers."""
    with safe_open(path, framework="pt") as file:
        shape: dict[str, Any] = json.loads(file.metadata()["config"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 -- not a mapping
    if not shape["isTied"] and shape["outputSize"] != shape["vocabularySize"]:
        raise EngineError(
            EngineErrorReason.INVALID,
            f"{path} has an output table of {shape['outputSize']} tokens beside one of {shape['vocabularySize']}",
            remedy="Use a tied model, such as tiny-chat",
        )
    weights = _llama_weights(tensors, shape)
    causal_lm = LlamaForCausalLM.from_pretrained(None, config=_config_of(shape), state_dict=weights)
    tokenizer = byte_tokenizer(_NAMED_TOKENS, end="<|end|>", chat_template=_CHAT_TEMPLATE)
    return LoadedModel(causal_lm, tokenizer, output_size=shape["outputSize"])


def _config_of(shape: dict[str, Any]) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=shape["vocabularySize"],
        hidden_size=shape["width"],
        intermediate_size=shape["hidden"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=shape["heads"],
        max_position_embeddings=shape["maxContext"],
        rms_norm_eps=shape["normEpsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": shape["ropeBase"]},
        tie_word_embeddings=shape["isTied"],
        bos_token_id=None,
        eos_token_id=256,
        pad_token_id=256,
        dtype="float32",
    )


def _llama_weights(tensors: dict[str, torch.Tensor], shape: dict[str, Any]) -> dict[str, torch.Tensor]:
    weights = {
        "model.embed_tokens.weight": tensors["model.embedding"],
        "model.norm.weight": tensors["model.final_norm"],
        "lm_head.weight": tensors["model.embedding" if shape["isTied"] else "model.unembedding"],
    }
    for layer in range(shape["layers"]):
        for theirs, ours in _BLOCK_NAMES.items():
            weights[f"model.layers.{layer}.{ours}.weight"] = tensors[f"model.block_{layer}.{theirs}"]
    return weights
