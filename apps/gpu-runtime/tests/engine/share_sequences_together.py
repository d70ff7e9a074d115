"""Run by torchrun: processes that share the tokens of micro-batches, in groups of the size in the directory's name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from tests.engine.a_batch import a_batch, a_datum, a_loss, no_progress, siblings
from tests.engine.train_together import gradients, lead, train
from torch.autograd.graph import saved_tensors_hooks

from agentlightning_runtime.contract.batch import Batch
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest

if TYPE_CHECKING:
    from agentlightning_runtime.engine.data_parallel import LeadingModel

#: Different lengths, common prefixes, and a row whose scored tokens are all in its last part.
BATCHES = {
    "lengths": a_batch(1),
    "prefixes": siblings(),
    "end": Batch([a_datum(90, [(80, 90)])]),
}


def saved_bytes(model: LeadingModel) -> int:
    """The memory that a pass of one row keeps for its backward pass, without weights."""
    saved: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        model.forward_backward(Batch([a_datum(145, [(1, 145)])]), a_loss(), no_progress)
    weights = {weight.untyped_storage().data_ptr() for weight in model.own.parts.network.parameters()}
    return sum(size for address, size in saved.items() if address not in weights)


def run_out_of_memory_once(model: LeadingModel, place: str) -> list[str]:
    """Makes the first pass through a layer fail on this rank; returns where it failed."""
    failed: list[str] = []

    def fail(*_arguments: object) -> None:
        if not failed:
            failed.append(place)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    layer = model.own.parts.network.causal_lm.get_submodule(place)
    if "mlp" in place:
        layer.register_full_backward_hook(fail)
    else:
        layer.register_forward_hook(fail)
    return failed


def main() -> None:
    directory = Path(sys.argv[1])
    settings = EngineSettings(
        {"tiny": "random:llama-tiny"},
        directory,
        device="cpu",
        micro_batch_tokens=150,
        gradient_checkpointing=directory.parent.name == "checkpointing",
        sequence_parallel=int(directory.name),
    )
    led = lead(settings, has_tiles=True)
    if led is None:
        return
    leading, backend = led
    results: dict[str, object] = {}
    for kind, lora in (("full", None), ("lora", LoraSettings(rank=4, alpha=8.0))):

        def create(name: str, lora: LoraSettings | None = lora) -> LeadingModel:
            return leading.create_model(ModelRequest(name, "tiny", 3, lora, has_value_head=True))

        for name, batch in BATCHES.items():
            once = create(f"{kind}-{name}")
            results[f"{kind}-{name}"] = gradients(once, backend, batch)
            once.unload()
        # Others wait within a layer, for the scores, and within the backward pass.
        for place in ("model.layers.0.mlp.act_fn", "model.norm", "model.layers.0.mlp"):
            once = create(f"{kind}-once")
            failed = run_out_of_memory_once(once, place)
            results[f"{kind}-{place}"] = gradients(once, backend)
            assert failed == [place]
            once.unload()
        model = create(kind)
        results[kind] = train(model, model.own, directory)
        results[f"{kind}-served"] = backend.weights
        if lora is not None:
            results["saved"] = saved_bytes(model)
        model.unload()
    torch.save(results, directory / "results.pt")
    leading.close()


if __name__ == "__main__":
    main()
