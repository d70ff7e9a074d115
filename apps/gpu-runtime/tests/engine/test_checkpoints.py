"""Checkpoints are atomic, and training resumes from them bit for bit."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.engine.a_batch import SilentBackend, a_batch, a_loss, an_engine, no_progress

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.engine.checkpoints import checkpoint_tensors

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel

ADAM = AdamParameters(learning_rate=0.01, weight_decay=0.01)
LORA = LoraSettings(rank=4, alpha=8.0)


def make(directory: Path, lora: LoraSettings | None = None, *, seed: int = 3) -> TorchModel:
    return an_engine(directory).create_model(ModelRequest("m", "tiny", seed, lora, has_value_head=True))


def train(model: TorchModel, *steps: int) -> None:
    for step in steps:
        model.forward_backward(a_batch(step), a_loss("ppo", value_coefficient=0.5), no_progress)
        model.optim_step(ADAM)


def assert_same(left: TorchModel, right: TorchModel) -> None:
    assert left.state() == right.state()
    assert all(torch.equal(weight, right.weights[name]) for name, weight in left.weights.items())


@pytest.mark.parametrize("lora", [None, LORA])
def test_training_goes_on_bit_for_bit(tmp_path: Path, lora: LoraSettings | None) -> None:
    whole = make(tmp_path, lora)
    train(whole, 1, 2)
    whole.publish_weights()
    saved = whole.save_checkpoint("two", b"\x00 cursor \xff").result()
    train(whole, 3, 4)
    resumed = make(tmp_path, lora, seed=99)
    loaded = resumed.load_checkpoint(saved.uri)
    assert loaded == saved
    assert (loaded.step, loaded.policy_version, loaded.client_state) == (2, 1, b"\x00 cursor \xff")
    train(resumed, 3, 4)
    assert_same(resumed, whole)


def test_loading_serves_the_loaded_weights_and_drops_gradients(tmp_path: Path) -> None:
    model = make(tmp_path)
    uri = model.save_checkpoint("zero", b"").result().uri
    train(model, 1)
    model.publish_weights()
    model.forward_backward(a_batch(), a_loss(), no_progress)
    model.load_checkpoint(uri)
    inference = model.parts.inference
    assert isinstance(inference, SilentBackend)
    assert inference.versions["m"] == [0, 1, 0]
    with pytest.raises(EngineError, match="no gradients"):
        model.optim_step(ADAM)
    train(model, 1)
    fresh = make(tmp_path)
    train(fresh, 1)
    assert_same(model, fresh)


def test_no_policy_version_is_published_twice_also_after_an_earlier_one_was_loaded(tmp_path: Path) -> None:
    model = make(tmp_path)
    model.publish_weights()
    uri = model.save_checkpoint("one", b"").result().uri
    model.publish_weights()
    for _ in range(2):
        model.load_checkpoint(uri)
        assert model.state().policy_version == 1
        model.publish_weights()
    inference = model.parts.inference
    assert isinstance(inference, SilentBackend)
    assert inference.versions["m"] == [0, 1, 2, 1, 3, 1, 4]
    resumed = make(tmp_path)
    resumed.load_checkpoint(model.save_checkpoint("four", b"").result().uri)
    resumed.load_checkpoint(uri)
    resumed.publish_weights()
    assert resumed.state().policy_version == 5


def test_checkpoint_of_the_same_name_takes_the_others_place(tmp_path: Path) -> None:
    model = make(tmp_path, LORA)
    model.save_checkpoint("last", b"one").result()
    train(model, 1)
    model.save_checkpoint("last", b"two").result()
    assert [each.client_state for each in model.list_checkpoints()] == [b"two"]
    assert len(list((tmp_path / "m").iterdir())) == 2


def test_what_a_dead_process_left_is_no_checkpoint_and_goes_away(tmp_path: Path) -> None:
    model = make(tmp_path, LORA)
    half = tmp_path / "m" / "last.0123"
    half.mkdir(parents=True)
    (half / "__0_0.distcp").write_bytes(b"half")
    assert model.list_checkpoints() == []
    with pytest.raises(EngineError) as caught:
        model.load_checkpoint("m/last")
    assert caught.value.reason == EngineErrorReason.NOT_FOUND
    model.save_checkpoint("last", b"").result()
    assert not half.exists()


def test_training_continues_while_a_checkpoint_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, gate = make(tmp_path), threading.Event()
    save = checkpoint_tensors.save

    def save_late(*arguments: Any, **keywords: Any) -> object:
        assert gate.wait(60)
        return save(*arguments, **keywords)

    monkeypatch.setattr(checkpoint_tensors, "save", save_late)
    train(model, 1)
    saving = model.save_checkpoint("one", b"")
    train(model, 2)
    assert not saving.done()
    assert model.list_checkpoints() == []
    gate.set()
    assert saving.result(60).step == 1
    model.load_checkpoint("m/one")
    fresh = make(tmp_path)
    train(fresh, 1)
    assert_same(model, fresh)


def test_checkpoint_that_cannot_be_written_is_absent_and_training_continues(tmp_path: Path) -> None:
    model = make(tmp_path, LORA)
    model.save_checkpoint("a", b"").result()
    # The folder of the model is a file from here on.
    shutil.rmtree(tmp_path / "m")
    (tmp_path / "m").write_text("")
    with pytest.raises(OSError, match="m"):
        model.save_checkpoint("b", b"").result()
    (tmp_path / "m").unlink()
    assert model.list_checkpoints() == []
    train(model, 1)
    model.save_checkpoint("c", b"").result()
    assert [each.name for each in model.list_checkpoints()] == ["c"]


def test_list_is_newest_first_and_outlives_the_process(tmp_path: Path) -> None:
    model = make(tmp_path, LORA)
    for name in ("a", "b", "c"):
        model.save_checkpoint(name, name.encode()).result()
        train(model, 1)
    listed = make(tmp_path, LORA).list_checkpoints()
    assert [(each.name, each.step) for each in listed] == [("c", 2), ("b", 1), ("a", 0)]
    model.delete_checkpoint("m/b")
    assert [each.name for each in model.list_checkpoints()] == ["c", "a"]


@pytest.mark.parametrize("uri", ["m/none", "other/a", "m/../m/a", "m/", "", "/etc/passwd"])
def test_uri_of_something_else_is_not_found(tmp_path: Path, uri: str) -> None:
    model = make(tmp_path, LORA)
    model.save_checkpoint("a", b"").result()
    for use in (model.load_checkpoint, model.delete_checkpoint):
        with pytest.raises(EngineError) as caught:
            use(uri)
        assert caught.value.reason == EngineErrorReason.NOT_FOUND


def test_checkpoint_of_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    uri = make(tmp_path, LORA).save_checkpoint("a", b"").result().uri
    with pytest.raises(EngineError) as caught:
        make(tmp_path).load_checkpoint(uri)
    assert caught.value.reason == EngineErrorReason.INVALID


def test_gradients_that_wait_for_a_step_cannot_be_saved(tmp_path: Path) -> None:
    model = make(tmp_path, LORA)
    model.forward_backward(a_batch(), a_loss(), no_progress)
    with pytest.raises(EngineError) as caught:
        model.save_checkpoint("a", b"").result()
    assert caught.value.reason == EngineErrorReason.PRECONDITION
    model.discard_gradients()
    model.save_checkpoint("a", b"").result()
