"""Exports weights in formats that Transformers, PEFT and vLLM load."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from safetensors.torch import save_file

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.experimental.four_bit_base import dequantised
from agentlightning_runtime.engine.models.lora import ADAPTER_NAME, peft_config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

    from agentlightning_runtime.contract.results import ExportFormat
    from agentlightning_runtime.contract.settings import LoraSettings
    from agentlightning_runtime.engine.loading.loaded_model import LoadedModel

#: Prefix of the causal model in the names of trained weights.
_PREFIX = "causal_lm."


def export_weights(
    loaded: LoadedModel,
    weights: Mapping[str, Tensor],
    lora: LoraSettings | None,
    *,
    export_format: ExportFormat,
    base_source: str,
    directory: Path,
) -> None:
    """Writes a model's weights into an empty folder.

    Args:
        loaded: The base model; its outline when all weights were trained.
        weights: Trained weights by their names in the network; the value head is omitted.
        lora: LoRA of the model; None: all weights were trained.
        export_format: `peft` writes the LoRA alone, `safetensors` a whole model with the LoRA merged.
        base_source: Source of the base model, recorded for PEFT.
        directory: An empty folder.

    Raises:
        EngineError: INVALID when `peft` is requested for a model without LoRA.
    """
    own = {name.removeprefix(_PREFIX): tensor for name, tensor in weights.items() if name.startswith(_PREFIX)}
    if export_format == "peft":
        if lora is None:
            message = "The model has no LoRA: all of its weights are trained"
            remedy = "Export it as safetensors"
            raise EngineError(EngineErrorReason.INVALID, message, field="format", remedy=remedy)
        peft_config(lora, loaded.causal_lm, base_source).save_pretrained(str(directory))
        adapter = {_peft_name(name): tensor.cpu().contiguous() for name, tensor in own.items()}
        save_file(adapter, directory / "adapter_model.safetensors", metadata={"format": "pt"})
    else:
        merged = own if lora is None else _merged(loaded, own, lora)
        _write_model(loaded, merged, directory)
    if loaded.tokenizer is not None:
        loaded.tokenizer.save_pretrained(str(directory))


def export_base(loaded: LoadedModel, directory: Path) -> None:
    """Writes a base model into an empty folder.

    Args:
        loaded: The base model.
        directory: An empty folder.
    """
    _write_model(loaded, _base_weights(loaded), directory)
    if loaded.tokenizer is not None:
        loaded.tokenizer.save_pretrained(str(directory))


def _peft_name(name: str) -> str:
    return "base_model.model." + name.replace(f".{ADAPTER_NAME}.", ".")


def _base_weights(loaded: LoadedModel) -> dict[str, Tensor]:
    return {name: dequantised(weight) for name, weight in loaded.causal_lm.named_parameters()}


def _merged(loaded: LoadedModel, weights: Mapping[str, Tensor], lora: LoraSettings) -> dict[str, Tensor]:
    """The base's weights plus scale times B A where there is an adapter (Hu et al. 2021, equation 3)."""
    scale = lora.alpha / lora.rank
    merged = _base_weights(loaded)
    for name, first in weights.items():
        layer, found, _ = name.partition(f".lora_A.{ADAPTER_NAME}.")
        if not found:
            continue
        second = weights[f"{layer}.lora_B.{ADAPTER_NAME}.weight"]
        base = merged[f"{layer}.weight"]
        change = scale * (second.to(base.device).float() @ first.to(base.device).float())
        merged[f"{layer}.weight"] = (base.float() + change).to(base.dtype)
    return merged


def _write_model(loaded: LoadedModel, weights: Mapping[str, Tensor], directory: Path) -> None:
    dtype = loaded.causal_lm.dtype
    state = {name: tensor.detach().to(dtype).cpu().contiguous() for name, tensor in weights.items()}
    state |= {
        name: buffer.cpu().contiguous()
        for name, buffer in loaded.causal_lm.named_buffers()
        if name in loaded.causal_lm.state_dict()
    }
    config = copy.deepcopy(loaded.causal_lm.config)
    config.architectures = [type(loaded.causal_lm).__name__]
    config.dtype = str(dtype).removeprefix("torch.")
    config.save_pretrained(str(directory))
    save_file(state, directory / "model.safetensors", metadata={"format": "pt"})
    loaded.causal_lm.generation_config.save_pretrained(str(directory))
    if loaded.images is not None:
        loaded.images.save(directory)
