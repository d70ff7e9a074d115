"""vLLM behind the same interface, with a scripted server; `test_real_vllm.py` uses a real one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
import torch
from openai import OpenAI
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.inference.scripted_vllm import ScriptedVllm

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.experimental.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.experimental.vllm.vllm_command import (
    VllmLaunch,
    VllmModel,
    adapter_rank_limit,
    vllm_command,
)
from agentlightning_runtime.inference.experimental.vllm.vllm_process import VllmProcess
from agentlightning_runtime.inference.http.http_server import EndpointSettings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel


class Trained:
    """A trained model whose weights a scripted vLLM serves."""

    def __init__(self, directory: Path, lora: LoraSettings | None) -> None:
        torch.set_num_threads(1)
        self.started: list[ScriptedVllm] = []
        self.backend = VllmBackend(EndpointSettings(), [self._start])
        settings = EngineSettings(
            base_models={"tiny": "random:llama-tiny"}, checkpoint_directory=directory, device="cpu"
        )
        self.engine = TorchEngine(settings, self.backend)
        self.model: TorchModel = self.engine.create_model(ModelRequest("policy", "tiny", seed=1, lora=lora))
        self.client = OpenAI(base_url=self.backend.base_url, api_key="none", max_retries=0, timeout=60)

    @property
    def vllm(self) -> ScriptedVllm:
        return self.started[0]

    def step(self) -> None:
        self.model.forward_backward(Batch(a_batch().data), a_loss(), no_progress)
        self.model.optim_step(AdamParameters(learning_rate=0.05))
        self.model.publish_weights()

    def ask(self, **fields: Any) -> Any:
        messages: Any = [{"role": "user", "content": "?"}]
        return self.client.chat.completions.create(model="policy", messages=messages, **fields)

    def _start(self, model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        self.started.append(ScriptedVllm(model))
        return self.started[-1]


@contextmanager
def training(directory: Path, lora: LoraSettings | None) -> Generator[Trained]:
    one = Trained(directory, lora)
    try:
        yield one
    finally:
        one.engine.close()
        assert one.vllm.is_stopped


_LORA = LoraSettings(rank=4, alpha=8.0)


@pytest.mark.parametrize("lora", [_LORA, None])
def test_published_weights_answer_the_next_request_with_their_version(
    tmp_path: Path, lora: LoraSettings | None
) -> None:
    with training(tmp_path, lora) as trained:
        said: list[str] = []
        for version in range(3):
            answer = trained.ask()
            assert answer.policy_version == version
            assert answer.model == "policy"
            said.append(answer.choices[0].message.content)
            trained.step()
        assert len(set(said)) == 3
        assert trained.backend.endpoint("policy").policy_version == 3
        if lora is not None:
            assert list(trained.vllm.adapters) == ["policy-v3-p4"]


def test_the_tokens_of_a_conversation_are_those_of_the_server(tmp_path: Path) -> None:
    with training(tmp_path, _LORA) as trained:
        root = trained.backend.endpoint("policy").base_url.removesuffix("/v1")
        body = {"model": "policy", "messages": [{"role": "user", "content": "?"}]}
        answer = httpx2.post(f"{root}/tokenize", json=body, timeout=60)
        (vllm_model,) = trained.vllm.adapters
        assert answer.json() == {"count": 1, "max_model_len": 64, "tokens": [1], "model": vllm_model}


def test_a_request_in_flight_ends_with_the_adapter_it_began_with(tmp_path: Path) -> None:
    with training(tmp_path, _LORA) as trained:
        trained.vllm.hold.clear()
        stream = trained.ask(stream=True)
        first = next(iter(stream))
        trained.step()
        assert set(trained.vllm.adapters) == {"policy-v0-p1", "policy-v1-p2"}
        trained.vllm.hold.set()
        assert first.choices[0].delta.content
        list(stream)
        trained.step()
        assert list(trained.vllm.adapters) == ["policy-v2-p3"]


def test_a_loaded_checkpoint_takes_an_old_version_with_other_weights(tmp_path: Path) -> None:
    with training(tmp_path, _LORA) as trained:
        trained.step()
        saved = trained.ask().choices[0].message.content
        checkpoint = trained.model.save_checkpoint("one", b"").result()
        # The weights change, the version does not: the server must not respond from what it cached for them.
        trained.model.forward_backward(Batch(a_batch().data), a_loss(), no_progress)
        trained.model.optim_step(AdamParameters(learning_rate=0.05))
        changed = trained.model.save_checkpoint("changed", b"").result()
        trained.model.load_checkpoint(changed.uri)
        assert trained.ask().policy_version == 1
        assert trained.ask().choices[0].message.content != saved
        trained.model.load_checkpoint(checkpoint.uri)
        assert trained.ask().policy_version == 1
        assert trained.ask().choices[0].message.content == saved


def test_adapters_on_one_base_share_a_server(tmp_path: Path) -> None:
    with training(tmp_path, _LORA) as trained:
        other = trained.engine.create_model(ModelRequest("policy-v0", "tiny", seed=2, lora=LoraSettings(7, 8.0)))
        assert len(trained.started) == 1
        assert set(trained.vllm.adapters) == {"policy-v0-p1", "policy-v0-v0-p1"}
        trained.step()
        assert set(trained.vllm.adapters) == {"policy-v1-p2", "policy-v0-v0-p1"}
        other.unload()
        assert list(trained.vllm.adapters) == ["policy-v1-p2"]
        assert trained.ask().policy_version == 1
        trained.engine.create_model(ModelRequest("wide", "tiny", seed=2, lora=LoraSettings(9, 8.0)))
        assert len(trained.started) == 2


def test_a_pause_turns_away_and_an_abort_breaks_off(tmp_path: Path) -> None:
    with training(tmp_path, _LORA) as trained:
        trained.vllm.hold.clear()
        stream = trained.ask(stream=True)
        next(iter(stream))
        pausing = threading.Thread(target=trained.backend.pause, args=("policy", "abort"))
        pausing.start()
        while not vars(trained.backend)["_models"]["policy"].is_paused:
            pass
        trained.vllm.hold.set()
        with pytest.raises(openai.APIError, match="was paused"):
            list(stream)
        pausing.join(60)
        with pytest.raises(openai.InternalServerError, match="is paused") as caught:
            trained.ask()
        assert caught.value.response.headers["retry-after"] == "1"
        assert not trained.backend.resume("policy").is_paused
        assert trained.ask().choices


def test_who_resumes_a_model_ends_the_wait_for_what_is_in_flight(tmp_path: Path) -> None:
    with training(tmp_path, _LORA) as trained:
        trained.vllm.hold.clear()
        stream = trained.ask(stream=True)
        next(iter(stream))
        pausing = threading.Thread(target=trained.backend.pause, args=("policy", "drain"), daemon=True)
        pausing.start()
        while not vars(trained.backend)["_models"]["policy"].is_paused:
            pass
        trained.backend.resume("policy")
        pausing.join(10)
        is_waiting = pausing.is_alive()
        trained.vllm.hold.set()
        list(stream)
        assert not is_waiting


def test_an_abort_ends_what_is_not_streamed_without_waiting_for_vllm(tmp_path: Path) -> None:
    with training(tmp_path, _LORA) as trained:
        trained.vllm.hold.clear()
        failures: list[openai.APIStatusError] = []

        def ask() -> None:
            try:
                trained.ask()
            except openai.APIStatusError as error:
                failures.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        assert trained.vllm.asked.wait(60)
        assert trained.backend.pause("policy", "abort").in_flight == 0
        asking.join(60)
        assert [failure.code for failure in failures] == ["CANCELLED"]
        trained.vllm.hold.set()


@pytest.mark.parametrize("kind", ["image_url", "video_url", "audio_url"])
def test_what_vllm_would_fetch_is_refused(tmp_path: Path, kind: str) -> None:
    part: Any = {"type": kind, kind: {"url": "http://127.0.0.1:1/secret"}}
    with training(tmp_path, _LORA) as trained, pytest.raises(openai.BadRequestError, match="is not a data URL"):
        trained.client.chat.completions.create(model="policy", messages=[{"role": "user", "content": [part]}])


def test_what_vllm_refuses_reaches_the_caller(tmp_path: Path) -> None:
    with training(tmp_path, _LORA) as trained:
        with pytest.raises(openai.BadRequestError, match="must be non-negative"):
            trained.ask(temperature=-1)
        with pytest.raises(openai.NotFoundError, match='Unknown model "other"'):
            trained.client.chat.completions.create(model="other", messages=[{"role": "user", "content": "?"}])
        assert trained.backend.pause("policy", "drain").in_flight == 0


def test_the_command_asks_for_the_distribution_that_tokens_are_drawn_from() -> None:
    command, extra = vllm_command(VllmModel("m", adapter_rank_limit(12), 4096, "hermes"), 1234)
    line = " ".join(command)
    assert "--logprobs-mode processed_logprobs" in line
    # Not the defaults that the model's files recommend, such as a top-p of 0.8.
    assert "--generation-config vllm" in line
    assert "--enable-lora --max-lora-rank 16" in line
    assert "--max-model-len 4096" in line
    assert extra == {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
    assert vllm_command(VllmModel("m", 0, None, "hermes"), 1)[1] == {"VLLM_SERVER_DEV_MODE": "1"}
    assert "--dtype" not in command
    # vLLM computes in 16 bits where the model's file has 32.
    in_float32, _ = vllm_command(VllmModel("m", 8, None, "hermes", "float32"), 1234)
    assert in_float32[in_float32.index("--dtype") + 1] == "float32"


_SERVER_THAT_RECORDS_ITS_ENVIRONMENT = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

with open(os.environ["RECORD"], "w") as file:
    json.dump(dict(os.environ), file)
HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Health).serve_forever()
"""


