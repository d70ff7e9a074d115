"""SGLang servers that run elsewhere as the sampler, with a scripted server."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import openai
import pytest
import torch
from openai import OpenAI
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.inference.scripted_sglang import ScriptedSglang

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest, SamplerPlacement
from agentlightning_runtime.create_engine import create_engine
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.experimental.vllm.remote_server import RemoteServer

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from agentlightning_runtime.contract.engine import EngineModel

_LORA = LoraSettings(rank=4, alpha=8.0)


@contextmanager
def a_server(source: str | None = None, **others: Any) -> Generator[ScriptedSglang]:
    server = ScriptedSglang(source, **others)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def a_model(directory: Path, server: ScriptedSglang, lora: LoraSettings | None, **place: Any) -> Generator[EngineModel]:
    torch.set_num_threads(1)
    settings = EngineSettings(
        {"tiny": "random:llama-tiny"},
        directory / "checkpoints",
        device="cpu",
        sampler=SamplerPlacement(urls=[f"{server.root_url}/v1"], folder=directory / "published", **place),
    )
    engine = create_engine(settings)
    assert isinstance(engine, TorchEngine)
    try:
        yield engine.create_model(ModelRequest("policy", "tiny", seed=1, lora=lora))
    finally:
        engine.close()


def step(model: EngineModel) -> None:
    model.forward_backward(Batch(a_batch().data), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.05))


def ask(model: EngineModel, **fields: Any) -> Any:
    client = OpenAI(base_url=model.endpoint().base_url, api_key="none", max_retries=0, timeout=60)
    messages: Any = [{"role": "user", "content": "?"}]
    return client.chat.completions.create(model="policy", messages=messages, **fields)


@pytest.mark.parametrize(("lora", "max_lora_rank"), [(_LORA, 4), (None, 0)])
def test_every_publication_is_sampled_from(tmp_path: Path, lora: LoraSettings | None, max_lora_rank: int) -> None:
    with a_server(max_lora_rank=max_lora_rank) as server:
        with a_model(tmp_path, server, lora) as model:
            for version in (1, 2):
                step(model)
                weights = model.publish_weights().weights
                # The probe has compared the log-probabilities of the server with those of the trainer.
                assert weights is not None
                assert weights.probe is not None
                assert weights.probe.logprob_gap < 1e-4
                answer = ask(model, logprobs=True, extra_body={"return_token_ids": True})
                assert (answer.policy_version, answer.model) == (version, "policy")
                choice = answer.choices[0]
                assert choice.prompt_token_ids == [2, 3]
                assert choice.message.content == str(choice.token_ids[0])
                assert len(choice.logprobs.content) == len(choice.token_ids)
            assert server.adapters == (["policy-v2-p3"] if lora else [])
        assert server.adapters == []
        assert server.unknown_fields == set()


def test_a_stream_with_token_ids_has_the_whole_response(tmp_path: Path) -> None:
    with a_server(max_lora_rank=8) as server, a_model(tmp_path, server, _LORA) as model:
        (chunk,) = ask(model, stream=True, logprobs=True, extra_body={"return_token_ids": True})
        assert chunk.object == "chat.completion.chunk"
        assert chunk.policy_version == 0
        assert [chunk.choices[0].delta.content] == [str(token) for token in chunk.choices[0].token_ids]
        # Without token ids SGLang streams.
        assert len(list(ask(model, stream=True))) == 2


@pytest.mark.parametrize(("lora", "max_lora_rank"), [(_LORA, 4), (None, 0)])
def test_weights_that_are_not_changed_fail_the_publication(
    tmp_path: Path, lora: LoraSettings | None, max_lora_rank: int
) -> None:
    with a_server(max_lora_rank=max_lora_rank) as server, a_model(tmp_path, server, lora) as model:
        server.keeps_weights = True
        for _ in range(2):
            step(model)
        with pytest.raises(EngineError, match="does not sample from policy version 1") as caught:
            model.publish_weights()
        assert caught.value.reason == EngineErrorReason.WEIGHT_MISMATCH


def test_what_sglang_rejects_is_reported(tmp_path: Path) -> None:
    with (
        a_server() as server,
        pytest.raises(EngineError, match=r"SGLang at http.* rejected /load_lora_adapter .*LoRA is not enabled"),
        a_model(tmp_path, server, _LORA),
    ):
        pass
    with a_server(max_lora_rank=4) as server, a_model(tmp_path, server, _LORA) as model:
        # The adapter is gone, as after a restart of the server.
        vars(server)["_networks"].pop("policy-v0-p1")
        with pytest.raises(openai.BadRequestError, match="are not loaded"):
            ask(model)


def test_sampling_defaults_of_the_model_are_refused() -> None:
    with (
        a_server(sampling_defaults="model") as server,
        pytest.raises(EngineError, match="Start it with --sampling-defaults openai") as caught,
    ):
        RemoteServer(server.root_url)
    assert caught.value.reason == EngineErrorReason.PRECONDITION


def test_weights_that_change_in_flight_are_refused(tmp_path: Path) -> None:
    with (
        a_server() as server,
        pytest.raises(EngineError, match="Remove --sampler-in-flight"),
        a_model(tmp_path, server, None, in_flight=True),
    ):
        pass
