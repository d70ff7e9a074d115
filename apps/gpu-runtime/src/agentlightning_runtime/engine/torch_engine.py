"""The engine on PyTorch, Transformers and PEFT."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import torch

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.inference_backend import ServedModel
from agentlightning_runtime.contract.settings import EngineCapabilities
from agentlightning_runtime.engine.base.device import choose_device, choose_dtype, device_name
from agentlightning_runtime.engine.base.ranks import Ranks
from agentlightning_runtime.engine.checkpoints.checkpoint_folder import CheckpointFolder
from agentlightning_runtime.engine.checkpoints.host_copies import host_copies
from agentlightning_runtime.engine.experimental.eight_bit_adam import eight_bit_weights, moment_bytes
from agentlightning_runtime.engine.gradient_pass import PassSettings
from agentlightning_runtime.engine.loss.loss_definitions import LOSS_DEFINITIONS
from agentlightning_runtime.engine.memory.device_memory import CudaMemory
from agentlightning_runtime.engine.memory.micro_batch_sizer import MicroBatchSizer
from agentlightning_runtime.engine.memory.out_of_memory import report_out_of_memory
from agentlightning_runtime.engine.model_parts import ModelParts
from agentlightning_runtime.engine.models.base_model import BaseModel
from agentlightning_runtime.engine.models.initial_weights import InitialWeights
from agentlightning_runtime.engine.models.lora import resolve_lora
from agentlightning_runtime.engine.models.network_factory import make_network, reference_network, trained_weights
from agentlightning_runtime.engine.observation.device_clock import clock_of
from agentlightning_runtime.engine.observation.memory_gauges import MemoryGauges
from agentlightning_runtime.engine.observation.step_profiler import StepProfiler
from agentlightning_runtime.engine.observation.throughput import peak_flops
from agentlightning_runtime.engine.observation.timeline import Timeline
from agentlightning_runtime.engine.publication.weight_export import export_base
from agentlightning_runtime.engine.torch_model import TorchModel

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.contract.inference_backend import InferenceBackend
    from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
    from agentlightning_runtime.engine.loading.loaded_model import LoadedModel
    from agentlightning_runtime.engine.models.policy_network import PolicyNetwork

_FEATURES = (
    "lora",
    "value_head",
    "reference_logprobs",
    "export",
    "export_peft",
    "progress",
    "pause",
    "metrics",
    "initial_checkpoint",
    "weight_digest",
)

#: Maximum tokens in a micro-batch by default: enough to keep the device busy. On a GPU memory decides below that.
_TOKENS_ON_CPU = 2048
_TOKENS_ON_GPU = 16_384


class TorchEngine:
    """Trains and serves any causal model that Transformers loads. Implements `RuntimeEngine`."""

    def __init__(self, settings: EngineSettings, inference: InferenceBackend, ranks: Ranks | None = None) -> None:
        self._settings = settings
        self._ranks = ranks or Ranks()
        self._inference = inference
        self._device = choose_device(settings.device)
        self._dtype = choose_dtype(settings.dtype, self._device)
        if self._dtype == torch.bfloat16:
            # Float32 products, such as those of a LoRA, use TF32: more digits than bfloat16, equally fast.
            torch.set_float32_matmul_precision("high")
        # cuDNN's attention prepares each new length, which takes longer than a step: flash attention does not.
        torch.backends.cuda.enable_cudnn_sdp(enabled=False)
        self._cuda_memory = CudaMemory(self._device) if self._device.type == "cuda" else None
        self._memory = MemoryGauges(self._device, self._cuda_memory)
        self._profiler = StepProfiler(self._ranks.index)
        self._timeline = Timeline(clock_of(self._device), self._profiler)
        self._bases = {
            name: BaseModel(name, source, self._device, self._dtype, settings.load_in_4bit)
            for name, source in settings.base_models.items()
        }
        self._references: dict[tuple[str, bool], PolicyNetwork] = {}

    def capabilities(self) -> EngineCapabilities:
        """Reads the configuration and the tensor names of every base model, so that most load errors occur at start."""
        return EngineCapabilities(
            device=device_name(self._device),
            models=[base.info() for base in self._bases.values()],
            losses=LOSS_DEFINITIONS,
            max_batch_tokens=self._settings.max_batch_tokens,
            features=_FEATURES,
            dtype=str(self._dtype).removeprefix("torch."),
            device_count=self._ranks.count if self._device.type == "cuda" else 0,
        )

    def create_model(self, request: ModelRequest) -> TorchModel:
        """Creates a model; new weights are initialised from the seed.

        Raises:
            EngineError: NOT_FOUND for an unknown base model, INVALID for an unsupported LoRA, OUT_OF_MEMORY when it
                does not fit; NOT_FOUND or INVALID for an initial checkpoint that does not exist or fit.
        """
        base = self._bases.get(request.base_model)
        if base is None:
            known = ", ".join(self._bases)
            message = f'Unknown base model "{request.base_model}"; available: {known}'
            raise EngineError(EngineErrorReason.NOT_FOUND, message, field="base_model")
        what = f"creating the model {request.model_id} from {request.base_model}"
        with report_out_of_memory(self._device, what, ranks=self._ranks):
            return self._make(request, base)

    def _make(self, request: ModelRequest, base: BaseModel) -> TorchModel:
        outline = base.outline()
        lora = resolve_lora(outline, request)
        if lora is None and self._settings.load_in_4bit:
            raise _all_weights_in_4bit(request)
        is_sharded = self._ranks.count > 1 and (lora is None or self._settings.shard_base)
        initial = self._initial_weights(request, base, lora, is_sharded=is_sharded)
        network = make_network(
            base,
            request,
            lora,
            self._ranks,
            is_sharded=is_sharded,
            gradient_checkpointing=self._settings.gradient_checkpointing,
        )
        weights = trained_weights(network)
        eight_bit = eight_bit_weights(network, weights) if self._settings.optimizer == "adamw-8bit" else ()
        trained_bytes = sum(4 * weight.numel() for weight in weights.values()) + moment_bytes(weights, eight_bit)
        of_base = partial(self._reference, base, is_sharded=is_sharded)
        load_base = base.load_on_host if is_sharded else base.load

        def export(folder: Path) -> None:
            export_base(load_base(), folder)

        return TorchModel(
            ModelParts(
                request=request,
                base=base,
                lora=lora,
                network=network,
                eight_bit=eight_bit,
                reference=of_base if initial is None else initial.reference,
                initial=initial,
                settings=self._pass_settings(outline, network, is_sharded=is_sharded),
                checkpoints=CheckpointFolder(
                    self._settings.checkpoint_directory, request.model_id, self._ranks, host_copies(self._device)
                ),
                inference=self._inference,
                served=ServedModel(
                    model_id=request.model_id,
                    module=lambda: network.causal_lm,
                    tokenizer=outline.tokenizer,
                    output_size=outline.output_size,
                    images=outline.images,
                    compute_dtype=network.precision.compute_dtype,
                    max_context=base.info().max_context,
                    lora_rank=0 if lora is None else lora.rank,
                    dtype=str(self._dtype).removeprefix("torch."),
                    base_source=base.source,
                    export_base=None if base.is_portable else export,
                    trained_bytes=trained_bytes // self._ranks.count,
                    published_bytes=4 * sum(weight.numel() for weight in weights.values()),
                ),
                ranks=self._ranks,
            )
        )

    def _initial_weights(
        self, request: ModelRequest, base: BaseModel, lora: LoraSettings | None, *, is_sharded: bool
    ) -> InitialWeights | None:
        uri = request.initial_checkpoint
        if not uri:
            return None

        def make_reference() -> PolicyNetwork:
            what = f"loading the checkpoint {uri} as the reference"
            without_values = replace(request, has_value_head=False)
            with report_out_of_memory(self._device, what, ranks=self._ranks):
                return make_network(
                    base,
                    without_values,
                    lora,
                    self._ranks,
                    is_sharded=is_sharded,
                    gradient_checkpointing=False,
                )

        return InitialWeights(uri, self._settings.checkpoint_directory, self._ranks, make_reference)

    def _reference(self, base: BaseModel, *, is_sharded: bool) -> PolicyNetwork:
        """Made for the first request of reference log-probabilities, once for all models of the base."""
        key = base.name, is_sharded
        if key not in self._references:
            what = f"loading {base.name} as the reference"
            with report_out_of_memory(self._device, what, ranks=self._ranks):
                self._references[key] = reference_network(base, self._ranks, is_sharded=is_sharded)
        return self._references[key]

    def _pass_settings(self, outline: LoadedModel, network: PolicyNetwork, *, is_sharded: bool) -> PassSettings:
        measures = self._device.type == "cuda" and self._settings.micro_batch_tokens is None
        limit = self._settings.micro_batch_tokens or (_TOKENS_ON_GPU if measures else _TOKENS_ON_CPU)
        return PassSettings(
            device=self._device,
            sizer=MicroBatchSizer(limit, self._cuda_memory if measures else None, self._ranks),
            is_sharded=is_sharded,
            is_packed=network.is_packable and self._settings.packing,
            output_size=outline.output_size,
            images=outline.images,
            peak_flops=peak_flops(self._device),
            timeline=self._timeline,
            memory=self._memory,
            device_memory=self._cuda_memory,
        )

    def trace_next_step(self, directory: Path) -> None:
        """Profiles the operations until the next optimizer step; called from any thread."""
        self._profiler.request(directory)

    def gauges(self) -> dict[str, float]:
        """Current gauges for the metrics stream; fast, called from any thread."""
        return self._memory.read()

    def close(self) -> None:
        """Ends the inference endpoint and frees all resources."""
        self._inference.close()
        self._references.clear()
        self._bases.clear()


def _all_weights_in_4bit(request: ModelRequest) -> EngineError:
    message = f"All weights of {request.base_model} cannot be trained: the runtime quantises base models to 4 bits"
    remedy = "Request a LoRA, or start the runtime without --load-in-4bit"
    return EngineError(EngineErrorReason.INVALID, message, field="lora", remedy=remedy)
