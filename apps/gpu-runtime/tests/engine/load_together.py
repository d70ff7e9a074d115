"""Run by one process or by torchrun: the models of a folder in bfloat16, their gradients, and the memory they take."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import torch
from tests.engine.a_batch import SilentBackend, a_batch, a_datum, a_loss, no_progress
from torch import nn
from torch.utils.hooks import RemovableHandle

from agentlightning_runtime.contract.batch import Batch
from agentlightning_runtime.contract.inference_backend import ServedModel
from agentlightning_runtime.contract.no_inference import NoInference
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.base.ranks import Ranks, join_ranks, leave_ranks, whole
from agentlightning_runtime.engine.memory.micro_batch_sizer import MicroBatchSizer
from agentlightning_runtime.engine.observation.memory_gauges import process_memory
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.engine.torch_model import TorchModel


class ExportingBackend(SilentBackend):
    """A backend that writes every version it receives, as for a server in another process."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

    def publish(self, model: ServedModel, version: int) -> None:
        super().publish(model, version)
        if model.export is not None:
            model.export(self._directory)


def reset_peak() -> float:
    """Resets the peak of the resident memory; returns the memory in use, in bytes."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return process_memory()["memory/used_bytes"]


def exhausted(model: TorchModel, ranks: Ranks) -> list[dict[str, object]]:
    """Gradients of two batches, the second one too large for rank 0: in the forward, then the backward pass."""
    results: list[dict[str, object]] = []
    for place in ("", "model.norm", "model.layers.0.mlp"):
        model.discard_gradients()
        model.parts.settings.sizer = MicroBatchSizer(200, None, ranks)
        handles: list[RemovableHandle] = []
        if ranks.index == 0 and place:
            layer = model.parts.network.causal_lm.get_submodule(place)
            register = layer.register_full_backward_hook if "mlp" in place else layer.register_forward_hook
            handles.append(register(run_out_of_memory))
        batches = Batch([a_datum(50, [(40, 50)])] * 2), a_batch(1)
        metrics = [model.forward_backward(batch, a_loss("ppo"), no_progress).metrics for batch in batches]
        scored = model.forward(a_batch(5), use_reference=False, progress=no_progress)
        # Those of a LoRA are summed before a step, those of shards are sums already.
        ranks.sum_up_gradients(model.weights.values())
        results.append(
            {
                "retries": [each["train/micro_batch_retries"] for each in (*metrics, scored.metrics)],
                "logprobs": scored.logprobs,
                "gradients": {
                    name: whole(weight.grad).clone()
                    for name, weight in model.weights.items()
                    if weight.grad is not None
                },
            }
        )
        for handle in handles:
            handle.remove()
    return results


def run_out_of_memory(_module: nn.Module, inputs: Any, *_others: object) -> None:
    if inputs[0].shape[:2].numel() > 70:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def main() -> None:
    directory = Path(sys.argv[1])
    torch.set_num_threads(1)
    ranks = join_ranks(torch.device("cpu"))
    results: dict[str, dict[str, object]] = {}
    # The large one is last, when everything is imported: its memory is measured.
    for source, lora in (("tied", None), ("untied", None), ("lora", LoraSettings(4, 8.0)), ("large", None)):
        # One row in a micro-batch: the same products whatever the number of processes.
        settings = EngineSettings(
            {source: str(directory.parent / source.replace("lora", "tied"))},
            directory,
            "cpu",
            "bfloat16",
            micro_batch_tokens=1,
        )
        out = directory / f"{source}-{ranks.index}"
        out.mkdir()
        backend = ExportingBackend(out) if ranks.index == 0 else NoInference()
        engine = TorchEngine(settings, backend, ranks)
        before = reset_peak()
        count = engine.capabilities().models[0].parameter_count
        model = engine.create_model(ModelRequest(source, source, 3, lora, has_value_head=True))
        found = results[source] = {"peak": ranks.gather((process_memory()["memory/peak_bytes"] - before) / count)}
        if source == "large":
            continue
        streams: set[torch.dtype] = set()
        model.parts.network.causal_lm.get_submodule("model.norm").register_forward_hook(
            lambda _module, inputs, _output, streams=streams: streams.add(inputs[0].dtype)
        )
        loss = a_loss("ppo", value_coefficient=0.5, entropy_coefficient=0.1)
        found["loss"] = model.forward_backward(a_batch(1), loss, no_progress).loss
        found["residual"] = streams
        found["gradients"] = {
            name: whole(weight.grad).clone() for name, weight in model.weights.items() if weight.grad is not None
        }
        found["weights"] = {name: whole(weight.detach()).clone() for name, weight in model.weights.items()}
        found["buffers"] = {name: buffer.clone() for name, buffer in model.parts.network.named_buffers()}
        for use_reference in (True, False):
            scored = model.forward(a_batch(5), use_reference=use_reference, progress=no_progress)
            found[f"logprobs-{use_reference}"] = scored.logprobs
        model.publish_weights()
        if lora is not None:
            found["exhausted"] = exhausted(model, ranks)
    if ranks.index == 0:
        torch.save(results, directory / "results.pt")
    leave_ranks(ranks)


if __name__ == "__main__":
    main()
