"""Selects the backend that serves a runtime's models."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.users import Keys
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.experimental.vllm.remote_server import RemoteServer
from agentlightning_runtime.inference.experimental.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmLaunch, VllmModel, memory_share
from agentlightning_runtime.inference.experimental.vllm.vllm_process import VllmProcess, has_vllm
from agentlightning_runtime.inference.http.http_server import EndpointSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.contract.inference_backend import InferenceBackend
    from agentlightning_runtime.contract.settings import EngineSettings
    from agentlightning_runtime.inference.experimental.vllm.vllm_servers import StartVllm


def open_inference(settings: EngineSettings) -> InferenceBackend:
    """Opens the inference endpoint of the settings.

    Where vLLM is installed and nothing is chosen, it samples on the trainer's GPU.

    Raises:
        EngineError: when the port is not available, or vLLM is selected and not installed or has no place.
    """
    endpoint = endpoint_settings(settings)
    is_cuda = _uses_cuda(settings)
    # A server that is started without --sampler-gpus uses the first.
    shares_first = is_cuda and settings.device in ("auto", "cuda", "cuda:0")
    if settings.inference_engine == "auto" and not _has_place(settings) and shares_first and has_vllm():
        settings = replace(settings, sampler=replace(settings.sampler, is_colocated=True))
    place, has_place = settings.sampler, _has_place(settings)
    if settings.inference_engine == "builtin" or (settings.inference_engine == "auto" and not has_place):
        if settings.shard_base:
            message = "The built-in sampler needs the whole base, and --shard-base shards it"
            remedy = "Sample with vLLM: pass --sampler-gpus or --sampler-url"
            raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy)
        return BuiltinBackend(endpoint)
    if not has_place and is_cuda:
        message = "vLLM is selected for sampling and has no GPU"
        remedy = "Pass --sampler-gpus, --sampler-url, or --sampler-colocated to share the trainer's"
        raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy)
    if not place.urls and not has_vllm():
        message = "vLLM is selected for sampling but not installed"
        remedy = "Install agentlightning-runtime[vllm], or start with --inference-engine builtin"
        raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy)
    shares = place.is_colocated and is_cuda
    return VllmBackend(
        endpoint, replica_starts(settings), folder=place.folder, shares_device=shares, in_flight=place.in_flight
    )


def _uses_cuda(settings: EngineSettings) -> bool:
    """Whether the trainer computes on a GPU."""
    return settings.device.startswith("cuda") or (settings.device == "auto" and torch.cuda.is_available())


def _has_place(settings: EngineSettings) -> bool:
    place = settings.sampler
    return bool(place.urls or place.gpus or place.is_colocated)


def endpoint_settings(settings: EngineSettings) -> EndpointSettings:
    """The listener of the inference endpoint."""
    return EndpointSettings(
        host=settings.inference_host,
        port=settings.inference_port,
        public_url=settings.inference_public_url,
        keys=Keys(settings.inference_api_key, settings.users),
    )


def replica_starts(settings: EngineSettings) -> Sequence[StartVllm]:
    """How each replica of vLLM is started.

    Raises:
        EngineError: INVALID when the GPUs cannot be divided into replicas.
    """
    place = settings.sampler
    if place.urls:
        return [partial(_connect, url, place.api_key) for url in place.urls]
    size = place.tensor_parallel
    launch = VllmLaunch(
        tuple(settings.vllm_arguments),
        tensor_parallel=size,
        versions=place.versions,
        in_flight=place.in_flight,
        weight_transfer=_weight_transfer(settings),
    )
    if not place.gpus:
        return [partial(_start_colocated, settings.device, launch) if place.is_colocated else partial(_start, launch)]
    if len(place.gpus) % size != 0:
        message = f"{len(place.gpus)} GPUs cannot be divided into replicas of {size}"
        raise EngineError(
            EngineErrorReason.INVALID, message, remedy="Change --sampler-gpus or --sampler-tensor-parallel"
        )
    groups = [place.gpus[first : first + size] for first in range(0, len(place.gpus), size)]
    return [partial(_start, replace(launch, gpus=group)) for group in groups]


def _weight_transfer(settings: EngineSettings) -> str:
    """How vLLM receives all weights. NCCL needs a GPU for each process, CUDA IPC the same for both."""
    place = settings.sampler
    if place.folder is not None or not _uses_cuda(settings):
        return ""
    if place.gpus:
        return "nccl"
    # The worker of each GPU would need the weights of the trainer's process on it.
    is_one = place.tensor_parallel == 1 and not (dist.is_initialized() and dist.get_world_size() > 1)
    return "ipc" if place.is_colocated and is_one else ""


def _connect(url: str, api_key: str, _model: VllmModel, _reserved_bytes: int) -> RemoteServer:
    return RemoteServer(url, api_key)


def _start(launch: VllmLaunch, model: VllmModel, _reserved_bytes: int) -> VllmProcess:
    return VllmProcess(model, launch)


def _start_colocated(device: str, launch: VllmLaunch, model: VllmModel, reserved_bytes: int) -> VllmProcess:
    if not torch.cuda.is_available():
        return VllmProcess(model, launch)
    free, total = torch.cuda.mem_get_info(None if device in ("auto", "cuda") else device)
    share = memory_share(free, total, reserved_bytes)
    return VllmProcess(model, replace(launch, memory_share=share, can_sleep=True))
