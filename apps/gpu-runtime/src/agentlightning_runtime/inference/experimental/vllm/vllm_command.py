"""The command line of a vLLM server."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

#: Share of the free memory that is left to fragmentation and kernels.
_MARGIN = 0.1
_SMALLEST_SHARE = 0.05


@dataclass(frozen=True)
class VllmModel:
    """Settings of a vLLM server.

    Attributes:
        source: a Hugging Face id or a folder.
        lora_rank: maximum rank of the adapters, one of `adapter_rank_limit`; 0: no adapters, all weights are replaced.
        max_context: maximum tokens of prompt and response; None: the model's positions.
        tool_parser: vLLM's name of the model's tool call format.
        dtype: data type of its computation, such as `bfloat16`; empty: vLLM's choice, which is not the trainer's where
            that computes in float32.
        export_base: writes the base into an empty folder; None when vLLM can load `source`.
        write_source: writes `source`, before a server is started from it; None when it exists.
    """

    source: str
    lora_rank: int
    max_context: int | None
    tool_parser: str
    dtype: str = ""
    export_base: Callable[[Path], None] | None = field(default=None, compare=False)
    write_source: Callable[[], None] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class VllmLaunch:
    """How a vLLM server is started.

    Attributes:
        arguments: additional command line arguments of the user.
        gpus: its GPUs by index; empty: those that this process sees.
        tensor_parallel: number of GPUs that compute together.
        memory_share: share of the GPU's memory for its weights and cache; None: vLLM's default.
        can_sleep: whether it can free its memory.
        versions: adapters that a batch can have.
        in_flight: whether weights of fully trained models change under running requests.
        weight_transfer: how it receives the weights of fully trained models, `nccl` or `ipc`; empty: from files.
    """

    arguments: Sequence[str] = ()
    gpus: Sequence[int] = ()
    tensor_parallel: int = 1
    memory_share: float | None = None
    can_sleep: bool = False
    versions: int = 4
    in_flight: bool = False
    weight_transfer: str = ""


def vllm_command(
    model: VllmModel, port: int, launch: VllmLaunch | None = None
) -> tuple[Sequence[str], Mapping[str, str]]:
    """The command line and the environment of a vLLM server.

    Log-probabilities are requested after temperature, top-p and top-k: those of the sampling distribution, which the
    trainer compares with.

    By default vLLM uses the top-p, top-k and repetition penalty of the model's `generation_config.json` for requests
    that do not set them. The trainer and the built-in sampler do not know these values.

    Arguments of the user replace the defaults, or follow and override them.
    """
    launch = launch or VllmLaunch()
    arguments = launch.arguments
    transfers = launch.weight_transfer != "" and model.lora_rank == 0
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model.source]
    command += ["--host", "127.0.0.1", "--port", str(port), "--logprobs-mode", "processed_logprobs"]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", model.tool_parser]
    defaults = {
        "--generation-config": "vllm",
        "--gpu-memory-utilization": launch.memory_share,
        "--tensor-parallel-size": launch.tensor_parallel if launch.tensor_parallel > 1 else None,
        "--max-model-len": model.max_context,
        "--dtype": model.dtype or None,
        "--weight-transfer-config": json.dumps({"backend": launch.weight_transfer}) if transfers else None,
    }
    for flag, value in defaults.items():
        if value is not None and flag not in arguments:
            command += [flag, str(value)]
    extra: dict[str, str] = {}
    if launch.gpus:
        extra["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, launch.gpus))
    if launch.can_sleep:
        command += ["--enable-sleep-mode"]
    if launch.can_sleep or model.lora_rank == 0:
        # Sleeping and reloading are routes that vLLM offers in this mode only; it listens on loopback.
        extra["VLLM_SERVER_DEV_MODE"] = "1"
    if transfers and launch.weight_transfer == "ipc":
        # Handles of CUDA IPC are Python objects.
        extra["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"
    if launch.in_flight and model.lora_rank == 0:
        # The API of tokens, which reports the version of each.
        command += ["--enable-scale-out"]
    if model.lora_rank > 0:
        command += ["--enable-lora", "--max-lora-rank", str(model.lora_rank), "--max-loras", str(launch.versions)]
        extra["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "True"
    return [*command, *arguments], extra


def adapter_rank_limit(rank: int) -> int:
    """The smallest maximum that vLLM supports for adapters of this rank; 0 without adapters."""
    return next((limit for limit in (0, 8, 16, 32, 64, 128, 256, 320, 512) if limit >= rank), 512)


def memory_share(free: int, total: int, reserved: int) -> float:
    """The share of a GPU's memory for a vLLM that sleeps while the trainer computes.

    vLLM does not start when less than its share is free. It then has what is free, but for what the trainer will keep
    beyond its operations, and for a margin.

    Args:
        free: Free memory, with the trained model in memory.
        total: Memory of the GPU.
        reserved: Memory that the trainer will allocate and keep: moments and gradients.
    """
    return max(_SMALLEST_SHARE, round((1 - _MARGIN) * (free - reserved) / total, 3))
