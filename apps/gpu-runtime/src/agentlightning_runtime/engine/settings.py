"""What an engine is told when it starts and when it makes a model, and what it tells of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the command line says about the engine and where it serves.

    Attributes:
        base_models: What can be trained, name by name: a Hugging Face id, a folder, or a GGUF file.
        checkpoint_directory: Where checkpoints live; they outlive the process.
        device: `auto`, `cpu`, `cuda` or `cuda:1`.
        dtype: `auto` is bfloat16 on a GPU that has it, else float32.
        max_batch_tokens: Most tokens in a batch.
        micro_batch_tokens: Most tokens, padding included, in one pass through the model; None lets the engine choose.
        gradient_checkpointing: Spends time to save memory.
        inference_host: Where the OpenAI-compatible endpoint listens.
        inference_port: 0 takes any free one.
        inference_public_url: What clients are told instead of where it listens, such as `https://gpu.example/v1`.
        inference_api_key: Key that callers of the endpoint must send; empty: none.
        inference_engine: What samples; `auto` is vLLM on a GPU where it is installed, else this package's own sampler.
        vllm_arguments: Further arguments for vLLM's server, such as `--gpu-memory-utilization`, `0.3`.
    """

    base_models: Mapping[str, str]
    checkpoint_directory: Path
    device: str = "auto"
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    max_batch_tokens: int = 1_048_576
    micro_batch_tokens: int | None = None
    gradient_checkpointing: bool = False
    inference_host: str = "127.0.0.1"
    inference_port: int = 0
    inference_public_url: str = ""
    inference_api_key: str = ""
    inference_engine: Literal["auto", "builtin", "vllm"] = "auto"
    vllm_arguments: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BaseModelInfo:
    """A model that can be trained.

    Attributes:
        max_context: Longest sequence, prompt and response together, in tokens.
        tokenizer_sha256: Of the tokenizer's own serialisation, hexadecimal; empty when there is none.
        chat_template_sha256: Of the chat template's text, hexadecimal; empty when there is none.
        max_lora_rank: 0 when it can only be trained in full.
        parameter_count: Number of weights; 0 when it is not told.
        lora_target_modules: Names of the layers LoRA can be at.
    """

    name: str
    max_context: int
    vocab_size: int
    tokenizer_sha256: str = ""
    chat_template_sha256: str = ""
    max_lora_rank: int = 0
    parameter_count: int = 0
    lora_target_modules: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LossInfo:
    """A loss the engine knows: its version in LOSSES.md and every parameter with its default."""

    name: str
    version: int
    defaults: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class EngineCapabilities:
    """What an engine tells of itself; the service adds the limits of the wire.

    Attributes:
        device: `cpu`, `cuda:0 NVIDIA H100`.
        features: Names of the contract's optional features: `lora`, `value_head`, `reference_logprobs`, `export`,
            `export_peft`, `progress`, `pause`.
        dtype: What the weights are computed in: `float32`, `bfloat16`.
        max_models: Most models that may be there at a time; 0: as many as fit.
    """

    device: str
    models: Sequence[BaseModelInfo]
    losses: Sequence[LossInfo]
    max_batch_tokens: int
    features: Sequence[str] = ()
    dtype: str = ""
    max_models: int = 0


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """A low-rank adapter instead of all weights.

    Attributes:
        alpha: Scale of the adapter is alpha / rank.
        target_modules: Names of layers it goes into; empty: every linear layer but the head.
    """

    rank: int
    alpha: float
    target_modules: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Which model is to be made. `lora` None trains all weights."""

    model_id: str
    base_model: str
    seed: int
    lora: LoraSettings | None = None
    has_value_head: bool = False
