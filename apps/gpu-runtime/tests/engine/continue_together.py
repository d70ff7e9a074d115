"""Run by torchrun: continues from the checkpoints that `train_together.py` wrote with another number of processes."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.engine.train_together import ADAM, lead

from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest


def main() -> None:
    directory = Path(sys.argv[1])
    settings = EngineSettings({"tiny": "random:llama-tiny"}, directory, device="cpu", micro_batch_tokens=100)
    led = lead(settings)
    if led is None:
        return
    leading, backend = led
    results: dict[str, object] = {"ranks": torch.distributed.get_world_size()}
    for name, lora in (("full", None), ("lora", LoraSettings(rank=4, alpha=8.0))):
        model = leading.create_model(ModelRequest(name, "tiny", 99, lora, has_value_head=True))
        model.load_checkpoint(f"{name}/after-{name}")
        model.forward_backward(a_batch(4), a_loss("cispo"), no_progress)
        model.optim_step(ADAM)
        model.publish_weights()
        results[name] = backend.weights
        model.unload()
    torch.save(results, directory / "continued.pt")
    leading.close()


if __name__ == "__main__":
    main()
