"""The interface between an engine that trains and whatever serves its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch
    from torch import nn
    from transformers import PreTrainedTokenizerBase

    from agentlightning_runtime.engine.results import Endpoint, InferenceState, PauseMode


@dataclass(frozen=True)
class ServedModel:
    """A model as it is to be served.

    Attributes:
        model_id: What clients send as `model`.
        causal_lm: The model that is trained, with its adapters; without a value head.
        tokenizer: None serves token ids only: the model then has no chat and no texts.
        output_size: How many of the vocabulary's first ids may be sampled; None: all.
        compute_dtype: what the trainer makes products in while the weights stay in float32; None: in their own type.
        max_context: Most tokens of prompt and response together; None: as many as the model has positions.
        lora_rank: of the adapters in it; 0: all weights are trained.
        base_source: the Hugging Face id or folder that its base is from; empty: none that others could load.
        export: writes the weights as they are into an empty folder, as PEFT (with LoRA) or Transformers read them; a
            server in another process needs it.
    """

    model_id: str
    causal_lm: nn.Module
    tokenizer: PreTrainedTokenizerBase | None
    output_size: int | None = None
    compute_dtype: torch.dtype | None = None
    max_context: int | None = None
    lora_rank: int = 0
    base_source: str = ""
    export: Callable[[Path], None] | None = None


class InferenceBackend(Protocol):
    """Serves models over OpenAI's API. All methods may be called from any thread, and may block."""

    def serve(self, model: ServedModel, version: int) -> None:
        """Serves the model as it is now, as this policy version. By the thread that trains it."""
        ...

    def publish(self, model: ServedModel, version: int) -> None:
        """Serves the model as it is now from the next request on. By the thread that trains it."""
        ...

    def endpoint(self, model_id: str) -> Endpoint:
        """Where the model is served, and which version."""
        ...

    def pause(self, model_id: str, mode: PauseMode) -> InferenceState:
        """Answers new requests 503; returns when those in flight have finished, or have ended with an error."""
        ...

    def resume(self, model_id: str) -> InferenceState:
        """Answers requests again."""
        ...

    def remove(self, model_id: str) -> None:
        """Serves the model no longer; those in flight end with an error."""
        ...

    def close(self) -> None:
        """Ends everything in flight, and the endpoint."""
        ...
