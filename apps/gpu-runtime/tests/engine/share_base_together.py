"""Run by torchrun: LoRAs on a base that the processes share, in groups of the size in the directory's name."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tests.engine.a_batch import a_batch, no_progress
from tests.engine.train_together import gradients, lead, train

from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest


def main() -> None:
    directory = Path(sys.argv[1])
    settings = EngineSettings(
        {"tiny": "random:llama-tiny"},
        directory,
        device="cpu",
        micro_batch_tokens=100,
        tensor_parallel=int(directory.name),
    )
    led = lead(settings, has_tiles=True)
    if led is None:
        return
    leading, backend = led
    lora = LoraSettings(rank=4, alpha=8.0)
    once = leading.create_model(ModelRequest("once", "tiny", 3, lora, has_value_head=True))
    initial = {name: weight.clone() for name, weight in backend.weights.items()}
    results: dict[str, object] = {"initial": initial, "gradients": gradients(once, backend)}
    base = once.own.parts.base.load().causal_lm
    results["local"] = sum(getattr(weight, "_local_tensor", weight).numel() for weight in base.parameters())
    once.unload()
    model = leading.create_model(ModelRequest("lora", "tiny", 3, lora, has_value_head=True))
    results["lora"] = train(model, model.own, directory)
    results["served"] = backend.weights
    scored = model.forward(a_batch(7), use_reference=False, progress=no_progress)
    results["scores"] = [each.tolist() for each in scored.logprobs]
    torch.save(results, directory / "results.pt")
    leading.close()


if __name__ == "__main__":
    main()
