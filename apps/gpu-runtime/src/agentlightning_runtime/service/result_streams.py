"""Results that clients read in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2, export_pb2, operation_pb2, training_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError
from agentlightning_runtime.service.base.limits import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agentlightning_runtime.service.hosting.hosted_model import HostedModel
    from agentlightning_runtime.service.hosting.operation_record import OperationRecord
    from agentlightning_runtime.service.hosting.runtime_host import RuntimeHost


async def watch_operations(
    model: HostedModel, after_cursor: str
) -> AsyncIterator[training_pb2.WatchOperationsResponse]:
    """Every change of a model's operations after a cursor; a cursor of an earlier instance starts over."""
    incarnation, _, place = after_cursor.partition(":")
    after = int(place) if incarnation == model.incarnation and place.isdigit() else 0
    async for record in model.changes.follow(after):
        event = operation_pb2.OperationEvent(
            cursor=f"{model.incarnation}:{record.change_index}", operation=model.message_of(record)
        )
        yield training_pb2.WatchOperationsResponse(event=event)


async def fetch_batch_output(
    record: OperationRecord, kind: training_pb2.BatchOutputKind
) -> AsyncIterator[training_pb2.FetchBatchOutputResponse]:
    """One output of a forward pass in chunks."""
    wants_values = kind == training_pb2.BATCH_OUTPUT_KIND_VALUES
    output = None
    if record.output is not None:
        output = record.output.values if wants_values else record.output.logprobs
    if output is None:
        what = "values: it is not a FORWARD batch of a model with a value head" if wants_values else "output"
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_PRECONDITION,
            f'Operation {record.seq} of model "{record.model_id}" has no {what}, or has not ended',
        )
    for offset in range(0, len(output), CHUNK_BYTES):
        yield training_pb2.FetchBatchOutputResponse(offset=offset, data=output[offset : offset + CHUNK_BYTES])


async def download_artifact(
    request: export_pb2.DownloadArtifactRequest, host: RuntimeHost
) -> AsyncIterator[export_pb2.DownloadArtifactResponse]:
    """A file of an export, starting at an offset."""
    artifact = host.model(request.model_id).artifact(request.artifact_id)
    names = [file.path for file in artifact.info.files]
    # Compared with the list, never joined with client input: prevents path traversal.
    if request.path not in names:
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_NOT_FOUND,
            f'Artifact "{request.artifact_id}" has no file "{request.path}"; it has {", ".join(names)}',
            field="path",
        )
    with (artifact.directory / request.path).open("rb") as file:
        offset = file.seek(request.offset)
        while data := await host.thread.aside(file.read, CHUNK_BYTES):
            yield export_pb2.DownloadArtifactResponse(offset=offset, data=data)
            offset += len(data)
