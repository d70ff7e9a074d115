"""The class of Transformers that loads a model, by its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


def model_class(config: PreTrainedConfig) -> Any:
    """The class for language models; for those that also read images, that with the vision tower."""
    return AutoModelForCausalLM if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING else AutoModelForImageTextToText
