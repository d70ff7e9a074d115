"""The interface between a training engine and the backend that serves its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import torch
    from torch import Tensor, nn
    from transformers import PreTrainedTokenizerBase

    from agentlightning_runtime.contract.images import ImageReader
    from agentlightning_runtime.contract.results import Endpoint, InferenceState, PauseMode


@dataclass(frozen=True, slots=True)
class TensorOutline:
    """A tensor of a checkpoint without its values. Tools that read it expect these names."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True)
class WeightStream:
    """The weights of a fully trained model one after another, for a backend that takes them from memory.

    Attributes:
        outline: the tensors of the file that `ServedModel.export` writes, in the order of `read`.
        read: reads their current values on the trainer's device, by name. A sharded tensor is gathered when it is its
            turn. Called only within `serve` and `publish`; a reader may stop early.
        device: the trainer's device.
        is_sharded: whether several processes train the model.
    """

    outline: Sequence[TensorOutline]
    read: Callable[[], Iterator[tuple[str, Tensor]]]
    device: torch.device
    is_sharded: bool = False


@dataclass(frozen=True)
class ServedModel:
    """A model to serve.

    Attributes:
        model_id: What clients send as `model`.
        module: The trained model with its adapters, without a value head, for backends that sample from it in this
            process. Of sharded weights it makes a whole copy. Called only within `serve` and `publish`.
        tokenizer: None: token ids only, without chat and texts.
        output_size: Number of leading token ids that can be sampled; None: all.
        images: Reads the images of prompts; None for a model that reads text only.
        compute_dtype: data type of the trainer's matrix products; None: that of the weights.
        max_context: Maximum tokens of prompt and response; None: the model's positions.
        lora_rank: rank of its adapters; 0: all weights are trained.
        dtype: data type of the base's weights, such as `bfloat16`; empty: unknown.
        base_source: the Hugging Face id, folder or file of its base.
        export_base: writes the base into an empty folder in the format of Transformers; None when other programs can
            load `base_source`.
        trained_bytes: memory of gradients and moments, which the trainer allocates with the first step.
        published_bytes: size of a publication.
        export: writes the current weights into an empty folder in the format of PEFT (with LoRA) or Transformers;
            needed by servers in another process.
        stream: reads all weights from memory; None with LoRA.
    """

    model_id: str
    module: Callable[[], nn.Module]
    tokenizer: PreTrainedTokenizerBase | None
    output_size: int | None = None
    images: ImageReader | None = None
    compute_dtype: torch.dtype | None = None
    max_context: int | None = None
    lora_rank: int = 0
    dtype: str = ""
    base_source: str = ""
    export_base: Callable[[Path], None] | None = None
    trained_bytes: int = 0
    published_bytes: int = 0
    export: Callable[[Path], None] | None = None
    stream: WeightStream | None = None


@dataclass(frozen=True, slots=True)
class ProbeResponse:
    """A response to a prompt of token ids. `logprobs` are natural, at temperature 1."""

    prompt: Sequence[int]
    tokens: Sequence[int]
    logprobs: Sequence[float]


class InferenceBackend(Protocol):
    """Serves models over OpenAI's API. All methods may be called from any thread, and may block."""

    def serve(self, model: ServedModel, version: int) -> None:
        """Serves the current weights as this policy version. Called in the training thread."""
        ...

    def publish(self, model: ServedModel, version: int) -> None:
        """Serves the current weights from the next request on. Called in the training thread."""
        ...

    def probe(self, model_id: str, prompts: Sequence[Sequence[int]], max_tokens: int) -> Sequence[ProbeResponse]:
        """Samples a response to each prompt from the served weights, also while the model is paused.

        Each is a separate request. A backend that does not sample returns none.

        Raises:
            EngineError: ENGINE_UNAVAILABLE when sampling fails.
        """
        ...

    def endpoint(self, model_id: str) -> Endpoint:
        """The endpoint and its policy version."""
        ...

    def pause(self, model_id: str, mode: PauseMode) -> InferenceState:
        """Rejects new requests with 503; returns when those in flight have ended."""
        ...

    def resume(self, model_id: str) -> InferenceState:
        """Accepts requests again."""
        ...

    def begin_training(self) -> bool:
        """Called before an operation that computes on the trainer's device; frees its memory when that is shared.

        Returns:
            Whether it needs the memory back that the operation takes.
        """
        ...

    def end_training(self) -> None:
        """Called after the operation."""
        ...

    def remove(self, model_id: str) -> None:
        """Stops serving the model; requests in flight end with an error."""
        ...

    def close(self) -> None:
        """Ends all requests in flight and the endpoint."""
        ...
