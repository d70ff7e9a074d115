"""Small models with random weights, for tests and trials: no download, deterministic weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import LlamaConfig, Qwen2Config, Qwen3VLConfig

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.loading.byte_tokenizer import CHATML_TEMPLATE, CHATML_TOKENS, byte_tokenizer
from agentlightning_runtime.engine.loading.loaded_model import LoadedModel
from agentlightning_runtime.engine.loading.model_class import model_class
from agentlightning_runtime.engine.vision.image_reader import ProcessedImages, assert_pillow

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


_PATCH = 4
_MERGE = 2

#: The named tokens that `_VISION_TEMPLATE` needs.
_VISION_TOKENS = (*CHATML_TOKENS, "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")

#: ChatML with images, as Qwen's models have it.
_VISION_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{{ '<|vision_start|><|image_pad|><|vision_end|>' if part['type'] == 'image' else part['text'] }}"
    "{% endfor %}{% endif %}"
    "{{ '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def _config_of(source: str) -> PreTrainedConfig:
    name = source.removeprefix(RANDOM_PREFIX)
    if name == "llama-tiny":
        return LlamaConfig(**_SHAPE)
    if name == "llama-untied":
        untied: dict[str, Any] = {**_SHAPE, "tie_word_embeddings": False}
        return LlamaConfig(**untied)
    if name == "qwen2-tiny":
        return Qwen2Config(**_SHAPE)
    if name == "qwen3-vl-tiny":
        return _vision_config()
    raise EngineError(
        EngineErrorReason.INVALID,
        f'Unknown random model "{name}"',
        remedy="Use random:llama-tiny, random:llama-untied, random:qwen2-tiny or random:qwen3-vl-tiny",
    )


def load_random_model(source: str) -> LoadedModel:
    """The model of a source such as `random:llama-tiny`, with a byte tokenizer and the ChatML template.

    Raises:
        EngineError: INVALID when the name is unknown.
    """
    config = _config_of(source)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        causal_lm = model_class(config).from_config(config, dtype=torch.float32)
    if isinstance(config, Qwen3VLConfig):
        tokenizer = byte_tokenizer(_VISION_TOKENS, end="<|im_end|>", chat_template=_VISION_TEMPLATE)
        return LoadedModel(causal_lm, tokenizer, len(tokenizer), _image_reader(source, config))
    tokenizer = byte_tokenizer(CHATML_TOKENS, end="<|im_end|>", chat_template=CHATML_TEMPLATE)
    return LoadedModel(causal_lm, tokenizer, output_size=_SHAPE["vocab_size"])


def _vision_config() -> Qwen3VLConfig:
    """Qwen3-VL with images of 8 by 8 pixels a token."""
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 3, 3], "mrope_interleaved": True}
    vocab_size = 256 + len(_VISION_TOKENS)
    return Qwen3VLConfig(
        text_config={**_SHAPE, "vocab_size": vocab_size, "head_dim": 16, "rope_parameters": rope},
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": _PATCH,
            "spatial_merge_size": _MERGE,
            "temporal_patch_size": 1,
            "out_hidden_size": _SHAPE["hidden_size"],
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0, 1],
            "initializer_range": 0.08,
        },
        image_token_id=256 + _VISION_TOKENS.index("<|image_pad|>"),
        video_token_id=256 + _VISION_TOKENS.index("<|video_pad|>"),
        vision_start_token_id=256 + _VISION_TOKENS.index("<|vision_start|>"),
        vision_end_token_id=256 + _VISION_TOKENS.index("<|vision_end|>"),
        tie_word_embeddings=True,
    )


def _image_reader(source: str, config: Qwen3VLConfig) -> ProcessedImages:
    assert_pillow(source)
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    processor = Qwen2VLImageProcessorPil(
        patch_size=_PATCH,
        merge_size=_MERGE,
        temporal_patch_size=1,
        size={"shortest_edge": 8 * 8, "longest_edge": 64 * 64},
    )
    return ProcessedImages(processor, config.image_token_id)
