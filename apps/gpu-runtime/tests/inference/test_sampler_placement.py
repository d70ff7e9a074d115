"""Places of vLLM: several replicas, the trainer's GPU, servers that run elsewhere."""

from __future__ import annotations

import argparse
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import torch
from openai import OpenAI
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.inference.scripted_vllm import ScriptedVllm

from agentlightning_runtime.cli.sampler_flags import add_sampler_flags, gpu_list, sampler_placement
from agentlightning_runtime.cli.usage_error import UsageError
from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest, SamplerPlacement
from agentlightning_runtime.create_engine import create_engine
from agentlightning_runtime.engine import timed
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference import open_backend
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.experimental.vllm.publication_folder import make_publication_folder
from agentlightning_runtime.inference.experimental.vllm.remote_server import RemoteServer
from agentlightning_runtime.inference.experimental.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.experimental.vllm.vllm_command import (
    VllmLaunch,
    VllmModel,
    memory_share,
    vllm_command,
)
from agentlightning_runtime.inference.http.http_server import EndpointSettings
from agentlightning_runtime.inference.open_backend import open_inference, replica_starts

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_LORA = LoraSettings(rank=4, alpha=8.0)
_ADAPTERS = VllmModel("m", 8, None, "hermes")


def settings_of(directory: Path, **others: Any) -> EngineSettings:
    return EngineSettings({"tiny": "random:llama-tiny"}, directory / "checkpoints", device="cpu", **others)


@contextmanager
def an_engine(directory: Path, backend: VllmBackend) -> Generator[TorchEngine]:
    torch.set_num_threads(1)
    engine = TorchEngine(settings_of(directory), backend)
    try:
        yield engine
    finally:
        engine.close()


def step(model: Any) -> None:
    model.forward_backward(Batch(a_batch().data), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.05))
    model.publish_weights()


def ask(backend: VllmBackend, **fields: Any) -> Any:
    # Not closed: the response may be a stream.
    client = OpenAI(base_url=backend.base_url, api_key="none", max_retries=0, timeout=60)
    messages: Any = [{"role": "user", "content": "?"}]
    return client.chat.completions.create(model="policy", messages=messages, **fields)


