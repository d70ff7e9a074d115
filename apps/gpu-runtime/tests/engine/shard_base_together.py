"""Run by torchrun: the training of `train_together.py` with a LoRA, whose frozen base is sharded."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file
from tests.engine.train_together import RecordingBackend, gradients, lead, train

from agentlightning_runtime.contract.inference_backend import ServedModel
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.loading.empty_model import own_region
from agentlightning_runtime.engine.torch_model import TorchModel


class ExportingBackend(RecordingBackend):
    """A backend in another process, which has the base: it receives the adapter as a file."""

    def record(self, model: ServedModel) -> None:
        assert model.export is not None
        with tempfile.TemporaryDirectory() as folder:
            model.export(Path(folder))
            weights = load_file(Path(folder) / "adapter_model.safetensors")
        names = {name: name.removeprefix("base_model.model.").rpartition(".weight")[0] for name in weights}
        self.weights = {f"{names[name]}.default.weight": weight for name, weight in weights.items()}


def held_share(model: TorchModel) -> float:
    """The share of the base that this rank holds."""
    frozen = [weight for weight in model.parts.network.parameters() if not weight.requires_grad]
    return sum(own_region(weight)[0].numel() for weight in frozen) / sum(weight.numel() for weight in frozen)


def main() -> None:
    directory = Path(sys.argv[1])
    settings = EngineSettings(
        {"tiny": "random:llama-tiny"}, directory, device="cpu", micro_batch_tokens=100, shard_base=True
    )
    led = lead(settings, has_tiles=True, records=ExportingBackend)
    if led is None:
        return
    leading, backend = led
    results: dict[str, object] = {}
    lora = LoraSettings(rank=4, alpha=8.0)
    once = leading.create_model(ModelRequest("lora-once", "tiny", 3, lora, has_value_head=True))
    assert isinstance(once.own, TorchModel)
    results["held"] = held_share(once.own)
    results["lora-gradients"] = gradients(once, backend)
    once.unload()
    model = leading.create_model(ModelRequest("lora", "tiny", 3, lora, has_value_head=True))
    results["lora"] = train(model, "lora", directory)
    results["lora-served"] = backend.weights
    model.unload()
    torch.save(results, directory / "results.pt")
    leading.close()


if __name__ == "__main__":
    main()
