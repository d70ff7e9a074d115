"""The engine on a Ray cluster of two nodes, with gloo, against the engine of one process."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file
from tests.cluster.two_nodes import Nodes, two_nodes
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress
from tests.inference.serving import MODEL_ID, ask_model

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest, RaySettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentlightning_runtime.contract.engine import EngineModel, RuntimeEngine

pytestmark = pytest.mark.long

ADAM = AdamParameters(learning_rate=0.01, weight_decay=0.01)

#: With so large an epsilon a first step of Adam is the gradient: lr g / (|g| + epsilon).
LINEAR_ADAM = AdamParameters(learning_rate=1e6, epsilon=1e4, gradient_clip_norm=0.0)

LORA = LoraSettings(rank=4, alpha=8.0)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with two_nodes() as found:
        yield found


@pytest.fixture
def engine(nodes: Nodes, tmp_path: Path) -> Iterator[RuntimeEngine]:
    from agentlightning_runtime.cluster.ray_engine import create_engine

    engine = create_engine(settings(nodes, tmp_path))
    yield engine
    engine.close()


def settings(nodes: Nodes, directory: Path, workers: int = 2) -> EngineSettings:
    cluster = RaySettings(nodes.address, workers)
    return EngineSettings({"tiny": "random:llama-tiny"}, directory, device="cpu", micro_batch_tokens=100, ray=cluster)


def weights(model: EngineModel, directory: Path) -> dict[str, torch.Tensor]:
    directory.mkdir()
    model.export_weights("", "safetensors", directory)
    return {name: tensor for file in directory.glob("*.safetensors") for name, tensor in load_file(file).items()}


def gradients(model: EngineModel, directory: Path) -> dict[str, torch.Tensor]:
    """The change of the weights in a step that is linear in the gradient."""
    directory.mkdir()
    before = weights(model, directory / "before")
    model.forward_backward(a_batch(1), a_loss("ppo", entropy_coefficient=0.1), no_progress)
    model.optim_step(LINEAR_ADAM)
    return {name: weight - before[name] for name, weight in weights(model, directory / "after").items()}


def steps(model: EngineModel, *seeds: int) -> None:
    for seed in seeds:
        model.forward_backward(a_batch(seed), a_loss("ppo"), no_progress)
        model.optim_step(ADAM)
        model.publish_weights()


@pytest.mark.parametrize("lora", [None, LORA], ids=["full", "lora"])
def test_gradients_of_two_nodes_are_those_of_one_process(
    engine: RuntimeEngine, tmp_path: Path, lora: LoraSettings | None
) -> None:
    request = ModelRequest("m", "tiny", 3, lora)
    two = gradients(engine.create_model(request), tmp_path / "two")
    one = gradients(an_engine(tmp_path / "alone", micro_batch_tokens=100).create_model(request), tmp_path / "one")
    assert two.keys() == one.keys()
    changed = {name for name, gradient in one.items() if gradient.any()}
    assert changed
    for name in changed:
        assert (two[name] - one[name]).norm() <= 1e-4 * one[name].norm()


@pytest.mark.parametrize("node", [0, 1])
def test_a_killed_worker_changes_nothing(engine: RuntimeEngine, nodes: Nodes, tmp_path: Path, node: int) -> None:
    """Killed during the passes of a step: neither the client nor a caller of the endpoint notices."""
    request = ModelRequest(MODEL_ID, "tiny", 3)
    model = engine.create_model(request)
    steps(model, 1, 2)
    saved = model.save_checkpoint("after-2", b"state").result()
    steps(model, 3)
    model.forward_backward(a_batch(4), a_loss("ppo"), no_progress)
    killing = threading.Thread(target=nodes.kill_worker, args=(node,))
    killing.start()
    for _ in range(3):
        # Of weight: the gradients accumulate, and the killed one must count once.
        model.forward_backward(a_batch(5), a_loss("ppo"), no_progress)
    killing.join()
    model.optim_step(ADAM)
    assert model.publish_weights().policy_version == 4
    assert model.state().step == 4
    assert ask_model(model.endpoint().base_url, max_tokens=4).policy_version == 4
    assert [each.uri for each in model.list_checkpoints()] == [saved.uri]

    alone = an_engine(tmp_path / "alone", micro_batch_tokens=100).create_model(request)
    steps(alone, 1, 2, 3)
    for seed in (4, 5, 5, 5):
        alone.forward_backward(a_batch(seed), a_loss("ppo"), no_progress)
    alone.optim_step(ADAM)
    expected = weights(alone, tmp_path / "expected")
    for name, tensor in weights(model, tmp_path / "found").items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-3, atol=2e-4)


def test_requests_of_agents_survive_the_worker_that_samples(engine: RuntimeEngine, nodes: Nodes) -> None:
    model = engine.create_model(ModelRequest(MODEL_ID, "tiny", 3))
    url = model.endpoint().base_url
    model.publish_weights()
    found: list[Any] = []
    asking = [
        threading.Thread(target=lambda: found.append(ask_model(url, max_tokens=200, temperature=1.0))) for _ in range(4)
    ]
    for each in asking:
        each.start()
    nodes.kill_worker(0)
    nodes.kill_worker(1)
    for each in asking:
        each.join(120)
    assert [answer.policy_version for answer in found] == [1] * 4
    assert model.endpoint().base_url == url


def test_one_worker_continues_from_the_checkpoint_of_two(nodes: Nodes, tmp_path: Path) -> None:
    from agentlightning_runtime.cluster.ray_engine import create_engine

    request = ModelRequest("m", "tiny", 3)
    two = create_engine(settings(nodes, tmp_path))
    try:
        model = two.create_model(request)
        steps(model, 1)
        model.save_checkpoint("kept", b"").result()
        steps(model, 2)
        expected = weights(model, tmp_path / "two")
    finally:
        two.close()
    one = create_engine(settings(nodes, tmp_path, workers=1))
    try:
        model = one.create_model(request)
        assert model.load_checkpoint("m/kept").step == 1
        steps(model, 2)
        found = weights(model, tmp_path / "one")
    finally:
        one.close()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-3, atol=2e-4)


def test_errors_of_the_workers_reach_the_client(engine: RuntimeEngine) -> None:
    model = engine.create_model(ModelRequest("m", "tiny", 3))
    with pytest.raises(EngineError, match="no gradients") as caught:
        model.optim_step(ADAM)
    assert caught.value.reason == "PRECONDITION"
    with pytest.raises(EngineError, match='no checkpoint "m/absent"'):
        model.load_checkpoint("m/absent")
    steps(model, 1)
    model.unload()
    assert engine.create_model(ModelRequest("m", "tiny", 3)).state().step == 0


def test_more_workers_than_the_cluster_has_cores_are_rejected(nodes: Nodes, tmp_path: Path) -> None:
    from agentlightning_runtime.cluster.ray_engine import create_engine

    text = "3 workers were requested; the Ray cluster has resources for 2"
    with pytest.raises(EngineError, match=text) as caught:
        create_engine(settings(nodes, tmp_path, workers=3))
    assert caught.value.reason == "PRECONDITION"
