"""Base models: resolved by name, loaded on first use, in memory once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from agentlightning_runtime.engine.embedded_checkpoint import is_embedded_checkpoint, load_embedded_checkpoint
from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.models.loaded_model import LoadedModel, output_head
from agentlightning_runtime.engine.models.random_model import RANDOM_PREFIX, load_random_model
from agentlightning_runtime.engine.settings import BaseModelInfo

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

#: Largest rank of a LoRA; beyond it training all weights is the better choice.
MAX_LORA_RANK = 512


@dataclass
class BaseModel:
    """A base model.

    Attributes:
        name: Name that clients use.
        source: A Hugging Face id, a folder, a GGUF file, a checkpoint of the embedded runtime, or `random:llama-tiny`.
        dtype: Data type of the frozen weights.
    """

    name: str
    source: str
    device: torch.device
    dtype: torch.dtype
    _loaded: LoadedModel | None = field(default=None, repr=False)
    _info: BaseModelInfo | None = field(default=None, repr=False)

    def load(self) -> LoadedModel:
        """The weights on the device; loaded on first use.

        Raises:
            EngineError: INVALID when the source cannot be loaded.
        """
        if self._loaded is None:
            loaded = _load(self.source, self.dtype)
            nn.Module.to(loaded.causal_lm, device=self.device, dtype=self.dtype)
            loaded.causal_lm.requires_grad_(requires_grad=False)
            loaded.causal_lm.eval()
            self._loaded = loaded
        return self._loaded

    def info(self) -> BaseModelInfo:
        """The model as reported in the capabilities."""
        if self._info is None:
            self._info = self._describe()
        return self._info

    def _describe(self) -> BaseModelInfo:
        loaded = self.load()
        config = loaded.causal_lm.config
        return BaseModelInfo(
            name=self.name,
            max_context=int(getattr(config, "max_position_embeddings", 0) or 2**20),
            vocab_size=int(config.vocab_size),
            tokenizer_sha256=_tokenizer_hash(loaded.tokenizer),
            chat_template_sha256=_template_hash(loaded.tokenizer),
            max_lora_rank=MAX_LORA_RANK,
            parameter_count=sum(weight.numel() for weight in loaded.causal_lm.parameters()),
            lora_target_modules=lora_target_modules(loaded.causal_lm),
        )


def lora_target_modules(causal_lm: PreTrainedModel) -> tuple[str, ...]:
    """Names of the linear layers that support LoRA: all except the head."""
    head = output_head(causal_lm)
    names = {
        name.rsplit(".", 1)[-1]
        for name, module in causal_lm.named_modules()
        if isinstance(module, nn.Linear) and module is not head
    }
    return tuple(sorted(names))


def _load(source: str, dtype: torch.dtype) -> LoadedModel:
    if source.startswith(RANDOM_PREFIX):
        return load_random_model(source)
    path = Path(source)
    if is_embedded_checkpoint(path):
        return load_embedded_checkpoint(path)
    try:
        if path.suffix == ".gguf":
            return _load_pretrained(str(path.parent), dtype, gguf_file=path.name)
        return _load_pretrained(source, dtype)
    except (OSError, ValueError, ImportError) as error:
        raise EngineError(
            EngineErrorReason.INVALID,
            f'Model "{source}" cannot be loaded: {error}',
            remedy="Pass a Hugging Face id, a folder with config.json and safetensors, or a .gguf file",
        ) from error


def _load_pretrained(location: str, dtype: torch.dtype, **gguf: Any) -> LoadedModel:
    weights: dict[str, Any] = gguf or {"use_safetensors": True}
    causal_lm = AutoModelForCausalLM.from_pretrained(
        location, dtype=dtype, config=AutoConfig.from_pretrained(location, **gguf), **weights
    )
    if gguf:
        causal_lm = _without_quantisation(causal_lm, dtype)
    try:
        tokenizer = AutoTokenizer.from_pretrained(location, **gguf)
    except (OSError, ValueError):
        tokenizer = None
    return LoadedModel(causal_lm, tokenizer, output_size=int(causal_lm.config.vocab_size))


def _without_quantisation(causal_lm: PreTrainedModel, dtype: torch.dtype) -> PreTrainedModel:
    """The same weights in a model without quantisation settings.

    A model from a GGUF file has plain weights but is still flagged as quantised: it rejects casts, and its saved
    weights could not be loaded.
    """
    config = causal_lm.config
    config.__dict__.pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(config, dtype=dtype)
    plain.load_state_dict(causal_lm.state_dict())
    plain.generation_config = causal_lm.generation_config
    return plain


def _tokenizer_hash(tokenizer: PreTrainedTokenizerBase | None) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return "" if backend is None else hashlib.sha256(backend.to_str().encode()).hexdigest()


def _template_hash(tokenizer: PreTrainedTokenizerBase | None) -> str:
    template = getattr(tokenizer, "chat_template", None)
    return hashlib.sha256(template.encode()).hexdigest() if isinstance(template, str) else ""
