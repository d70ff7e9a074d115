"""Model properties that the sampler depends on."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from agentlightning_runtime.inference.http.api_error import ApiError

_CACHED_LAYERS = frozenset({"full_attention", "sliding_attention", "chunked_attention", "attention"})


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a causal model.

    Attributes:
        layer_count: number of layers with keys and values.
        max_context: maximum tokens of prompt and response.
        vocab_size: number of token ids.
        output_size: number of leading token ids that can be sampled; the others are input only.
    """

    layer_count: int
    max_context: int
    vocab_size: int
    output_size: int


def shape_of(module: nn.Module, max_context: int | None = None) -> ModelShape:
    """Reads the sizes from a model's configuration.

    Args:
        module: a causal language model of Transformers, with or without PEFT's adapters.
        max_context: a lower limit than the model's own.

    Raises:
        ApiError: when the model keeps state other than keys and values between tokens.
    """
    config = getattr(module, "config", None)
    text = config.get_text_config() if config is not None and hasattr(config, "get_text_config") else config
    if text is None:
        message = f"The model {type(module).__name__} has no configuration"
        raise ApiError(400, "CONFIG", message, "Load it with AutoModelForCausalLM.")
    kinds = set(getattr(text, "layer_types", None) or ["full_attention"])
    unknown = sorted(kinds - _CACHED_LAYERS)
    if unknown:
        message = f"The model has layers of the kind {', '.join(unknown)}, which the built-in sampler cannot continue"
        raise ApiError(400, "CONFIG", message, "Install vLLM to serve it, or use a model with attention layers only.")
    own = int(getattr(text, "max_position_embeddings", 0) or max_context or 4096)
    vocab_size = int(text.vocab_size)
    return ModelShape(int(text.num_hidden_layers), min(own, max_context or own), vocab_size, vocab_size)


def end_tokens_of(module: nn.Module) -> tuple[int, ...]:
    """The end tokens of the model's generation settings."""
    ends: list[int] = []
    for settings in (getattr(module, "generation_config", None), getattr(module, "config", None)):
        value = getattr(settings, "eos_token_id", None)
        ends.extend(value if isinstance(value, list) else [value] if isinstance(value, int) else [])
    return tuple(dict.fromkeys(ends))
