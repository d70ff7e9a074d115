"""A model begins with the weights of a checkpoint of another model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from agentlightning_runtime.engine.torch_model import TorchModel

_LORA = LoraSettings(rank=4, alpha=8.0)


def _train(model: TorchModel) -> None:
    model.forward_backward(a_batch(), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.02))


def _scores(model: TorchModel, *, use_reference: bool = False) -> NDArray[np.float32]:
    return np.concatenate(model.forward(a_batch(), use_reference=use_reference, progress=no_progress).logprobs)


@pytest.mark.parametrize("lora", [None, _LORA])
@pytest.mark.parametrize("has_value_head", [False, True])
def test_a_model_continues_from_a_checkpoint(
    tmp_path: Path, lora: LoraSettings | None, *, has_value_head: bool
) -> None:
    torch.set_num_threads(1)
    engine = an_engine(tmp_path)
    source = engine.create_model(ModelRequest("source", "tiny", 1, lora, has_value_head))
    _train(source)
    source.publish_weights()
    uri = source.save_checkpoint("trained", b"state").result().uri
    initial = _scores(source)
    _train(source)
    model = engine.create_model(ModelRequest("model", "tiny", 2, lora, has_value_head, initial_checkpoint=uri))
    state = model.state()
    assert (state.step, state.policy_version) == (0, 0)
    np.testing.assert_array_equal(_scores(model), initial)
    _train(model)
    assert np.abs(_scores(model) - initial).max() > 1e-3
    np.testing.assert_allclose(_scores(model, use_reference=True), initial, rtol=0, atol=1e-5)
    # A model of the base itself keeps the base as its reference.
    assert np.abs(_scores(source, use_reference=True) - initial).max() > 1e-3
    own = model.save_checkpoint("own", b"").result()
    assert own.uri == "model/own"
    model.load_checkpoint(own.uri)
    with pytest.raises(EngineError) as caught:
        model.load_checkpoint(uri)
    assert caught.value.reason == EngineErrorReason.NOT_FOUND


@pytest.mark.parametrize(
    "wanted",
    [
        ModelRequest("model", "tiny", 1, LoraSettings(rank=2, alpha=8.0)),
        ModelRequest("model", "tiny", 1),
        ModelRequest("model", "tiny", 1, _LORA, has_value_head=True),
        ModelRequest("model", "other", 1, _LORA),
    ],
)
def test_a_checkpoint_of_another_shape_is_rejected(tmp_path: Path, wanted: ModelRequest) -> None:
    engine = an_engine(tmp_path, other="random:qwen2-tiny")
    uri = engine.create_model(ModelRequest("source", "tiny", 1, _LORA)).save_checkpoint("saved", b"").result().uri
    request = ModelRequest(
        wanted.model_id, wanted.base_model, wanted.seed, wanted.lora, wanted.has_value_head, initial_checkpoint=uri
    )
    with pytest.raises(EngineError, match="the model to create has") as caught:
        engine.create_model(request)
    assert (caught.value.reason, caught.value.field) == (EngineErrorReason.INVALID, "initial_checkpoint")


@pytest.mark.parametrize("uri", ["source/missing", "missing/saved", "../source/saved", "source", "source/../saved"])
def test_a_missing_checkpoint_is_not_found(tmp_path: Path, uri: str) -> None:
    engine = an_engine(tmp_path / "checkpoints")
    engine.create_model(ModelRequest("source", "tiny", 1, _LORA)).save_checkpoint("saved", b"").result()
    with pytest.raises(EngineError) as caught:
        engine.create_model(ModelRequest("model", "tiny", 1, _LORA, initial_checkpoint=uri))
    assert caught.value.reason == EngineErrorReason.NOT_FOUND
