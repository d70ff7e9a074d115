"""Starts a vLLM server and waits until it is ready."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import httpx
import torch

from agentlightning_runtime.engine.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_START_TIMEOUT_S = 900
"""Start timeout: loading a large model and capturing its graphs takes minutes."""
_SHARE_OF_MEMORY = 0.4
"""Share of GPU memory for vLLM's weights and cache; the rest is the trainer's."""

_TORCHRUN_VARIABLES = frozenset(
    {
        "RANK",
        "LOCAL_RANK",
        "GROUP_RANK",
        "ROLE_RANK",
        "ROLE_NAME",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_WORLD_SIZE",
        "ROLE_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    }
)


def has_vllm() -> bool:
    """Whether vLLM is installed."""
    return find_spec("vllm") is not None


@dataclass(frozen=True)
class VllmModel:
    """Settings of a vLLM server.

    Attributes:
        source: a Hugging Face id or a folder.
        lora_rank: maximum rank of the adapters, one of `adapter_rank_limit`; 0: no adapters, all weights are replaced.
        max_context: maximum tokens of prompt and response; None: the model's positions.
        tool_parser: vLLM's name of the model's tool call format.
    """

    source: str
    lora_rank: int
    max_context: int | None
    tool_parser: str


class RunningVllm(Protocol):
    """A running vLLM server."""

    @property
    def root_url(self) -> str:
        """Its URL, without a path."""
        ...

    def stop(self) -> None:
        """Ends it."""
        ...


class VllmProcess:
    """A vLLM server in a separate process, listening on loopback.

    Args:
        arguments: additional command line arguments of the user.

    Raises:
        EngineError: when it does not start.
    """

    def __init__(self, model: VllmModel, arguments: Sequence[str] = ()) -> None:
        _refuse_what_is_not_read_anew(model)
        port = _free_port()
        self.root_url = f"http://127.0.0.1:{port}"
        command, extra = vllm_command(model, port, arguments)
        environment = {**without_torchrun(os.environ), **extra}
        # The command is built here; its arguments are not passed to a shell.
        self._process = subprocess.Popen(command, env=environment, stdout=sys.stderr)  # noqa: S603
        try:
            self._wait_until_it_answers(model)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends it."""
        self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait_until_it_answers(self, model: VllmModel) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            code = self._process.poll()
            if code is not None:
                message = f'vLLM ended with code {code} while it loaded "{model.source}"'
                raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log")
            try:
                if httpx.get(f"{self.root_url}/health", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.5)
        message = f'vLLM was not ready within {_START_TIMEOUT_S} s of loading "{model.source}"'
        raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log")


def vllm_command(model: VllmModel, port: int, arguments: Sequence[str] = ()) -> tuple[Sequence[str], Mapping[str, str]]:
    """The command line and the environment of a vLLM server.

    Log-probabilities are requested after temperature, top-p and top-k: those of the sampling distribution, which the
    trainer compares with.

    By default vLLM uses the top-p, top-k and repetition penalty of the model's `generation_config.json` for requests
    that do not set them. The trainer and the built-in sampler do not know these values.

    By default vLLM reserves nearly all memory of a GPU; here the trainer needs some of it. Arguments of the user
    replace the defaults, or follow and override them.
    """
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model.source]
    command += ["--host", "127.0.0.1", "--port", str(port), "--logprobs-mode", "processed_logprobs"]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", model.tool_parser]
    defaults = {
        "--generation-config": "vllm",
        "--gpu-memory-utilization": _SHARE_OF_MEMORY,
        "--max-model-len": model.max_context,
    }
    for flag, value in defaults.items():
        if value is not None and flag not in arguments:
            command += [flag, str(value)]
    if model.lora_rank > 0:
        command += ["--enable-lora", "--max-lora-rank", str(model.lora_rank), "--max-loras", "4"]
        return [*command, *arguments], {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
    # Weights are reloaded through a route that vLLM offers in this mode only; it listens on loopback.
    return [*command, *arguments], {"VLLM_SERVER_DEV_MODE": "1"}


def adapter_rank_limit(rank: int) -> int:
    """The smallest maximum that vLLM supports for adapters of this rank; 0 without adapters."""
    return next((limit for limit in (0, 8, 16, 32, 64, 128, 256, 320, 512) if limit >= rank), 512)


def without_torchrun(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables that torchrun sets for its ranks.

    vLLM creates its process group. With these variables it would try to join the trainer's and not start.
    """
    return {
        name: value
        for name, value in environment.items()
        if name not in _TORCHRUN_VARIABLES and not name.startswith("TORCHELASTIC_")
    }


def _refuse_what_is_not_read_anew(model: VllmModel) -> None:
    """On a CPU, vLLM keeps a copy of the output head for faster products; a tied head is not reloaded into it."""
    file = Path(model.source) / "config.json"
    if model.lora_rank > 0 or torch.cuda.is_available() or not file.is_file():
        return
    if json.loads(file.read_text()).get("tie_word_embeddings", True):
        message = "On a CPU, vLLM does not reload an output head that is tied to the embeddings, as in this model"
        remedy = "Train a LoRA, or start with --inference-engine builtin"
        raise EngineError(EngineErrorReason.INVALID, message, remedy=remedy)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
