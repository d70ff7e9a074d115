"""A base model in memory, with its tokenizer."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class LoadedModel:
    """Weights and tokenizer of a base model.

    Attributes:
        causal_lm: Never trained; LoRAs share its weights.
        tokenizer: None when the source has no tokenizer.
        output_size: Number of leading token ids that can be generated; the rest are input only.
    """

    causal_lm: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    output_size: int

    def frozen_twin(self) -> PreTrainedModel:
        """A model with separate modules over the same weights, which are in memory once."""
        shared: dict[int, object] = {id(weight): weight for weight in self.causal_lm.parameters()}
        shared |= {id(buffer): buffer for buffer in self.causal_lm.buffers()}
        return copy.deepcopy(self.causal_lm, shared)


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
