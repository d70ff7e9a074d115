"""Run by torchrun: the training of `train_together.py` with a LoRA, whose frozen base is sharded."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file
from tests.engine.a_batch import a_batch, a_loss
from tests.engine.an_image import VISION_SOURCE, a_batch_with_images
from tests.engine.train_together import LORA, PPO, RecordingBackend, gradients, lead, train

from agentlightning_runtime.contract.inference_backend import ServedModel
from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest
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
    models = {"tiny": "random:llama-tiny", "vision": VISION_SOURCE}
    settings = EngineSettings(models, directory, device="cpu", micro_batch_tokens=100, shard_base=True)
    led = lead(settings, has_tiles=True, records=ExportingBackend)
    if led is None:
        return
    leading, backend = led
    results: dict[str, object] = {}
    once = leading.create_model(ModelRequest("lora-once", "tiny", 3, LORA, has_value_head=True))
    assert isinstance(once.own, TorchModel)
    results["held"] = held_share(once.own)
    results["lora-gradients"] = gradients(once, backend, a_batch(1), PPO)
    once.unload()
    vision = leading.create_model(ModelRequest("vision", "vision", 3, LORA))
    batch = a_batch_with_images()
    results["lora-vision-gradients"] = gradients(vision, backend, batch, a_loss("cross_entropy"))
    vision.unload()
    model = leading.create_model(ModelRequest("lora", "tiny", 3, LORA, has_value_head=True))
    results["lora"] = train(model, "lora", directory)
    results["lora-served"] = backend.weights
    model.unload()
    torch.save(results, directory / "results.pt")
    leading.close()


if __name__ == "__main__":
    main()
