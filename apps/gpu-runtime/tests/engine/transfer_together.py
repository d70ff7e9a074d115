"""Run by torchrun: a sharded model whose weights go into scripted servers while they are gathered."""

from __future__ import annotations

import json
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from tests.engine.a_batch import a_batch, a_loss, no_progress
from tests.inference.scripted_transfer import install_transfer
from tests.inference.scripted_vllm import ScriptedVllm

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.no_inference import NoInference
from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest
from agentlightning_runtime.engine.base.ranks import join_ranks
from agentlightning_runtime.engine.experimental import gathered_model
from agentlightning_runtime.engine.experimental.data_parallel import LeadingEngine, follow
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.experimental.vllm.vllm_backend import VllmBackend
from agentlightning_runtime.inference.http.http_server import EndpointSettings

if TYPE_CHECKING:
    from torch import Tensor

    from agentlightning_runtime.contract.engine import EngineModel
    from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmModel


def main() -> None:
    directory, servers = Path(sys.argv[1]), list[ScriptedVllm]()
    torch.set_num_threads(1)
    settings = EngineSettings({"tiny": "random:llama-tiny"}, directory, device="cpu", micro_batch_tokens=100)
    ranks = join_ranks(torch.device("cpu"))
    if ranks.index > 0:
        follow(TorchEngine(settings, NoInference(), ranks), ranks)
        return

    def start(model: VllmModel, _reserved_bytes: int) -> ScriptedVllm:
        servers.append(ScriptedVllm(model, transfer="nccl"))
        return servers[-1]

    alive: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        install_transfer(patch)
        leading = LeadingEngine(TorchEngine(settings, VllmBackend(EndpointSettings(), [start, start]), ranks), ranks)
        model = leading.create_model(ModelRequest("full", "tiny", 3))
        count_gathered(patch, alive)
        gaps = [step(model)]
        found: dict[str, object] = {"tensors": len(alive)}
        # The second half is gathered for the digest.
        found["most_alive"] = max(alive[: len(alive) // 2])
        servers[1].worker.fail = "lost after a tensor"
        try:
            step(model)
        except EngineError as error:
            found["failure"] = error.message
        # The ranks are still in step.
        gaps.append(step(model))
        found["gaps"] = gaps
        found["updates"] = [server.worker.updates for server in servers]
        model.unload()
        leading.close()
    (directory / "found.json").write_text(json.dumps(found))


def step(model: EngineModel) -> float:
    model.forward_backward(a_batch(), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.02))
    weights = model.publish_weights().weights
    assert weights is not None
    assert weights.probe is not None
    return weights.probe.logprob_gap


def count_gathered(patch: pytest.MonkeyPatch, alive: list[int]) -> None:
    """Records at each gather how many whole tensors are in memory, the new one included."""
    made: list[weakref.ref[Tensor]] = []
    whole = gathered_model.whole

    def counted(tensor: Tensor) -> Tensor:
        gathered = whole(tensor)
        made.append(weakref.ref(gathered))
        alive.append(sum(each() is not None for each in made))
        return gathered

    patch.setattr(gathered_model, "whole", counted)


if __name__ == "__main__":
    main()
