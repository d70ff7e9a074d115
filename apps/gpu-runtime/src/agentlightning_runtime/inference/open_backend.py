"""Chooses what serves the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.inference.builtin_backend import BuiltinBackend

if TYPE_CHECKING:
    from agentlightning_runtime.engine.settings import EngineSettings
    from agentlightning_runtime.inference.inference_backend import InferenceBackend


def open_inference(settings: EngineSettings) -> InferenceBackend:
    """Opens the inference endpoint where the settings want it.

    Raises:
        EngineError: when the port cannot be had.
    """
    return BuiltinBackend(
        settings.inference_host,
        settings.inference_port,
        public_url=settings.inference_public_url,
        api_key=settings.inference_api_key,
    )
