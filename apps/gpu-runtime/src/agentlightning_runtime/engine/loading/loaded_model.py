"""A base model in memory, with its tokenizer."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from torch import nn

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from agentlightning_runtime.contract.images import ImageReader


@dataclass(frozen=True)
class LoadedModel:
    """Weights and tokenizer of a base model.

    Attributes:
        causal_lm: Never trained; LoRAs share its weights.
        tokenizer: None when the source has no tokenizer.
        output_size: Number of leading token ids that can be generated; the rest are input only.
        images: Reads images; None for a model that reads text only.
    """

    causal_lm: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    output_size: int
    images: ImageReader | None = None

    def frozen_twin(self) -> PreTrainedModel:
        """A model with separate modules over the same weights, which are in memory once."""
        return copy.deepcopy(self.causal_lm, shared_objects(self.causal_lm))


def shared_objects(module: nn.Module, *, frozen_only: bool = False) -> dict[int, object]:
    """The memo of `copy.deepcopy` for a copy that shares weights with the module.

    Args:
        module: The module to copy.
        frozen_only: Shares frozen weights only; otherwise all weights and buffers.
    """
    weights = [weight for weight in module.parameters() if not (frozen_only and weight.requires_grad)]
    # Of quantised weights also the scales.
    scales = [getattr(weight, "quant_state") for weight in weights if hasattr(weight, "quant_state")]  # noqa: B009
    buffers = [] if frozen_only else list(module.buffers())
    return {id(each): each for each in (*weights, *scales, *buffers)}


def output_head(causal_lm: PreTrainedModel) -> nn.Linear:
    """The layer that computes logits from hidden states.

    Raises:
        EngineError: INVALID when the model has none.
    """
    head = causal_lm.get_output_embeddings()
    if head is None:
        message = f"{type(causal_lm).__name__} has no output embeddings, so it is not a language model"
        raise EngineError(EngineErrorReason.INVALID, message)
    return cast("nn.Linear", head)


def towers(causal_lm: PreTrainedModel) -> list[str]:
    """Names of the modules with layers beside the decoder, such as a vision tower."""
    decoder = causal_lm.get_decoder()
    above, _, own = next(name for name, each in causal_lm.named_modules() if each is decoder).rpartition(".")
    prefix = f"{above}." if above else ""
    return [
        prefix + name
        for name, module in causal_lm.get_submodule(above).named_children()
        if name != own
        and not isinstance(module, nn.Linear)
        and any(isinstance(each, nn.Linear) for each in module.modules())
    ]
