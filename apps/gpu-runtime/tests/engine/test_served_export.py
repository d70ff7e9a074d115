"""A server in another process receives the weights as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from safetensors.torch import load_file
from tests.engine.a_batch import SilentBackend
from transformers import AutoModelForCausalLM

from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.engine.torch_engine import TorchEngine

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.contract.inference_backend import ServedModel


class WritingBackend(SilentBackend):
    """A backend that exports every published version."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

    def publish(self, model: ServedModel, version: int) -> None:
        super().publish(model, version)
        assert model.export is not None
        model.export(self._directory)
        assert model.export_base is not None
        model.export_base(self._directory / "base")


@pytest.mark.parametrize(
    ("lora", "file"), [(None, "model.safetensors"), (LoraSettings(2, 2.0), "adapter_model.safetensors")]
)
def test_published_weights_are_written_where_the_server_wants_them(
    tmp_path: Path, lora: LoraSettings | None, file: str
) -> None:
    settings = EngineSettings({"tiny": "random:llama-tiny"}, tmp_path / "checkpoints", device="cpu")
    out = tmp_path / "out"
    (out / "base").mkdir(parents=True)
    engine = TorchEngine(settings, WritingBackend(out))
    model = engine.create_model(ModelRequest("m", "tiny", 1, lora, has_value_head=True))
    model.publish_weights()
    # A server does not use a value head.
    assert len(load_file(out / file)) == len(model.weights) - 2
    # A server cannot make the model of `random:llama-tiny`, so it loads the files.
    base = AutoModelForCausalLM.from_pretrained(out / "base")
    expected = load_random_model("random:llama-tiny").causal_lm.state_dict()
    for name, weight in base.state_dict().items():
        torch.testing.assert_close(weight, expected[name], rtol=0, atol=0)
