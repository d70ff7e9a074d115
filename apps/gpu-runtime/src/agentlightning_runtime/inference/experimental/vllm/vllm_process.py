"""Starts a vLLM server and waits until it is ready."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import httpx2
import torch

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.inference.experimental.vllm.server_api import VllmApi
from agentlightning_runtime.inference.experimental.vllm.vllm_command import vllm_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentlightning_runtime.inference.experimental.vllm.server_api import ServerApi
    from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmLaunch, VllmModel

_START_TIMEOUT_S = 900
"""Start timeout: loading a large model and capturing its graphs takes minutes."""
_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
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
        "PYTORCH_CUDA_ALLOC_CONF",  # The trainer's.
    }
)


def has_vllm() -> bool:
    """Whether vLLM is installed."""
    return find_spec("vllm") is not None


class RunningServer(Protocol):
    """A running vLLM or SGLang server."""

    @property
    def root_url(self) -> str:
        """Its URL, without a path."""
        ...

    @property
    def api_key(self) -> str:
        """The key of its requests; empty: none."""
        ...

    @property
    def api(self) -> ServerApi:
        """Its API."""
        ...

    @property
    def base_name(self) -> str:
        """Its name of the base model."""
        ...

    def stop(self) -> None:
        """Ends it."""
        ...


class VllmProcess:
    """A vLLM server in a separate process, listening on loopback.

    Args:
        launch: how it is started.

    Raises:
        EngineError: when it does not start.
    """

    api_key = ""
    api = VllmApi()

    def __init__(self, model: VllmModel, launch: VllmLaunch | None = None) -> None:
        if model.write_source is not None:
            model.write_source()
        _refuse_what_is_not_read_anew(model)
        port = _free_port()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if model.export_base is not None:
            self._folder = tempfile.TemporaryDirectory(prefix="agentlightning-base-")
            model.export_base(Path(self._folder.name))
            model = replace(model, source=self._folder.name)
        self.base_name = model.source
        self.root_url = f"http://127.0.0.1:{port}"
        command, extra = vllm_command(model, port, launch)
        environment = {**without_torchrun(os.environ), **extra}
        # The command is built here; its arguments are not passed to a shell.
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, _SUPERVISOR, *command], env=environment, stdin=subprocess.PIPE, stdout=sys.stderr
        )
        try:
            self._wait_until_it_answers(model)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()

    def _wait_until_it_answers(self, model: VllmModel) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            code = self._process.poll()
            if code is not None:
                message = f'vLLM ended with code {code} while it loaded "{model.source}"'
                raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log")
            try:
                if httpx2.get(f"{self.root_url}/health", timeout=5).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.5)
        message = f'vLLM was not ready within {_START_TIMEOUT_S} s of loading "{model.source}"'
        raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy="See its output in the log")


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
