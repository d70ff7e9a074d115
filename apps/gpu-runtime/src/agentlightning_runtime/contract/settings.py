"""Settings of an engine and of a model, and the capabilities of an engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class SamplerPlacement:
    """Where vLLM samples.

    Attributes:
        gpus: GPUs of vLLM alone, by index; one replica for each `tensor_parallel` of them.
        tensor_parallel: GPUs of a replica.
        is_colocated: One replica on the trainer's GPUs, which sleeps while the trainer computes.
        urls: Running vLLM servers, instead of starting any: their addresses without `/v1`.
        folder: Folder for published weights; that of `urls` has the same path on their machines. None: in memory.
        api_key: Key of the servers at `urls`; empty: none.
        versions: Adapters that a batch of vLLM can have: one more than the staleness of the trainer, for each model.
        in_flight: Whether weights of fully trained models change under running requests, instead of after them.
    """

    gpus: Sequence[int] = ()
    tensor_parallel: int = 1
    is_colocated: bool = False
    urls: Sequence[str] = ()
    folder: Path | None = None
    api_key: str = ""
    versions: int = 4
    in_flight: bool = False


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Engine and endpoint settings of the command line.

    Attributes:
        base_models: Sources of trainable models by name: a Hugging Face id, a folder, or a GGUF file.
        checkpoint_directory: Folder of checkpoints; they outlive the process.
        device: `auto`, `cpu`, `cuda` or `cuda:1`.
        dtype: `auto` is bfloat16 on a GPU that has it, else float32.
        max_batch_tokens: Maximum tokens in a batch.
        micro_batch_tokens: Maximum tokens, padding included, in one pass; None: as many as fit in the GPU memory,
            at most 16,384; 2,048 on a CPU.
        gradient_checkpointing: Trades time for memory.
        load_in_4bit: Bases are quantised (NF4), and only LoRAs are trained.
        shard_base: Bases of LoRAs are sharded over the GPUs, as whole models are; otherwise each GPU has all of it.
        optimizer: `adamw-8bit` quantises the moments.
        packing: Packs sequences end to end; else they are padded in rows, for comparison.
        inference_host: Host of the OpenAI-compatible endpoint.
        inference_port: 0 selects a free port.
        inference_public_url: Public URL reported to clients, such as `https://gpu.example/v1`.
        inference_api_key: Key required by the endpoint; empty: none.
        users: Keys required by the endpoint by the name of the user, instead of one key.
        inference_engine: Sampler; `auto` is vLLM where it has a place, or is installed and the trainer computes on the
            first GPU, which they then share; else this package's own sampler.
        sampler: Place of vLLM.
        vllm_arguments: Further arguments for vLLM's server, such as `--gpu-memory-utilization`, `0.3`.
    """

    base_models: Mapping[str, str]
    checkpoint_directory: Path
    device: str = "auto"
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    max_batch_tokens: int = 1_048_576
    micro_batch_tokens: int | None = None
    gradient_checkpointing: bool = False
    load_in_4bit: bool = False
    shard_base: bool = False
    optimizer: Literal["adamw", "adamw-8bit"] = "adamw"
    packing: bool = True
    inference_host: str = "127.0.0.1"
    inference_port: int = 0
    inference_public_url: str = ""
    inference_api_key: str = ""
    users: Mapping[str, str] = field(default_factory=dict[str, str])
    inference_engine: Literal["auto", "builtin", "vllm"] = "auto"
    sampler: SamplerPlacement = SamplerPlacement()
    vllm_arguments: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BaseModelInfo:
    """A trainable base model.

    Attributes:
        max_context: Longest sequence, prompt and response together, in tokens.
        tokenizer_sha256: Hash of the serialised tokenizer, hexadecimal; empty without one.
        chat_template_sha256: Hash of the chat template, hexadecimal; empty without one.
        max_lora_rank: 0 when LoRA is not supported.
        parameter_count: Number of weights; 0 when unknown.
        lora_target_modules: Names of the layers that support LoRA.
        reads_images: Whether it reads images in prompts.
        license: Licence of the weights in the card of the model, such as `apache-2.0`; empty when unknown.
    """

    name: str
    max_context: int
    vocab_size: int
    tokenizer_sha256: str = ""
    chat_template_sha256: str = ""
    max_lora_rank: int = 0
    parameter_count: int = 0
    lora_target_modules: Sequence[str] = ()
    reads_images: bool = False
    license: str = ""


@dataclass(frozen=True, slots=True)
class LossInfo:
    """A supported loss: its version in LOSSES.md and every parameter with its default."""

    name: str
    version: int
    defaults: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class EngineCapabilities:
    """Capabilities of an engine; the service adds the protocol limits.

    Attributes:
        device: `cpu`, `cuda:0 NVIDIA H100`.
        features: Names of the contract's optional features: `lora`, `value_head`, `reference_logprobs`, `export`,
            `export_peft`, `progress`, `pause`, `initial_checkpoint`, `weight_digest`.
        dtype: Data type of the computation: `float32`, `bfloat16`.
        max_models: Maximum number of loaded models; 0: limited by memory.
        device_count: Number of GPUs that train a model together; 0 on a CPU.
    """

    device: str
    models: Sequence[BaseModelInfo]
    losses: Sequence[LossInfo]
    max_batch_tokens: int
    features: Sequence[str] = ()
    dtype: str = ""
    max_models: int = 0
    device_count: int = 0


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """A low-rank adapter.

    Attributes:
        alpha: The scale of the adapter is alpha / rank.
        target_modules: Names of adapted layers; empty: every linear layer except the head.
    """

    rank: int
    alpha: float
    target_modules: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The model to create.

    Attributes:
        lora: None trains all weights.
        initial_checkpoint: URI of a checkpoint of any model, whose weights the model begins with; empty: the base's.
    """

    model_id: str
    base_model: str
    seed: int
    lora: LoraSettings | None = None
    has_value_head: bool = False
    initial_checkpoint: str = ""