def test_a_server_does_not_join_the_process_group_of_torchrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "vllm" / "entrypoints" / "openai" / "api_server.py"
    module.parent.mkdir(parents=True)
    module.write_text(_SERVER_THAT_RECORDS_ITS_ENVIRONMENT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("RECORD", str(tmp_path / "environment.json"))
    of_torchrun = ["TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK"]
    of_torchrun += ["LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"]
    for name in of_torchrun:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    VllmProcess(VllmModel("m", 8, None, "hermes")).stop()
    environment = json.loads((tmp_path / "environment.json").read_text())
    assert [name for name in of_torchrun if name in environment] == []
    assert environment["CUDA_VISIBLE_DEVICES"] == "3"


_RUNTIME_THAT_IS_KILLED = """
import os, signal
from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmModel
from agentlightning_runtime.inference.experimental.vllm.vllm_process import VllmProcess

print(VllmProcess(VllmModel("m", 8, None, "hermes")).root_url, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_ends_when_the_runtime_is_killed(tmp_path: Path) -> None:
    module = tmp_path / "vllm" / "entrypoints" / "openai" / "api_server.py"
    module.parent.mkdir(parents=True)
    module.write_text(_SERVER_THAT_RECORDS_ITS_ENVIRONMENT)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "RECORD": str(tmp_path / "environment.json")}
    command = [sys.executable, "-c", _RUNTIME_THAT_IS_KILLED]
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    # The server inherits the pipe of the errors, so it has ended when `run` returns.
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{killed.stdout.strip()}/health")


def test_the_users_arguments_replace_ours() -> None:
    command, _ = vllm_command(
        VllmModel("m", 0, None, "hermes"), 1, VllmLaunch(["--gpu-memory-utilization", "0.8"], memory_share=0.5)
    )
    assert command.count("--gpu-memory-utilization") == 1
    assert command[-1] == "0.8"
    asked, _ = vllm_command(VllmModel("m", 0, None, "hermes"), 1, VllmLaunch(["--generation-config", "auto"]))
    assert asked.count("--generation-config") == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU reloads a tied head")
def test_a_tied_head_is_refused_where_vllm_would_keep_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"tie_word_embeddings": True}))
    with pytest.raises(EngineError, match="does not reload an output head"):
        VllmProcess(VllmModel(str(tmp_path), 0, None, "hermes"))
