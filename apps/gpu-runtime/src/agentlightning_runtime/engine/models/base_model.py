"""Base models: resolved by name, in memory only while needed, and then once."""

from __future__ import annotations

import copy
import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers import AutoConfig, AutoTokenizer, GenerationConfig

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import BaseModelInfo
from agentlightning_runtime.engine.experimental.four_bit_base import load_four_bit
from agentlightning_runtime.engine.loading.embedded_checkpoint import is_embedded_checkpoint, load_embedded_checkpoint
from agentlightning_runtime.engine.loading.empty_model import empty_model, fill
from agentlightning_runtime.engine.loading.loaded_model import LoadedModel, output_head
from agentlightning_runtime.engine.loading.model_class import model_class
from agentlightning_runtime.engine.loading.model_license import model_license
from agentlightning_runtime.engine.loading.random_model import RANDOM_PREFIX, load_random_model
from agentlightning_runtime.engine.loading.weight_files import (
    LoadedWeights,
    WeightFiles,
    WeightSource,
    find_weight_files,
    has_conversions,
)
from agentlightning_runtime.engine.vision.image_reader import image_reader

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


#: Largest rank of a LoRA; beyond it training all weights is the better choice.
MAX_LORA_RANK = 512


@dataclass
class BaseModel:
    """A base model.

    Its outline has everything except the weights. A network with all weights trained is filled from the files, without
    the base in memory; a LoRA and a reference need the base itself, loaded on first use.

    Attributes:
        name: Name that clients use.
        source: A Hugging Face id, a folder, a GGUF file, a checkpoint of the embedded runtime, or `random:llama-tiny`.
        dtype: Data type of the frozen weights.
        load_in_4bit: Whether the linear layers of the base are quantised.
    """

    name: str
    source: str
    device: torch.device
    dtype: torch.dtype
    load_in_4bit: bool = False
    _loaded: LoadedModel | None = field(default=None, repr=False)
    _outline: LoadedModel | None = field(default=None, repr=False)
    _files: WeightFiles | None = field(default=None, repr=False)
    _on_host: LoadedModel | None = field(default=None, repr=False)
    _info: BaseModelInfo | None = field(default=None, repr=False)

    def load(self) -> LoadedModel:
        """The weights on the device; loaded on first use.

        Raises:
            EngineError: INVALID when the source cannot be loaded.
        """
        if self._loaded is None and self.load_in_4bit:
            outline = self.outline()
            with self._weights() as weights:
                causal_lm = load_four_bit(outline.causal_lm, weights, self.device, self.dtype)
            self._on_host = None
            self._loaded = replace(outline, causal_lm=causal_lm)
        elif self._loaded is None:
            loaded, self._on_host = self._on_host or _load(self.source, self.dtype), None
            # Buffers keep their data type: rotary frequencies in bfloat16 are wrong by radians at long distances.
            for weight in loaded.causal_lm.parameters():
                weight.data = weight.data.to(self.device, self.dtype)
            nn.Module.to(loaded.causal_lm, device=self.device)
            loaded.causal_lm.requires_grad_(requires_grad=False)
            loaded.causal_lm.eval()
            self._loaded = loaded
        return self._loaded

    def outline(self) -> LoadedModel:
        """The model with parameters on the meta device, and buffers with their values on the CPU.

        Raises:
            EngineError: INVALID when the source cannot be loaded.
        """
        if self._outline is None:
            self._outline = self._outline_of_files() or self._outline_of_host()
        return self._outline

    def fill(self, weights: Mapping[str, Tensor]) -> None:
        """Copies values into allocated weights of a copy of the outline, of sharded ones this rank's shard."""
        self.outline()
        with self._weights() as source:
            fill(weights, source, self.dtype)

    def load_on_host(self) -> LoadedModel:
        """The whole weights in host memory, for one use.

        Raises:
            EngineError: INVALID when the source cannot be loaded.
        """
        return replace(self, device=torch.device("cpu"), _loaded=None, _on_host=None).load()

    @contextmanager
    def _weights(self) -> Generator[WeightSource]:
        """The weights by the names in the outline."""
        if self._files is None:
            loaded = None if self.load_in_4bit else self._loaded
            yield LoadedWeights((loaded or self._on_host or _load(self.source, self.dtype)).causal_lm)
        else:
            with self._files:
                yield self._files

    def _outline_of_files(self) -> LoadedModel | None:
        """None when the weights cannot be read from safetensors files under the names that the model has."""
        if not self.is_portable:
            return None
        with _load_errors(self.source):
            causal_lm = empty_model(AutoConfig.from_pretrained(self.source), self.dtype)
            if has_conversions(causal_lm):
                return None
            files = find_weight_files(self.source)
            if files is None:
                return None
            with files:
                buffers = {name: each for name, each in causal_lm.named_buffers() if name in causal_lm.state_dict()}
                if not files.has({**dict(causal_lm.named_parameters()), **buffers}):
                    return None
                for name, buffer in buffers.items():
                    buffer.copy_(files.rows(name, slice(None)))
            if causal_lm.can_generate():
                causal_lm.generation_config = _generation_config(self.source) or causal_lm.generation_config
            self._files = files
            return _with_tokenizer(causal_lm, self.source)

    def _outline_of_host(self) -> LoadedModel:
        """The outline of a model that can only be loaded whole; it stays in host memory until it is needed."""
        host = self._loaded or _load(self.source, self.dtype)
        if self._loaded is None:
            self._on_host = host
        causal_lm = empty_model(copy.deepcopy(host.causal_lm.config), self.dtype)
        buffers = dict(host.causal_lm.named_buffers())
        for name, buffer in causal_lm.named_buffers():
            buffer.copy_(buffers[name])
        causal_lm.generation_config = host.causal_lm.generation_config
        return replace(host, causal_lm=causal_lm)

    @property
    def is_portable(self) -> bool:
        """Whether other programs can load the source."""
        path = Path(self.source)
        return not (self.source.startswith(RANDOM_PREFIX) or path.suffix == ".gguf" or is_embedded_checkpoint(path))

    def info(self) -> BaseModelInfo:
        """The model as reported in the capabilities."""
        if self._info is None:
            self._info = self._describe()
        return self._info

    def _describe(self) -> BaseModelInfo:
        loaded = self.outline()
        config = loaded.causal_lm.config.get_text_config()
        return BaseModelInfo(
            name=self.name,
            max_context=int(getattr(config, "max_position_embeddings", 0) or 2**20),
            vocab_size=int(config.vocab_size),
            tokenizer_sha256=_tokenizer_hash(loaded.tokenizer),
            chat_template_sha256=_template_hash(loaded.tokenizer),
            max_lora_rank=MAX_LORA_RANK,
            parameter_count=sum(weight.numel() for weight in loaded.causal_lm.parameters()),
            lora_target_modules=lora_target_modules(loaded.causal_lm),
            reads_images=loaded.images is not None,
            license="" if self.source.startswith(RANDOM_PREFIX) else model_license(self.source),
        )


