"""The device and the data type of a computation."""

from __future__ import annotations

import torch

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason


def choose_device(wanted: str) -> torch.device:
    """The device of a setting; `auto` is the first GPU, if any.

    Raises:
        EngineError: INVALID when the device does not exist.
    """
    if wanted == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    device = torch.device(wanted)
    if device.type == "cuda" and (not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()):
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        message = f'Device "{wanted}" does not exist; torch {torch.__version__} sees {count} GPUs'
        raise EngineError(EngineErrorReason.INVALID, message, remedy="Start with --device cpu, or check the driver")
    return torch.device("cuda", device.index or 0) if device.type == "cuda" else device


def choose_dtype(wanted: str, device: torch.device) -> torch.dtype:
    """Data type of frozen weights and of matrix products."""
    if wanted == "auto":
        has_bfloat16 = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if has_bfloat16 else torch.float32
    return torch.bfloat16 if wanted == "bfloat16" else torch.float32


def device_name(device: torch.device) -> str:
    """The device as reported in the capabilities: `cpu`, `cuda:0 NVIDIA H100`."""
    return f"{device} {torch.cuda.get_device_name(device)}" if device.type == "cuda" else "cpu"
