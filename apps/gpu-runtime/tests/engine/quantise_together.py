"""Run by torchrun: quantised training with any number of processes, and its recorded results."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.engine.train_together import ADAM, lead

from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest

#: All weights with quantised moments; a LoRA on a quantised base. By the directory, which has the base model.
KINDS = {"full": None, "lora": LoraSettings(rank=16, alpha=32.0)}


def main() -> None:
    directory = Path(sys.argv[1])
    kind = directory.name
    settings = EngineSettings(
        {"base": str(directory.parent.parent / "base")},
        directory,
        device="cpu",
        load_in_4bit=kind == "lora",
        optimizer="adamw-8bit",
    )
    led = lead(settings)
    if led is None:
        return
    leading, backend = led
    model = leading.create_model(ModelRequest("m", "base", 3, KINDS[kind]))
    scores: list[list[float]] = []
    for step in range(3):
        if step == 2:
            model.save_checkpoint("two", b"").result()
        model.forward_backward(a_batch(step), a_loss("ppo"), no_progress)
        model.optim_step(ADAM)
        scored = model.forward(a_batch(5), use_reference=False, progress=no_progress)
        scores.append([each for logprobs in scored.logprobs for each in logprobs.tolist()])
    model.publish_weights()
    torch.save({"scores": scores, "served": backend.weights}, directory / "results.pt")
    leading.close()


if __name__ == "__main__":
    main()
