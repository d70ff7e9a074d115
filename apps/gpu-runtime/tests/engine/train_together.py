"""Run by torchrun: a short training with any number of processes, and its recorded results."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import torch
from tests.engine.a_batch import SilentBackend, a_batch, a_loss, no_progress
from tests.engine.an_image import VISION_SOURCE, a_batch_with_images
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.tensor import DTensor

from agentlightning_runtime.contract.batch import AdamParameters, Batch, ResolvedLoss
from agentlightning_runtime.contract.engine import EngineModel
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.inference_backend import ServedModel
from agentlightning_runtime.contract.no_inference import NoInference
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.engine import torch_engine
from agentlightning_runtime.engine.base.ranks import join_ranks
from agentlightning_runtime.engine.checkpoints.host_copies import HostCopies
from agentlightning_runtime.engine.experimental.data_parallel import LeadingEngine, follow
from agentlightning_runtime.engine.loss import token_scores
from agentlightning_runtime.engine.torch_engine import TorchEngine

ADAM = AdamParameters(learning_rate=0.01, weight_decay=0.01)
LORA = LoraSettings(rank=4, alpha=8.0)
PPO = a_loss("ppo", value_coefficient=0.5, entropy_coefficient=0.1, kl_coefficient=0.1)

#: With so large an epsilon a first step of Adam is the gradient: lr g / (|g| + epsilon).
LINEAR_ADAM = AdamParameters(learning_rate=1e6, epsilon=1e4, gradient_clip_norm=0.0)


class RecordingBackend(SilentBackend):
    """A backend that keeps the weights it receives."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: dict[str, torch.Tensor] = {}

    def serve(self, model: ServedModel, version: int) -> None:
        super().serve(model, version)
        self.record(model)

    def publish(self, model: ServedModel, version: int) -> None:
        super().publish(model, version)
        self.record(model)

    def record(self, model: ServedModel) -> None:
        self.weights = {name: weight.detach().clone() for name, weight in model.module().named_parameters()}


def staged_copies(_device: torch.device) -> HostCopies:
    """Those of a GPU, in pageable memory: made in the background while training continues."""
    options = StagingOptions(
        use_pinned_memory=False, use_shared_memory=False, use_async_staging=True, use_non_blocking_copy=False
    )
    return HostCopies(DefaultStager(options))


def lead(
    settings: EngineSettings, *, has_tiles: bool = False, records: type[RecordingBackend] = RecordingBackend
) -> tuple[LeadingEngine, RecordingBackend] | None:
    """The engine of rank 0 and its backend; the other ranks follow it to its end, and have None.

    With `has_tiles`, few logits are computed at a time, so that the head is computed in tiles.
    """
    torch.set_num_threads(1)
    if has_tiles:
        token_scores._LOGITS_AT_A_TIME = 4_000  # pyright: ignore[reportPrivateUsage]
    ranks = join_ranks(torch.device("cpu"))
    if ranks.count > 1:
        torch_engine.host_copies = staged_copies
    if ranks.index > 0:
        follow(TorchEngine(settings, NoInference(), ranks), ranks)
        return None
    backend = records()
    return LeadingEngine(TorchEngine(settings, backend, ranks), ranks), backend


def gradients(
    model: EngineModel, backend: RecordingBackend, batch: Batch, loss: ResolvedLoss
) -> dict[str, torch.Tensor]:
    """The change of the served weights in a step that is linear in the gradient."""
    before = backend.weights
    model.forward_backward(batch, loss, no_progress)
    model.optim_step(LINEAR_ADAM)
    model.publish_weights()
    changes = {name: weight - before[name] for name, weight in backend.weights.items()}
    return {name: change for name, change in changes.items() if change.any()}


@contextmanager
def forbidden_gathering() -> Generator[None]:
    """Within it no rank may gather a sharded tensor."""
    full_tensor = DTensor.full_tensor

    def fail(*_arguments: object, **_keywords: object) -> torch.Tensor:
        raise AssertionError("A whole tensor was gathered")

    DTensor.full_tensor = fail
    try:
        yield
    finally:
        DTensor.full_tensor = full_tensor


def train(model: EngineModel, name: str, directory: Path) -> dict[str, object]:
    """All operations of a model and their observable results."""
    first = model.forward_backward(
        a_batch(1), a_loss("ppo", value_coefficient=0.5, entropy_coefficient=0.1), no_progress
    )
    model.forward_backward(a_batch(2), a_loss("gspo"), no_progress)
    found: dict[str, object] = {"loss": first.loss, "metrics": dict(first.metrics), "tokens": first.trained_tokens}
    with_norm = model.optim_step(ADAM)
    found["norm"] = with_norm.gradient_norm
    model.publish_weights()
    with forbidden_gathering():
        saved = model.save_checkpoint(f"after-{name}", b"state").result()
    for _ in range(2):
        model.forward_backward(a_batch(3), a_loss("ppo"), no_progress)
        model.optim_step(ADAM)
    # Weights gathered for a forward pass must not outlive it.
    model.forward(a_batch(5), use_reference=False, progress=no_progress)
    model.load_checkpoint(saved.uri)
    try:
        model.optim_step(ADAM)
    except EngineError as error:
        found["refused"] = error.reason
    model.forward_backward(a_batch(4), a_loss("cispo"), no_progress)
    model.optim_step(ADAM)
    model.publish_weights()
    found["state"] = model.state()
    for use_reference in (False, True):
        scored = model.forward(a_batch(5), use_reference=use_reference, progress=no_progress)
        found[f"logprobs-{use_reference}"] = [each.tolist() for each in scored.logprobs]
    out = directory / f"export-{name}"
    out.mkdir()
    model.export_weights("", "safetensors", out)
    return found


def main() -> None:
    directory = Path(sys.argv[1])
    models = {"tiny": "random:llama-tiny", "vision": VISION_SOURCE}
    settings = EngineSettings(models, directory, device="cpu", micro_batch_tokens=100)
    led = lead(settings, has_tiles=True)
    if led is None:
        return
    leading, backend = led
    results: dict[str, object] = {}
    for name, lora in (("full", None), ("lora", LORA)):
        vision = leading.create_model(ModelRequest(f"{name}-vision", "vision", 3, lora))
        # One sequence of four has no image, so that a process has none in a pass.
        batch = a_batch_with_images()
        results[f"{name}-vision-gradients"] = gradients(vision, backend, batch, a_loss("cross_entropy"))
        vision.unload()
        once = leading.create_model(ModelRequest(f"{name}-once", "tiny", 3, lora, has_value_head=True))
        results[f"{name}-gradients"] = gradients(once, backend, a_batch(1), PPO)
        once.unload()
        model = leading.create_model(ModelRequest(name, "tiny", 3, lora, has_value_head=True))
        results[name] = train(model, name, directory)
        results[f"{name}-served"] = backend.weights
        model.unload()
    torch.save(results, directory / "results.pt")
    leading.close()


if __name__ == "__main__":
    main()
