"""A real vLLM that the runtime starts: `pnpm test:vllm`, or `python -m pytest -m vllm` where it is installed."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import openai
import pytest
from openai import OpenAI
from tests.engine.a_batch import a_batch, no_progress
from tests.engine.gguf_file import write_gguf
from tests.inference.sampled_datum import sampled_datum
from tests.inference.serving import MODEL_ID, ask_model
from tests.vllm.gloo_communicator import install_in_this_process, plugin_path
from tests.vllm.real_vllm import (
    ARGUMENTS,
    WITH_VLLM,
    a_folder_with_a_model,
    a_loaded_model,
    step,
    train_and_publish,
    wait_for_request,
)

from agentlightning_runtime.contract.batch import Batch
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest, SamplerPlacement
from agentlightning_runtime.create_engine import create_engine
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.experimental.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.open_backend import endpoint_settings, replica_starts

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    import torch

    from agentlightning_runtime.engine.torch_model import TorchModel
    from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmModel
    from agentlightning_runtime.inference.experimental.vllm.vllm_process import RunningServer

pytestmark = WITH_VLLM


@pytest.fixture(params=["files", "nccl"])
def arguments(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Generator[tuple[str, ...]]:
    """Of a server whose weights are files, and of one that receives them."""
    if request.param == "files":
        yield ARGUMENTS
        return
    caplog.set_level(logging.INFO)
    install_in_this_process(monkeypatch)
    monkeypatch.setenv("PYTHONPATH", plugin_path(tmp_path))
    yield (*ARGUMENTS, "--weight-transfer-config", '{"backend":"nccl"}')
    assert any("go to vLLM over NCCL" in record.getMessage() for record in caplog.get_records("call"))


def test_vllm_samples_from_every_adapter_that_is_published(tmp_path: Path) -> None:
    _check_versions_that_are_published(tmp_path, LoraSettings(rank=4, alpha=8.0), ARGUMENTS)


def test_vllm_samples_from_all_weights_that_are_published(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    _check_versions_that_are_published(tmp_path, None, arguments)


def _check_versions_that_are_published(tmp_path: Path, lora: LoraSettings | None, arguments: tuple[str, ...]) -> None:
    if lora is None:
        source = a_folder_with_a_model(tmp_path / "base", is_tied=False)
    else:
        # vLLM cannot load this file: the runtime writes the base for it.
        source = str(tmp_path / "base.gguf")
        write_gguf(a_loaded_model(is_tied=True), tmp_path / "base.gguf")
    settings = EngineSettings(
        base_models={"base": source},
        checkpoint_directory=tmp_path / "checkpoints",
        device="cpu",
        dtype="float32",
        inference_engine="vllm",
        vllm_arguments=arguments,
    )
    engine = create_engine(settings)
    try:
        model = engine.create_model(ModelRequest(MODEL_ID, "base", seed=1, lora=lora))
        train_and_publish(model, 3)
        base_url = model.endpoint().base_url
        with pytest.raises(openai.BadRequestError):
            ask_model(base_url, temperature=-1.0)
        _check_stream(base_url)
        model.unload()
    finally:
        engine.close()


def test_a_running_response_continues_from_new_weights(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    settings = EngineSettings(
        base_models={"base": a_folder_with_a_model(tmp_path / "base", is_tied=False)},
        checkpoint_directory=tmp_path / "checkpoints",
        device="cpu",
        dtype="float32",
        inference_engine="vllm",
        vllm_arguments=arguments,
        sampler=SamplerPlacement(in_flight=True),
    )
    servers: list[RunningServer] = []

    def start(model: VllmModel, reserved_bytes: int) -> RunningServer:
        (start_replica,) = replica_starts(settings)
        servers.append(start_replica(model, reserved_bytes))
        return servers[-1]

    engine = TorchEngine(settings, VllmBackend(endpoint_settings(settings), [start], in_flight=True))
    try:
        model = engine.create_model(ModelRequest(MODEL_ID, "base", seed=1))
        base_url = model.endpoint().base_url
        weights = [_copy(model)]
        for _ in range(4):
            step(model, a_batch().data)
            weights.append(_copy(model))
        answers: list[Any] = []
        is_published = threading.Event()

        def ask() -> None:
            while not is_published.is_set():
                answers.append(ask_model(base_url, n=4, max_tokens=440, extra_body={"ignore_eos": True}))

        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask)
            try:
                for each in weights[1:]:
                    _restore(model, each)
                    wait_for_request(servers[0].root_url)
                    model.publish_weights()
            finally:
                is_published.set()
            asking.result()
        assert any(len(set(choice.policy_versions)) > 1 for answer in answers for choice in answer.choices)
        for answer in answers:
            _check_versions(model, answer, weights)
        _check_stream(base_url)
        assert ask_model(base_url, max_tokens=4).choices[0].policy_versions == [len(weights) - 1] * 4
        with pytest.raises(openai.BadRequestError):
            ask_model(base_url, temperature=-1.0)
    finally:
        engine.close()


def _check_versions(model: TorchModel, answer: Any, weights: list[dict[str, torch.Tensor]]) -> None:
    """Each token has the log-probability of the weights of its version."""
    assert answer.policy_version == min(choice.policy_versions[0] for choice in answer.choices)
    seen = [np.array(choice.policy_versions) for choice in answer.choices]
    assert [len(each) for each in seen] == [440] * 4
    data = [sampled_datum(answer, choice, 1.0) for choice in answer.choices]
    for version, own in enumerate(weights):
        _restore(model, own)
        found = model.forward(Batch(data), use_reference=False, progress=no_progress).logprobs
        for mine, datum, versions in zip(found, data, seen, strict=True):
            assert sorted(versions) == list(versions)
            at = versions == version
            np.testing.assert_allclose(mine[at], datum.sampling_logprobs[at], rtol=0, atol=1e-4)


def _copy(model: TorchModel) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in model.weights.items()}


def _restore(model: TorchModel, weights: dict[str, torch.Tensor]) -> None:
    for name, weight in model.weights.items():
        weight.data.copy_(weights[name])


def _check_stream(base_url: str) -> None:
    """A stream has the token ids and log-probabilities of the whole response to the same request."""
    whole = ask_model(base_url, seed=5)
    with OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=60) as client:
        stream = client.chat.completions.create(
            model=MODEL_ID,
            messages=[{"role": "user", "content": "Say a number."}],
            max_tokens=12,
            logprobs=True,
            seed=5,
            stream=True,
            extra_body={"return_token_ids": True},
        )
        assert stream.response.headers["x-agl-policy-version"] == str(whole.policy_version)
        chunks = [chunk.model_dump() for chunk in stream]
    assert chunks[0]["prompt_token_ids"] == whole.prompt_token_ids
    parts = [choice for chunk in chunks for choice in chunk["choices"]]
    assert [token for part in parts for token in part.get("token_ids") or ()] == whole.choices[0].token_ids
    logprobs = [entry["logprob"] for part in parts if part["logprobs"] for entry in part["logprobs"]["content"]]
    expected = [entry.logprob for entry in whole.choices[0].logprobs.content]
    assert logprobs == pytest.approx(expected, abs=1e-5)