def test_every_replica_has_each_version_and_its_share_of_requests(tmp_path: Path) -> None:
    started: list[ScriptedVllm] = []

    def start(model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        started.append(ScriptedVllm(model))
        return started[-1]

    backend = VllmBackend(EndpointSettings(), [start] * 3)
    with an_engine(tmp_path, backend) as engine:
        model = engine.create_model(ModelRequest("policy", "tiny", seed=1, lora=_LORA))
        step(model)
        assert [list(each.adapters) for each in started] == [["policy-v1-p2"]] * 3
        # The probes of two publications, 16 prompts each.
        assert sorted(each.requests for each in started) == [10, 10, 12]
        for each in started:
            each.hold.clear()
        streams = [ask(backend, stream=True) for _ in range(3)]
        for stream in streams:
            next(iter(stream))
        assert sorted(each.requests for each in started) == [11, 11, 13]
        for each in started:
            each.hold.set()
        for stream in streams:
            list(stream)
    assert all(each.is_stopped for each in started)


def test_a_stale_replica_is_detected(tmp_path: Path) -> None:
    started: list[ScriptedVllm] = []

    def start(model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        started.append(ScriptedVllm(model))
        return started[-1]

    with an_engine(tmp_path, VllmBackend(EndpointSettings(), [start] * 2)) as engine:
        model = engine.create_model(ModelRequest("policy", "tiny", seed=1, lora=_LORA))
        started[1].fault = "old_adapter_kept"
        with pytest.raises(EngineError) as caught:
            step(model)
        assert caught.value.reason == EngineErrorReason.WEIGHT_MISMATCH


def test_replicas_that_started_are_stopped_when_one_does_not(tmp_path: Path) -> None:
    started: list[ScriptedVllm] = []

    def start(model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        if started:
            raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, "no memory")
        started.append(ScriptedVllm(model))
        return started[-1]

    with an_engine(tmp_path, VllmBackend(EndpointSettings(), [start] * 2)) as engine:
        with pytest.raises(EngineError, match="no memory"):
            engine.create_model(ModelRequest("policy", "tiny", seed=1, lora=_LORA))
        assert [each.is_stopped for each in started] == [True]


@pytest.mark.parametrize("lora", [_LORA, None])
def test_on_the_trainers_gpu_the_sampler_sleeps_while_the_trainer_computes(
    tmp_path: Path, lora: LoraSettings | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[ScriptedVllm] = []

    def start(model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        started.append(ScriptedVllm(model, can_sleep=True))
        return started[-1]

    backend = VllmBackend(EndpointSettings(), [start], shares_device=True)
    with an_engine(tmp_path, backend) as engine:
        model = engine.create_model(ModelRequest("policy", "tiny", seed=1, lora=lora))
        vllm, asleep, freed = started[0], list[bool](), list[bool]()
        monkeypatch.setattr(timed, "free_cached_memory", lambda _device: freed.append(vllm.is_asleep))  # pyright: ignore[reportUnknownLambdaType]
        passes = vars(model)["_passes"]
        run = passes.forward_backward
        monkeypatch.setattr(passes, "forward_backward", lambda *given: (asleep.append(vllm.is_asleep), run(*given))[1])  # pyright: ignore[reportUnknownLambdaType]
        vllm.hold.clear()
        stream = ask(backend, stream=True)
        next(iter(stream))
        training = threading.Thread(target=step, args=(model,))
        training.start()
        # The request in flight ends before.
        training.join(0.2)
        assert training.is_alive()
        assert asleep == []
        vllm.hold.set()
        list(stream)
        training.join(60)
        assert asleep == [True]
        # Of the pass and of the step, before vLLM takes its memory again.
        assert freed == [True, True]
        # One sleep for the pass and the step; the publication woke it.
        assert (vllm.sleeps, vllm.is_asleep) == (1, False)
        model.forward(Batch(a_batch().data), use_reference=False, progress=no_progress)
        assert vllm.is_asleep
        assert ask(backend).policy_version == 1
        assert not vllm.is_asleep


@pytest.mark.parametrize("lora", [_LORA, None])
def test_a_server_that_runs_elsewhere_is_used_and_left_running(tmp_path: Path, lora: LoraSettings | None) -> None:
    source = tmp_path / "base"
    if lora is None:
        with an_engine(
            tmp_path, VllmBackend(EndpointSettings(), [lambda model, _bytes: ScriptedVllm(model)])
        ) as engine:
            engine.create_model(ModelRequest("policy", "tiny", seed=3)).export_weights("", "safetensors", source)
    elsewhere = ScriptedVllm(VllmModel(str(source), 8 if lora else 0, None, "hermes"), api_key="secret", name="base")
    try:
        place = SamplerPlacement(urls=[f"{elsewhere.root_url}/v1"], api_key="secret", folder=tmp_path / "shared")
        backend = open_inference(settings_of(tmp_path, sampler=place))
        assert isinstance(backend, VllmBackend)
        with an_engine(tmp_path, backend) as engine:
            model = engine.create_model(ModelRequest("policy", "tiny", seed=1, lora=lora))
            first = ask(backend).choices[0].message.content
            step(model)
            answer = ask(backend)
            assert answer.policy_version == 1
            assert answer.choices[0].message.content != first
            assert all(path.startswith(str(tmp_path / "shared")) for path in elsewhere.paths)
        assert not elsewhere.is_stopped
        assert elsewhere.adapters == {}
    finally:
        elsewhere.stop()


def test_a_wrong_key_or_address_is_named() -> None:
    elsewhere = ScriptedVllm(_ADAPTERS, api_key="secret")
    try:
        with pytest.raises(EngineError, match=r"No vLLM or SGLang server responds at .*401"):
            RemoteServer(elsewhere.root_url, "wrong")
    finally:
        elsewhere.stop()
    with pytest.raises(EngineError, match="No vLLM or SGLang server responds"):
        RemoteServer("http://127.0.0.1:1")


def test_gpus_are_divided_into_replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[VllmLaunch] = []
    started = "agentlightning_runtime.inference.open_backend.VllmProcess"
    monkeypatch.setattr(started, lambda _model, launch: launches.append(launch))  # pyright: ignore[reportUnknownLambdaType]
    place = SamplerPlacement(gpus=(4, 5, 6, 7), tensor_parallel=2, versions=3)
    for start in replica_starts(settings_of(tmp_path, sampler=place)):
        start(_ADAPTERS, 0)
    environments = [vllm_command(_ADAPTERS, 1, launch)[1]["CUDA_VISIBLE_DEVICES"] for launch in launches]
    assert environments == ["4,5", "6,7"]
    line = " ".join(vllm_command(_ADAPTERS, 1, launches[0])[0])
    assert "--tensor-parallel-size 2" in line
    assert "--max-loras 3" in line
    # On separate GPUs vLLM takes its default.
    assert "--gpu-memory-utilization" not in line
    with pytest.raises(EngineError, match="cannot be divided"):
        replica_starts(settings_of(tmp_path, sampler=SamplerPlacement(gpus=(1, 2, 3), tensor_parallel=2)))


def test_a_server_that_sleeps_is_started_for_it() -> None:
    command, extra = vllm_command(_ADAPTERS, 1, VllmLaunch(memory_share=0.6, can_sleep=True))
    assert "--enable-sleep-mode" in command
    assert command[command.index("--gpu-memory-utilization") + 1] == "0.6"
    assert extra == {"VLLM_SERVER_DEV_MODE": "1", "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}


def test_the_memory_share_is_what_the_trainer_leaves() -> None:
    gigabyte = 2**30
    assert memory_share(64 * gigabyte, 80 * gigabyte, 0) == 0.72
    assert memory_share(64 * gigabyte, 80 * gigabyte, 24 * gigabyte) == 0.45
    assert memory_share(gigabyte, 80 * gigabyte, 24 * gigabyte) == 0.05


def test_published_weights_are_in_memory_where_it_suffices(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    assert make_publication_folder(None, 1000, memory).parent == memory
    assert make_publication_folder(None, 2**60, memory).parent != memory
    assert make_publication_folder(None, 1000, tmp_path / "missing").parent != tmp_path
    assert make_publication_folder(tmp_path / "chosen", 2**60, memory).parent == tmp_path / "chosen"


@pytest.mark.parametrize(("text", "gpus"), [("4-7", (4, 5, 6, 7)), ("2,3", (2, 3)), ("0, 2-3", (0, 2, 3))])
def test_lists_of_gpus(text: str, gpus: tuple[int, ...]) -> None:
    assert gpu_list(text) == gpus


@pytest.mark.parametrize("text", ["", "a", "3-", "1,1", "7-4"])
def test_invalid_lists_of_gpus(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        gpu_list(text)


def test_a_sampler_has_one_place() -> None:
    parser = argparse.ArgumentParser()
    add_sampler_flags(parser.add_argument_group("sampling"))
    with pytest.raises(UsageError, match="has 2 places: --sampler-gpus, --sampler-colocated"):
        sampler_placement(parser.parse_args(["--sampler-gpus", "1", "--sampler-colocated"]))


def test_vllm_does_not_take_the_trainers_gpu_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    settings = EngineSettings({"tiny": "random:llama-tiny"}, tmp_path, inference_engine="vllm")
    with pytest.raises(EngineError, match="has no GPU"):
        open_inference(settings)


@pytest.mark.parametrize("device", ["auto", "cuda:0"])
def test_an_installed_vllm_shares_the_first_gpu(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(open_backend, "has_vllm", lambda: True)
    backend = open_inference(EngineSettings({"tiny": "random:llama-tiny"}, tmp_path, device=device))
    backend.close()
    assert isinstance(backend, VllmBackend)


@pytest.mark.parametrize(
    ("device", "engine", "is_installed"),
    [("cpu", "auto", True), ("cuda:1", "auto", True), ("cuda", "builtin", True), ("cuda", "auto", False)],
)
def test_else_the_builtin_sampler_is_the_default(
    device: str, engine: Any, is_installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(open_backend, "has_vllm", lambda: is_installed)
    settings = EngineSettings({"tiny": "random:llama-tiny"}, tmp_path, device=device, inference_engine=engine)
    backend = open_inference(settings)
    backend.close()
    assert isinstance(backend, BuiltinBackend)


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({}, "needs several processes"),
        ({"load_in_4bit": True}, "cannot shard a base in 4 bits"),
    ],
)
def test_a_base_that_cannot_be_sharded_is_refused(tmp_path: Path, settings: dict[str, Any], refusal: str) -> None:
    with pytest.raises(EngineError, match=refusal):
        create_engine(settings_of(tmp_path, shard_base=True, **settings))


def test_the_builtin_sampler_refuses_a_sharded_base(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="needs the whole base") as caught:
        open_inference(settings_of(tmp_path, shard_base=True))
    assert "--sampler-gpus" in caught.value.remedy
