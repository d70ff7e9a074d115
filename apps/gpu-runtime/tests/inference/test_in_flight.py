"""Weights that change under running requests, with a scripted vLLM; `tests/vllm` has a real one."""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import openai
import pytest
import torch
from openai import OpenAI
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.inference.scripted_vllm import ScriptedVllm

from agentlightning_runtime.cli.sampler_flags import add_sampler_flags, sampler_placement
from agentlightning_runtime.cli.usage_error import UsageError
from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.experimental.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmLaunch, VllmModel, vllm_command
from agentlightning_runtime.inference.http.http_server import EndpointSettings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture
def started() -> list[ScriptedVllm]:
    return []


@pytest.fixture
def engine(tmp_path: Path, started: list[ScriptedVllm]) -> Generator[TorchEngine]:
    torch.set_num_threads(1)

    def start(model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        started.append(ScriptedVllm(model))
        return started[-1]

    settings = EngineSettings({"tiny": "random:llama-tiny"}, tmp_path / "checkpoints", device="cpu")
    engine = TorchEngine(settings, VllmBackend(EndpointSettings(), [start], in_flight=True))
    yield engine
    engine.close()


def test_a_publication_does_not_wait_and_tokens_have_their_versions(
    engine: TorchEngine, started: list[ScriptedVllm]
) -> None:
    model = engine.create_model(ModelRequest("policy", "tiny", seed=1))
    base_url, vllm = model.endpoint().base_url, started[0]
    vllm.hold.clear()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(_ask, base_url, extra_body={"return_token_ids": True})
        assert vllm.asked.wait(60)
        model.forward_backward(Batch(a_batch().data), a_loss(), no_progress)
        model.optim_step(AdamParameters(learning_rate=0.05))
        assert model.publish_weights().policy_version == 1
        vllm.hold.set()
        answer = asking.result()
    assert answer.choices[0].policy_versions == [0, 1]
    assert answer.policy_version == 0
    assert answer.prompt_token_ids == [7, 8, 9]
    assert answer.model == "policy"
    # The version at creation, and the publication.
    assert vllm.token_api.changes == [False, True]
    assert _ask(base_url).choices[0].policy_versions == [1, 1]
    continued = _ask(base_url, extra_body={"return_token_ids": True, "prompt_token_ids": [7, 8, 9, 4]})
    assert continued.prompt_token_ids == [7, 8, 9, 4]


def test_a_stream_has_the_whole_response_and_its_versions(engine: TorchEngine) -> None:
    base_url = engine.create_model(ModelRequest("policy", "tiny", seed=1)).endpoint().base_url
    stream = _ask(base_url, stream=True, stream_options={"include_usage": True})
    assert stream.response.headers["x-agl-policy-version"] == "0"
    first, last = list(stream)
    assert first.choices[0].delta.content == "12"
    assert first.choices[0].policy_versions == [0, 0]
    assert last.usage.total_tokens == 5


def test_what_vllm_rejects_reaches_the_caller(engine: TorchEngine) -> None:
    base_url = engine.create_model(ModelRequest("policy", "tiny", seed=1)).endpoint().base_url
    with pytest.raises(openai.BadRequestError, match="must be non-negative"):
        _ask(base_url, temperature=-1)


def test_a_server_of_weights_that_change_in_flight_has_the_token_api() -> None:
    launch = VllmLaunch(in_flight=True)
    assert "--enable-scale-out" in vllm_command(VllmModel("m", 0, None, "hermes"), 1, launch)[0]
    assert "--enable-scale-out" not in vllm_command(VllmModel("m", 8, None, "hermes"), 1, launch)[0]


def test_a_sampler_on_the_trainers_gpu_does_not_change_weights_in_flight() -> None:
    parser = argparse.ArgumentParser()
    add_sampler_flags(parser.add_argument_group("sampling"))
    assert sampler_placement(parser.parse_args(["--sampler-in-flight"])).in_flight
    with pytest.raises(UsageError, match="no request runs while weights change"):
        sampler_placement(parser.parse_args(["--sampler-in-flight", "--sampler-colocated"]))


def _ask(base_url: str, **fields: Any) -> Any:
    # Not closed: the response may be a stream.
    client = OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=60)
    messages: Any = [{"role": "user", "content": "?"}]
    return client.chat.completions.create(model="policy", messages=messages, **fields)
