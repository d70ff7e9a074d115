"""Run by torchrun: all weights in shards, and memory that runs out on one rank, in a pass or in the optimizer."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest
import torch
from tests.engine.a_batch import SilentBackend, a_batch, a_loss, no_progress
from torch.optim.optimizer import register_optimizer_step_pre_hook

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.no_inference import NoInference
from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest
from agentlightning_runtime.engine.base.ranks import Ranks, join_ranks
from agentlightning_runtime.engine.experimental import exhaustion
from agentlightning_runtime.engine.experimental.data_parallel import LeadingEngine, LeadingModel, follow
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.engine.torch_model import TorchModel


class ExhaustedEngine(TorchEngine):
    """An engine on whose machine a layer finds no memory, or the moments do not."""

    def __init__(self, settings: EngineSettings, ranks: Ranks, place: str) -> None:
        super().__init__(settings, SilentBackend() if ranks.index == 0 else NoInference(), ranks)
        self._place = place

    def create_model(self, request: ModelRequest) -> TorchModel:
        model = super().create_model(request)
        layer = model.parts.network.causal_lm.get_submodule("model.layers.0.mlp")
        if self._place == "forward":
            layer.register_forward_hook(run_out_of_memory)
        elif self._place == "backward":
            layer.register_full_backward_hook(run_out_of_memory)
        elif self._place == "optimizer":
            register_optimizer_step_pre_hook(run_out_of_memory)
        return model


def run_out_of_memory(*_arguments: object) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def train(model: LeadingModel) -> None:
    model.forward_backward(a_batch(1), a_loss("ppo"), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.01))
    # Of a rank that ended in the optimizer, the other one notices in the next pass.
    model.forward_backward(a_batch(2), a_loss("ppo"), no_progress)


def main() -> None:
    directory, exhausted_rank, place = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    exhaustion.DELIVERY_S = 0.5
    torch.set_num_threads(1)
    ranks = join_ranks(torch.device("cpu"))
    (directory / f"rank-{ranks.index}.pid").write_text(str(os.getpid()))
    settings = EngineSettings({"tiny": "random:llama-tiny"}, directory, device="cpu", micro_batch_tokens=100)
    engine = ExhaustedEngine(settings, ranks, place if ranks.index == exhausted_rank else "")
    if ranks.index > 0:
        follow(engine, ranks)
        return
    model = LeadingEngine(engine, ranks).create_model(ModelRequest("full", "tiny", 3))
    with pytest.raises(EngineError) as caught:
        train(model)
    # What the service returns to the client.
    (directory / "error").write_text(f"{caught.value.reason}: {caught.value}")
    with pytest.raises(EngineError) as again:
        model.discard_gradients()
    if again.value is caught.value and caught.value.gradients_discarded:
        # The service continues until the process ends.
        threading.Event().wait()
    (directory / "went-on").touch()


if __name__ == "__main__":
    main()
