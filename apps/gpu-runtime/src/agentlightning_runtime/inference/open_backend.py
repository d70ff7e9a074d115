"""Selects the inference backend."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.http_server import EndpointSettings
from agentlightning_runtime.inference.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.vllm.vllm_process import VllmProcess, has_vllm

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentlightning_runtime.engine.settings import EngineSettings
    from agentlightning_runtime.inference.inference_backend import InferenceBackend


def open_inference(settings: EngineSettings) -> InferenceBackend:
    """Opens the inference endpoint of the settings.

    Raises:
        EngineError: when the port is not available, or vLLM is selected but not installed.
    """
    endpoint = EndpointSettings(
        host=settings.inference_host,
        port=settings.inference_port,
        public_url=settings.inference_public_url,
        api_key=settings.inference_api_key,
    )
    return _kind_of(settings)(endpoint)


def _kind_of(settings: EngineSettings) -> Callable[[EndpointSettings], InferenceBackend]:
    if settings.inference_engine == "vllm" and not has_vllm():
        message = "vLLM is selected for sampling but not installed"
        remedy = "Install agentlightning-runtime[vllm], or start with --inference-engine builtin"
        raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy)
    wants_gpu = settings.device.startswith("cuda") or (settings.device == "auto" and torch.cuda.is_available())
    is_fit = has_vllm() and wants_gpu and settings.inference_engine == "auto"
    if settings.inference_engine == "vllm" or is_fit:
        return partial(VllmBackend, start=partial(VllmProcess, arguments=settings.vllm_arguments))
    return BuiltinBackend
