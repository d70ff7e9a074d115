"""Run by one process or by torchrun: the gradients of one batch in bfloat16, with all weights trained."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tests.engine.a_batch import SilentBackend, a_batch, a_loss, no_progress

from agentlightning_runtime.engine.ranks import join_ranks, leave_ranks, whole
from agentlightning_runtime.engine.settings import EngineSettings, ModelRequest
from agentlightning_runtime.engine.torch_engine import TorchEngine


def main() -> None:
    directory = Path(sys.argv[1])
    torch.set_num_threads(1)
    ranks = join_ranks(torch.device("cpu"))
    results: dict[str, object] = {}
    for source in ("llama-tiny", "llama-untied", "qwen2-tiny"):
        # One row in a micro-batch: the same products whatever the number of processes.
        settings = EngineSettings(
            {source: f"random:{source}"}, directory, device="cpu", dtype="bfloat16", micro_batch_tokens=1
        )
        engine = TorchEngine(settings, SilentBackend(), ranks)
        model = engine.create_model(ModelRequest(source, source, 3, has_value_head=True))
        streams: set[torch.dtype] = set()
        model.parts.network.causal_lm.get_submodule("model.norm").register_forward_hook(
            lambda _module, inputs, _output, streams=streams: streams.add(inputs[0].dtype)
        )
        loss = a_loss("ppo", value_coefficient=0.5, entropy_coefficient=0.1)
        result = model.forward_backward(a_batch(1), loss, no_progress)
        gradients = {
            name: whole(weight.grad).clone() for name, weight in model.weights.items() if weight.grad is not None
        }
        results[source] = {"loss": result.loss, "gradients": gradients, "residual": streams}
    if ranks.index == 0:
        torch.save(results, directory / "results.pt")
    leave_ranks(ranks)


if __name__ == "__main__":
    main()
