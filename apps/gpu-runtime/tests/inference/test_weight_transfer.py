"""Weights go into running servers from memory, with a scripted vLLM; `tests/vllm` has a real one."""

from __future__ import annotations

import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import openai
import pytest
import torch
from openai import OpenAI
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.inference.scripted_transfer import START_CONF, ScriptedAllocator, install_transfer
from tests.inference.scripted_vllm import ScriptedVllm

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest, SamplerPlacement
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.experimental.vllm import replicas, weight_transfer
from agentlightning_runtime.inference.experimental.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmLaunch, VllmModel, vllm_command
from agentlightning_runtime.inference.http.http_server import EndpointSettings
from agentlightning_runtime.inference.open_backend import replica_starts

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel


class Sampled:
    """A fully trained model on scripted servers, each started with a backend of its weight transfer."""

    def __init__(self, directory: Path, *methods: str, in_flight: bool = False, folder: Path | None = None) -> None:
        torch.set_num_threads(1)
        self.servers: list[ScriptedVllm] = []
        starts = [partial(self._start, method) for method in methods]
        self.backend = VllmBackend(EndpointSettings(), starts, in_flight=in_flight, folder=folder)
        self.engine = TorchEngine(
            EngineSettings({"tiny": "random:llama-tiny"}, directory / "checkpoints", device="cpu"), self.backend
        )
        self.model: TorchModel = self.engine.create_model(ModelRequest("policy", "tiny", seed=1))

    def step(self) -> None:
        self.model.forward_backward(a_batch(), a_loss(), no_progress)
        self.model.optim_step(AdamParameters(learning_rate=0.05))

    def ask(self) -> Any:
        with OpenAI(base_url=self.backend.base_url, api_key="none", max_retries=0, timeout=60) as client:
            return client.chat.completions.create(model="policy", messages=[{"role": "user", "content": "?"}])

    def _start(self, method: str, model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        self.servers.append(ScriptedVllm(model, transfer=method))
        return self.servers[-1]


@contextmanager
def sampled(directory: Path, *methods: str, **settings: Any) -> Generator[Sampled]:
    one = Sampled(directory, *methods, **settings)
    try:
        yield one
    finally:
        one.engine.close()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    install_transfer(monkeypatch)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("methods", [("nccl",), ("nccl", "nccl", "nccl"), ("ipc",)])
def test_every_replica_has_each_version_without_a_file(tmp_path: Path, methods: tuple[str, ...]) -> None:
    with sampled(tmp_path, *methods) as one:
        folder: Path = vars(vars(one.backend)["_models"]["policy"])["_folder"]
        said: list[str] = []
        for version in range(3):
            # The probe of each publication compares what the servers sample with the trainer.
            assert one.ask().policy_version == version
            said += [one.ask().choices[0].message.content]
            assert [server.worker.updates for server in one.servers] == [version + 1] * len(methods)
            assert not list(folder.rglob("*.safetensors"))
            assert ScriptedAllocator.conf == START_CONF
            one.step()
            one.model.publish_weights()
        assert len(set(said)) == 3
    assert not folder.exists()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("methods", "reason"),
    [
        (("",), "not all started with the same --weight-transfer-config"),
        (("nccl", ""), "not all started with the same --weight-transfer-config"),
        (("sparse_nccl",), "not all started with the same --weight-transfer-config"),
        (("ipc", "ipc"), "CUDA IPC connects one process"),
    ],
)
def test_else_weights_are_files_and_the_log_says_why(
    tmp_path: Path, methods: tuple[str, ...], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with sampled(tmp_path, *methods) as one:
        assert reason in caplog.text
        one.step()
        one.model.publish_weights()
        assert one.ask().policy_version == 1
        assert [server.worker.updates for server in one.servers] == [0] * len(methods)


@pytest.mark.usefixtures("library")
def test_a_folder_for_weights_is_used(tmp_path: Path) -> None:
    with sampled(tmp_path, "nccl", folder=tmp_path / "shared") as one:
        one.step()
        one.model.publish_weights()
        assert one.servers[0].worker.updates == 0
        assert list((tmp_path / "shared").rglob("model.safetensors"))


def test_a_trainer_on_a_cpu_uses_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with sampled(tmp_path, "nccl"):
        assert "the trainer does not compute on a GPU" in caplog.text


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("in_flight", [False, True])
def test_a_replica_that_fails_halfway_fails_the_publication_and_is_not_asked(tmp_path: Path, in_flight: bool) -> None:
    with sampled(tmp_path, "nccl", "nccl", in_flight=in_flight) as one:
        one.servers[1].worker.fail = "CUDA out of memory"
        one.step()
        requests = [server.requests for server in one.servers]
        with pytest.raises(EngineError, match=r"not transferred to vLLM \(nccl\).*CUDA out of memory") as caught:
            one.model.publish_weights()
        assert caught.value.reason == EngineErrorReason.ENGINE_UNAVAILABLE
        with pytest.raises(openai.InternalServerError, match="may have parts of the weights"):
            one.ask()
        assert [server.requests for server in one.servers] == requests
        # The next publication connects anew.
        one.model.publish_weights()
        assert one.ask().policy_version >= 1


@pytest.mark.usefixtures("library")
def test_a_replica_that_is_lost_ends_the_transfer(tmp_path: Path) -> None:
    with sampled(tmp_path, "nccl", "nccl") as one:
        one.servers[1].stop()
        one.step()
        with pytest.raises(EngineError, match="did not respond to /start_weight_update"):
            one.model.publish_weights()
        assert not one.servers[0].worker.is_half_new


@pytest.mark.usefixtures("library")
def test_a_replica_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sampled(tmp_path, "nccl", "nccl") as one:
        one.servers[1].worker.runs.clear()
        one.step()
        with monkeypatch.context() as patch:
            patch.setattr(weight_transfer, "_TIMEOUT_S", 1)
            patch.setattr(weight_transfer, "_GRACE_S", 0.1)
            patch.setattr(replicas, "_ATTEMPT_TIMEOUT_S", 0.1)
            with pytest.raises(EngineError, match="took more than 1 s"):
                one.model.publish_weights()
        with pytest.raises(openai.InternalServerError, match="may have parts of the weights"):
            one.ask()
        one.servers[1].worker.runs.set()
        one.model.publish_weights()
        assert one.ask().policy_version >= 1


@pytest.mark.usefixtures("library")
def test_weights_that_are_received_and_not_loaded_fail_the_publication(tmp_path: Path) -> None:
    with sampled(tmp_path, "nccl", "nccl") as one:
        one.servers[1].fault = "old_adapter_kept"
        one.step()
        with pytest.raises(EngineError) as caught:
            one.model.publish_weights()
        assert caught.value.reason == EngineErrorReason.WEIGHT_MISMATCH


@pytest.mark.usefixtures("library")
def test_frozen_requests_continue_after_a_transfer_and_end_after_a_failed_one(tmp_path: Path) -> None:
    with sampled(tmp_path, "nccl", in_flight=True) as one, ThreadPoolExecutor(1) as pool:
        server = one.servers[0]
        for fails in (False, True):
            server.hold.clear()
            server.asked.clear()
            asking = pool.submit(one.ask)
            assert server.asked.wait(60)
            one.step()
            if fails:
                server.worker.fail = "lost"
                with pytest.raises(EngineError, match="lost"):
                    one.model.publish_weights()
                with pytest.raises(openai.InternalServerError, match="publication of weights failed"):
                    asking.result()
                server.hold.set()
            else:
                one.model.publish_weights()
                server.hold.set()
                assert asking.result().choices[0].policy_versions == [0, 1]
        assert server.token_api.aborts == [True]


@pytest.mark.usefixtures("library")
def test_requests_are_accepted_while_weights_change_in_flight(tmp_path: Path) -> None:
    with sampled(tmp_path, "nccl", in_flight=True) as one, ThreadPoolExecutor(2) as pool:
        server = one.servers[0]
        one.step()
        server.worker.runs.clear()
        publishing = pool.submit(one.model.publish_weights)
        assert server.worker.waits.wait(60)
        # vLLM queues it until the weights are complete.
        asking = pool.submit(one.ask)
        assert server.asked.wait(60)
        server.worker.runs.set()
        publishing.result()
        assert asking.result().choices[0].message.content


def test_the_meeting_place_is_reached_from_all_servers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as here, socket.create_server(("127.0.0.2", 0)) as there:
        urls = [f"http://{host}:{port}" for host, port in (here.getsockname(), there.getsockname())]
        assert weight_transfer.meeting_place(urls)[0] == "127.0.0.1"
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
        url = f"http://[::1]:{other.getsockname()[1]}"
        with pytest.raises(EngineError, match="reached over IPv6"):
            weight_transfer.meeting_place([url])


def test_a_server_is_started_with_the_transfer_of_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[VllmLaunch] = []
    record = "agentlightning_runtime.inference.open_backend.VllmProcess"
    monkeypatch.setattr(record, lambda _model, launch: launches.append(launch))  # pyright: ignore[reportUnknownLambdaType]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _device: (2**30, 2**30))  # pyright: ignore[reportUnknownLambdaType]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    model = VllmModel("m", 0, None, "hermes")
    places = [
        SamplerPlacement(gpus=(1,)),
        SamplerPlacement(is_colocated=True),
        SamplerPlacement(is_colocated=True, tensor_parallel=2),
        SamplerPlacement(gpus=(1,), folder=tmp_path),
    ]
    for place in places:
        (start,) = replica_starts(EngineSettings({"m": "m"}, tmp_path, device="cuda", sampler=place))
        start(model, 0)
    assert [launch.weight_transfer for launch in launches] == ["nccl", "ipc", "", ""]
    command, extra = vllm_command(model, 1, launches[1])
    assert command[command.index("--weight-transfer-config") + 1] == '{"backend": "ipc"}'
    assert extra["VLLM_ALLOW_INSECURE_SERIALIZATION"] == "1"
    assert "VLLM_ALLOW_INSECURE_SERIALIZATION" not in vllm_command(model, 1, launches[0])[1]
    assert "--weight-transfer-config" not in vllm_command(VllmModel("m", 8, None, "hermes"), 1, launches[0])[0]
