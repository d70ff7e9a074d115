"""The work of operations other than batches. Functions raise INVALID or TOO_LARGE for invalid content."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentlightning_runtime.gen.agentlightning.runtime.v1 import (
    artifact_pb2,
    error_pb2,
    export_pb2,
    model_pb2,
    operation_pb2,
    training_pb2,
)
from agentlightning_runtime.service.base.failure import RuntimeFailureError
from agentlightning_runtime.service.base.invalid import check_name, invalid
from agentlightning_runtime.service.base.limits import MAX_CLIENT_STATE_BYTES
from agentlightning_runtime.service.base.messages import checkpoint_message, endpoint_message
from agentlightning_runtime.service.base.resolve_parameters import resolve_adam
from agentlightning_runtime.service.hosting.model_request import check_feature
from agentlightning_runtime.service.hosting.operation_record import Artifact, Completion, Execute
from agentlightning_runtime.service.hosting.runtime_host import assert_made, assert_sound

if TYPE_CHECKING:
    from agentlightning_runtime.contract.engine import Progress
    from agentlightning_runtime.service.hosting.hosted_model import HostedModel
    from agentlightning_runtime.service.hosting.runtime_host import RuntimeHost

FORMATS: dict[export_pb2.ExportFormat, tuple[Literal["safetensors", "peft"], str]] = {
    export_pb2.EXPORT_FORMAT_SAFETENSORS: ("safetensors", "export"),
    export_pb2.EXPORT_FORMAT_PEFT: ("peft", "export_peft"),
}
"""The engine's name of each format, and its feature."""


@dataclass(frozen=True, slots=True)
class OperationPlace:
    """The model of the operation."""

    host: RuntimeHost
    model: HostedModel


def optim_step_work(place: OperationPlace, request: training_pb2.OptimStepRequest) -> Execute:
    """Takes a step when the gradients are the intended ones; else discards them."""
    adam = resolve_adam(request)
    host, model = place.host, place.model

    async def execute(progress: Progress) -> operation_pb2.OptimStepResult:
        del progress
        engine = assert_sound(model)
        reason = model.ledger.why_not(request.requires_seqs)
        model.ledger.clear()
        if reason is not None:
            await host.thread.run(engine.discard_gradients)
            raise reason
        result = await host.thread.run(engine.optim_step, adam)
        measured = {"optimizer/gradient_norm": result.gradient_norm, **result.metrics}
        host.metrics.add(measured, model_id=model.model_id, step=result.step)
        return operation_pb2.OptimStepResult(
            step=result.step, gradient_norm=result.gradient_norm, is_skipped=result.is_skipped
        )

    return execute


def save_checkpoint_work(place: OperationPlace, request: training_pb2.SaveCheckpointRequest) -> Execute:
    """Saves weights, optimizer and client state."""
    name, client_state = request.name, request.client_state
    check_name("name", name)
    if len(client_state) > MAX_CLIENT_STATE_BYTES:
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_TOO_LARGE,
            f"client_state has {len(client_state)} bytes; the limit is {MAX_CLIENT_STATE_BYTES}",
            field="client_state",
            remedy="Keep only data that cannot be recomputed, such as a cursor, in the client state.",
        )

    async def execute(progress: Progress) -> Completion:
        del progress
        engine = assert_sound(place.model)
        saving = await place.host.thread.run(engine.save_checkpoint, name, client_state)

        async def complete() -> model_pb2.CheckpointInfo:
            return checkpoint_message(await asyncio.wrap_future(saving))

        return complete

    return execute


def load_checkpoint_work(place: OperationPlace, request: training_pb2.LoadCheckpointRequest) -> Execute:
    """Loads a checkpoint; works for a corrupted model too."""
    uri = request.uri
    if not uri:
        raise invalid("uri", "is missing")

    async def execute(progress: Progress) -> model_pb2.CheckpointInfo:
        del progress
        engine = assert_made(place.model)
        checkpoint = await place.host.thread.run(engine.load_checkpoint, uri)
        place.model.ledger.clear()
        return checkpoint_message(checkpoint)

    return execute


def publish_work(place: OperationPlace, request: training_pb2.PublishSamplerWeightsRequest) -> Execute:
    """Serves the current weights."""
    del request

    async def execute(progress: Progress) -> model_pb2.InferenceEndpoint:
        del progress
        engine = assert_sound(place.model)
        return endpoint_message(await place.host.thread.run(engine.publish_weights))

    return execute


def export_work(place: OperationPlace, request: export_pb2.ExportCheckpointRequest) -> Execute:
    """Exports weights for other programs."""
    known = FORMATS.get(request.format)
    if known is None:
        raise invalid("format", f"is {request.format}; it must be SAFETENSORS or PEFT")
    export_format, feature = known
    check_feature(place.host.capabilities, feature, "format")
    if export_format == "peft" and place.model.request.lora is None:
        raise invalid("format", f'is PEFT, but model "{place.model.model_id}" has no LoRA')
    model, seq, uri = place.model, request.key.seq, request.uri

    async def execute(progress: Progress) -> artifact_pb2.ArtifactInfo:
        del progress
        engine = assert_made(model) if uri else assert_sound(model)
        directory = Path(tempfile.mkdtemp(prefix="agentlightning-export-"))
        record = model.operation(seq)
        # Recorded before writing, so that a failed export is removed too.
        record.artifact = Artifact(directory, artifact_pb2.ArtifactInfo())
        step = await place.host.thread.run(engine.export_weights, uri, export_format, directory)
        files = await place.host.thread.aside(_described, directory)
        info = artifact_pb2.ArtifactInfo(artifact_id=uuid.uuid4().hex, files=files, step=step)
        record.artifact = Artifact(directory, info)
        return info

    return execute


def _described(directory: Path) -> list[artifact_pb2.ArtifactFile]:
    files: list[artifact_pb2.ArtifactFile] = []
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        name = path.relative_to(directory).as_posix()
        files.append(artifact_pb2.ArtifactFile(path=name, size_bytes=path.stat().st_size, sha256=digest))
    return files