def lora_target_modules(causal_lm: PreTrainedModel) -> tuple[str, ...]:
    """Names of the linear layers that support LoRA: all except the head, and those of a vision tower."""
    head = output_head(causal_lm)
    names = {
        name.rsplit(".", 1)[-1]
        for name, module in causal_lm.get_decoder().named_modules()
        if isinstance(module, nn.Linear) and module is not head
    }
    return tuple(sorted(names))


def _load(source: str, dtype: torch.dtype) -> LoadedModel:
    if source.startswith(RANDOM_PREFIX):
        return load_random_model(source)
    path = Path(source)
    if is_embedded_checkpoint(path):
        return load_embedded_checkpoint(path)
    with _load_errors(source):
        if path.suffix == ".gguf":
            return _load_pretrained(str(path.parent), dtype, gguf_file=path.name)
        return _load_pretrained(source, dtype)


@contextmanager
def _load_errors(source: str) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError, ImportError) as error:
        raise EngineError(
            EngineErrorReason.INVALID,
            f'Model "{source}" cannot be loaded: {error}',
            remedy="Pass a Hugging Face id, a folder with config.json and safetensors, or a .gguf file",
        ) from error


def _load_pretrained(location: str, dtype: torch.dtype, **gguf: Any) -> LoadedModel:
    weights: dict[str, Any] = gguf or {"use_safetensors": True}
    config = AutoConfig.from_pretrained(location, **gguf)
    causal_lm = model_class(config).from_pretrained(location, dtype=dtype, config=config, **weights)
    if gguf:
        causal_lm = _without_quantisation(causal_lm, dtype)
    return _with_tokenizer(causal_lm, location, **gguf)


def _with_tokenizer(causal_lm: PreTrainedModel, location: str, **gguf: Any) -> LoadedModel:
    output_size = int(causal_lm.config.get_text_config().vocab_size)
    return LoadedModel(causal_lm, _tokenizer(location, **gguf), output_size, image_reader(causal_lm, location))


def _tokenizer(location: str, **gguf: Any) -> PreTrainedTokenizerBase | None:
    try:
        return AutoTokenizer.from_pretrained(location, **gguf)
    except (OSError, ValueError):
        return None


def _generation_config(location: str) -> GenerationConfig | None:
    try:
        return GenerationConfig.from_pretrained(location)
    except OSError:
        return None


def _without_quantisation(causal_lm: PreTrainedModel, dtype: torch.dtype) -> PreTrainedModel:
    """The same weights in a model without quantisation settings.

    A model from a GGUF file has plain weights but is still flagged as quantised: it rejects casts, and its saved
    weights could not be loaded.
    """
    config = causal_lm.config
    config.__dict__.pop("quantization_config", None)
    plain: PreTrainedModel = model_class(config).from_config(config, dtype=dtype)
    plain.load_state_dict(causal_lm.state_dict())
    plain.generation_config = causal_lm.generation_config
    return plain


def _tokenizer_hash(tokenizer: PreTrainedTokenizerBase | None) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return "" if backend is None else hashlib.sha256(backend.to_str().encode()).hexdigest()


def _template_hash(tokenizer: PreTrainedTokenizerBase | None) -> str:
    template = getattr(tokenizer, "chat_template", None)
    return hashlib.sha256(template.encode()).hexdigest() if isinstance(template, str) else ""
