"""Every publication carries a digest, and a probe detects a sampler with other weights."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING

import pytest
import torch
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.inference.scripted_vllm import ScriptedVllm

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.experimental.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.http.http_server import EndpointSettings
from agentlightning_runtime.inference.sampling.sampler import Sampler, SamplerLimits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.inference.scripted_vllm import Fault

    from agentlightning_runtime.contract.inference_backend import InferenceBackend
    from agentlightning_runtime.engine.torch_model import TorchModel
    from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmModel
    from agentlightning_runtime.inference.sampling.model_queue import ModelQueue
    from agentlightning_runtime.inference.sampling.served_weights import ServedWeights

_LORA = LoraSettings(rank=4, alpha=8.0)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def _engine(directory: Path, backend: InferenceBackend) -> TorchEngine:
    settings = EngineSettings(base_models={"tiny": "random:llama-tiny"}, checkpoint_directory=directory, device="cpu")
    return TorchEngine(settings, backend)


@pytest.fixture
def servers() -> list[ScriptedVllm]:
    return []


@pytest.fixture
def with_vllm(tmp_path: Path, servers: list[ScriptedVllm]) -> Iterator[TorchEngine]:
    def start(model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        servers.append(ScriptedVllm(model))
        return servers[-1]

    engine = _engine(tmp_path, VllmBackend(EndpointSettings(), [start]))
    yield engine
    engine.close()


@pytest.fixture
def with_sampler(tmp_path: Path) -> Iterator[TorchEngine]:
    engine = _engine(tmp_path, BuiltinBackend(EndpointSettings()))
    yield engine
    engine.close()


def _train(model: TorchModel) -> None:
    model.forward_backward(a_batch(), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.02))


def _mismatch_of(model: TorchModel) -> EngineError:
    with pytest.raises(EngineError, match="does not sample from policy version") as caught:
        model.publish_weights()
    error = caught.value
    assert error.reason == EngineErrorReason.WEIGHT_MISMATCH
    assert error.probe is not None
    assert error.probe.logprob_gap > error.probe.max_logprob_gap
    assert error.probe.tokens == 16 * 2
    assert f"{error.probe.logprob_gap:.4g} nats" in error.message
    return error


@pytest.mark.parametrize("lora", [_LORA, None])
@pytest.mark.parametrize("engine", ["with_vllm", "with_sampler"])
def test_a_publication_reports_its_digest_and_the_probe(
    request: pytest.FixtureRequest, engine: str, lora: LoraSettings | None
) -> None:
    made: TorchEngine = request.getfixturevalue(engine)
    model = made.create_model(ModelRequest("policy", "tiny", seed=1, lora=lora))
    digests = [model.endpoint().weights]
    for _ in range(2):
        _train(model)
        digests.append(model.publish_weights().weights)
    digests.append(model.publish_weights().weights)
    assert all(each is not None and each.probe is not None for each in digests)
    found = [each for each in digests if each is not None]
    assert [each.probe.logprob_gap < 1e-4 for each in found if each.probe] == [True] * 4
    # Each token of a response is a step of the sampler: later publications sample fewer.
    assert [each.probe.tokens for each in found if each.probe] == [16 * 8, 16 * 2, 16 * 2, 16 * 2]
    assert [each.probe.max_logprob_gap for each in found if each.probe] == [1e-3] * 4
    # The last publication is of the same weights.
    assert len({each.digest for each in found}) == 3
    assert found[2].digest == found[3].digest
    assert found[0].digest.startswith("sha256:")


@pytest.mark.parametrize("fault", ["adapter_not_delivered", "old_adapter_kept", "base_served", "stale_replica"])
def test_a_planted_fault_of_an_adapter_fails_the_publication(
    with_vllm: TorchEngine, servers: list[ScriptedVllm], fault: Fault
) -> None:
    model = with_vllm.create_model(ModelRequest("policy", "tiny", seed=1, lora=_LORA))
    _train(model)
    model.publish_weights()
    servers[0].fault = fault
    _train(model)
    error = _mismatch_of(model)
    share = "8 of 16" if fault == "stale_replica" else "16 of 16"
    assert share in error.message
    assert model.state().policy_version == 2
    servers[0].fault = ""
    assert model.publish_weights().policy_version == 3


@pytest.mark.parametrize("fault", ["old_adapter_kept", "stale_replica"])
def test_weights_that_are_not_reloaded_fail_the_publication(
    with_vllm: TorchEngine, servers: list[ScriptedVllm], fault: Fault
) -> None:
    model = with_vllm.create_model(ModelRequest("policy", "tiny", seed=1))
    servers[0].fault = fault
    _train(model)
    _mismatch_of(model)


def test_a_sampler_that_keeps_old_weights_fails_the_publication_and_the_load(
    with_sampler: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = with_sampler.create_model(ModelRequest("policy", "tiny", seed=1))
    saved = model.save_checkpoint("start", b"").result()
    _train(model)
    model.publish_weights()

    def keep(self: Sampler, model_id: str, weights: ServedWeights) -> None:
        queue: ModelQueue = vars(self)["_models"][model_id]
        queue.weights = dataclasses.replace(queue.weights, version=weights.version)

    monkeypatch.setattr(Sampler, "publish", keep)
    with pytest.raises(EngineError, match="does not sample from policy version 0"):
        model.load_checkpoint(saved.uri)
    # After one step the weights are those that the sampler keeps.
    for _ in range(2):
        _train(model)
    _mismatch_of(model)


def test_a_sampler_with_another_base_fails_the_creation(
    with_sampler: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = Sampler.add_model

    def scaled(self: Sampler, model_id: str, shape: object, weights: ServedWeights) -> None:
        with torch.no_grad():
            for parameter in weights.module.parameters():
                parameter.mul_(3)
        serve(self, model_id, shape, weights)  # pyright: ignore[reportArgumentType] -- passed on unchanged

    monkeypatch.setattr(Sampler, "add_model", scaled)
    with pytest.raises(EngineError, match=r"above 0\.5,") as caught:
        with_sampler.create_model(ModelRequest("policy", "tiny", seed=1))
    assert caught.value.reason == EngineErrorReason.WEIGHT_MISMATCH
    monkeypatch.undo()
    assert with_sampler.create_model(ModelRequest("policy", "tiny", seed=1)).state().policy_version == 0


def test_a_paused_model_is_published_and_probed(with_sampler: TorchEngine) -> None:
    model = with_sampler.create_model(ModelRequest("policy", "tiny", seed=1, lora=_LORA))
    assert model.pause("drain").is_paused
    _train(model)
    weights = model.publish_weights().weights
    assert weights is not None
    assert weights.probe is not None


def test_a_probe_needs_no_free_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = "agentlightning_runtime.inference.sampling.sampler.SamplerLimits"
    monkeypatch.setattr(limits, lambda: SamplerLimits(max_running=0))
    engine = _engine(tmp_path, BuiltinBackend(EndpointSettings()))
    published = threading.Event()

    def publish() -> None:
        engine.create_model(ModelRequest("policy", "tiny", seed=1, lora=_LORA)).publish_weights()
        published.set()

    threading.Thread(target=publish, daemon=True).start()
    assert published.wait(60)
    engine.close()
