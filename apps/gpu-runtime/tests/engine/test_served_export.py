"""A server in another process receives the weights as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from safetensors.torch import load_file
from tests.engine.a_batch import SilentBackend

from agentlightning_runtime.engine.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.torch_engine import TorchEngine

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.inference.inference_backend import ServedModel


class WritingBackend(SilentBackend):
    """A backend that exports every published version."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

    def publish(self, model: ServedModel, version: int) -> None:
        super().publish(model, version)
        assert model.export is not None
        model.export(self._directory)


@pytest.mark.parametrize(
    ("lora", "file"), [(None, "model.safetensors"), (LoraSettings(2, 2.0), "adapter_model.safetensors")]
)
def test_published_weights_are_written_where_the_server_wants_them(
    tmp_path: Path, lora: LoraSettings | None, file: str
) -> None:
    settings = EngineSettings({"tiny": "random:llama-tiny"}, tmp_path / "checkpoints", device="cpu")
    out = tmp_path / "out"
    out.mkdir()
    engine = TorchEngine(settings, WritingBackend(out))
    model = engine.create_model(ModelRequest("m", "tiny", 1, lora, has_value_head=True))
    model.publish_weights()
    # A server does not use a value head.
    assert len(load_file(out / file)) == len(model.weights) - 2
