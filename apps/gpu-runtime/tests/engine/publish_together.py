"""Run by torchrun: publications of models trained by several processes, with the built-in sampler."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from tests.engine.a_batch import a_batch, a_loss, no_progress

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.no_inference import NoInference
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine.base.ranks import join_ranks
from agentlightning_runtime.engine.experimental.data_parallel import LeadingEngine, follow
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.http.http_server import EndpointSettings
from agentlightning_runtime.inference.sampling.sampler import Sampler

if TYPE_CHECKING:
    from agentlightning_runtime.contract.engine import EngineModel
    from agentlightning_runtime.contract.results import PublishedWeights
    from agentlightning_runtime.inference.sampling.model_queue import ModelQueue
    from agentlightning_runtime.inference.sampling.served_weights import ServedWeights


def step(model: EngineModel) -> PublishedWeights:
    model.forward_backward(a_batch(), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.02))
    weights = model.publish_weights().weights
    assert weights is not None
    return weights


def keep(self: Sampler, model_id: str, weights: ServedWeights) -> None:
    """A planted fault: the version changes, the weights do not."""
    queue: ModelQueue = vars(self)["_models"][model_id]
    queue.weights = dataclasses.replace(queue.weights, version=weights.version)


def main() -> None:
    directory = Path(sys.argv[1])
    torch.set_num_threads(1)
    settings = EngineSettings({"tiny": "random:llama-tiny"}, directory, device="cpu", micro_batch_tokens=100)
    ranks = join_ranks(torch.device("cpu"))
    if ranks.index > 0:
        follow(TorchEngine(settings, NoInference(), ranks), ranks)
        return
    leading = LeadingEngine(TorchEngine(settings, BuiltinBackend(EndpointSettings()), ranks), ranks)
    found: dict[str, object] = {}
    for name, lora in (("full", None), ("lora", LoraSettings(rank=4, alpha=8.0))):
        model = leading.create_model(ModelRequest(name, "tiny", 3, lora))
        publish = Sampler.publish
        proofs = [step(model)]
        Sampler.publish = keep
        try:
            step(model)
        except EngineError as error:
            found[f"{name}-fault"] = error.reason
        Sampler.publish = publish
        # The ranks are still in step.
        proofs.append(step(model))
        uri = model.save_checkpoint("saved", b"").result().uri
        continued = leading.create_model(ModelRequest(f"{name}-continued", "tiny", 9, lora, initial_checkpoint=uri))
        scored = [continued.forward(a_batch(), use_reference=each, progress=no_progress) for each in (False, True)]
        found[f"{name}-reference"] = all(
            bool(np.allclose(left, right, rtol=0, atol=1e-5))
            for left, right in zip(scored[0].logprobs, scored[1].logprobs, strict=True)
        )
        weights = continued.endpoint().weights
        assert weights is not None
        proofs.append(weights)
        found[name] = [dataclasses.asdict(each) for each in proofs]
        model.unload()
        continued.unload()
    (directory / "found.json").write_text(json.dumps(found))
    leading.close()


if __name__ == "__main__":
    main()
