"""Handlers of the training service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.gen.agentlightning.runtime.v1 import batch_pb2, export_pb2, training_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError
from agentlightning_runtime.service.base.invalid import invalid
from agentlightning_runtime.service.base.messages import checkpoint_message
from agentlightning_runtime.service.batches.submit_batch import fingerprint_of, is_refusal, refused_work, submit_batch
from agentlightning_runtime.service.hosting.operation_record import Execute, OperationRecord, OperationWork
from agentlightning_runtime.service.hosting.runtime_host import assert_made
from agentlightning_runtime.service.model_operations import (
    OperationPlace,
    export_work,
    load_checkpoint_work,
    optim_step_work,
    publish_work,
    save_checkpoint_work,
)
from agentlightning_runtime.service.result_streams import download_artifact, fetch_batch_output, watch_operations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.message import Message

    from agentlightning_runtime.gen.agentlightning.runtime.v1.operation_pb2 import Operation
    from agentlightning_runtime.service.binding import Handlers
    from agentlightning_runtime.service.hosting.hosted_model import HostedModel
    from agentlightning_runtime.service.hosting.runtime_host import RuntimeHost

KeyedRequest = (
    training_pb2.OptimStepRequest
    | training_pb2.SaveCheckpointRequest
    | training_pb2.LoadCheckpointRequest
    | training_pb2.PublishSamplerWeightsRequest
    | export_pb2.ExportCheckpointRequest
)
Request = TypeVar("Request", bound=KeyedRequest)
Plan = Callable[[OperationPlace, Request], Execute]
Answer = Callable[[Request], Awaitable["Message"]]


def training_handlers(host: RuntimeHost) -> Handlers:
    """Models, their operations and their results."""
    return {**_model_handlers(host), **_operation_handlers(host), **_result_handlers(host)}


def _model_handlers(host: RuntimeHost) -> Handlers:
    async def create_model(request: training_pb2.CreateModelRequest) -> training_pb2.CreateModelResponse:
        lora = None
        if request.HasField("lora"):
            wanted = request.lora
            lora = LoraSettings(rank=wanted.rank, alpha=wanted.alpha, target_modules=tuple(wanted.target_modules))
        model_request = ModelRequest(
            model_id=request.model_id,
            base_model=request.base_model,
            seed=request.seed,
            lora=lora,
            has_value_head=request.has_value_head,
            initial_checkpoint=request.initial_checkpoint,
        )
        return training_pb2.CreateModelResponse(
            operation=_operation_message(*host.create_model(request.session_id, model_request))
        )

    async def get_model(request: training_pb2.GetModelRequest) -> training_pb2.GetModelResponse:
        return training_pb2.GetModelResponse(model=host.model(request.model_id).info())

    async def unload_model(request: training_pb2.UnloadModelRequest) -> training_pb2.UnloadModelResponse:
        await host.unload_model(host.owned_model(request.session_id, request.model_id))
        return training_pb2.UnloadModelResponse()

    async def list_checkpoints(request: training_pb2.ListCheckpointsRequest) -> training_pb2.ListCheckpointsResponse:
        engine = assert_made(host.model(request.model_id))
        checkpoints = await host.thread.aside(engine.list_checkpoints)
        return training_pb2.ListCheckpointsResponse(checkpoints=map(checkpoint_message, checkpoints))

    async def delete_checkpoint(
        request: training_pb2.DeleteCheckpointRequest,
    ) -> training_pb2.DeleteCheckpointResponse:
        engine = assert_made(host.owned_model(request.session_id, request.model_id))
        await host.thread.aside(engine.delete_checkpoint, request.uri)
        return training_pb2.DeleteCheckpointResponse()

    return {
        "CreateModel": create_model,
        "GetModel": get_model,
        "UnloadModel": unload_model,
        "ListCheckpoints": list_checkpoints,
        "DeleteCheckpoint": delete_checkpoint,
    }


def _operation_handlers(host: RuntimeHost) -> Handlers:
    def accepting(plan: Plan[Request], answer: Callable[[Operation], Message]) -> Answer[Request]:
        async def accept(request: Request) -> Message:
            return answer(_operation_message(*_accept(host, request, plan)))

        return accept

    async def submit(messages: AsyncIterator[training_pb2.SubmitBatchRequest]) -> training_pb2.SubmitBatchResponse:
        return training_pb2.SubmitBatchResponse(operation=_operation_message(*await submit_batch(messages, host)))

    return {
        "SubmitBatch": submit,
        "OptimStep": accepting(optim_step_work, lambda operation: training_pb2.OptimStepResponse(operation=operation)),
        "SaveCheckpoint": accepting(
            save_checkpoint_work, lambda operation: training_pb2.SaveCheckpointResponse(operation=operation)
        ),
        "LoadCheckpoint": accepting(
            load_checkpoint_work, lambda operation: training_pb2.LoadCheckpointResponse(operation=operation)
        ),
        "PublishSamplerWeights": accepting(
            publish_work, lambda operation: training_pb2.PublishSamplerWeightsResponse(operation=operation)
        ),
        "ExportCheckpoint": accepting(
            export_work, lambda operation: export_pb2.ExportCheckpointResponse(operation=operation)
        ),
    }


def _result_handlers(host: RuntimeHost) -> Handlers:
    async def get_operation(request: training_pb2.GetOperationRequest) -> training_pb2.GetOperationResponse:
        model = host.model(request.model_id)
        return training_pb2.GetOperationResponse(operation=model.message_of(model.operation(request.seq)))

    async def cancel_operation(request: training_pb2.CancelOperationRequest) -> training_pb2.CancelOperationResponse:
        key = _key_of(request)
        model = host.owned_model(key.session_id, key.model_id)
        return training_pb2.CancelOperationResponse(operation=_operation_message(model, model.cancel(key.seq)))

    def watch(
        request: training_pb2.WatchOperationsRequest,
    ) -> AsyncIterator[training_pb2.WatchOperationsResponse]:
        return watch_operations(host.model(request.model_id), request.after_cursor)

    def fetch(
        request: training_pb2.FetchBatchOutputRequest,
    ) -> AsyncIterator[training_pb2.FetchBatchOutputResponse]:
        return fetch_batch_output(host.model(request.model_id).operation(request.seq), request.kind)

    def download(
        request: export_pb2.DownloadArtifactRequest,
    ) -> AsyncIterator[export_pb2.DownloadArtifactResponse]:
        return download_artifact(request, host)

    return {
        "GetOperation": get_operation,
        "CancelOperation": cancel_operation,
        "WatchOperations": watch,
        "FetchBatchOutput": fetch,
        "DownloadArtifact": download,
    }


def _accept(host: RuntimeHost, request: Request, plan: Plan[Request]) -> tuple[HostedModel, OperationRecord]:
    """Accepts an operation; `plan` raises INVALID or TOO_LARGE for invalid content, which also uses its number."""
    key = _key_of(request)
    model = host.owned_model(key.session_id, key.model_id)
    fingerprint = fingerprint_of(request)
    known = model.find_or_refuse(key.seq, fingerprint)
    if known is not None:
        return model, known
    try:
        work = OperationWork(fingerprint, plan(OperationPlace(host, model), request))
    except RuntimeFailureError as error:
        if not is_refusal(error):
            raise
        work = refused_work(fingerprint, error, adds_gradients=False)
    return model, model.accept(key.seq, work)


def _key_of(request: KeyedRequest | training_pb2.CancelOperationRequest) -> batch_pb2.OperationKey:
    if request.HasField("key"):
        return request.key
    raise invalid("key", "is missing")


def _operation_message(model: HostedModel, record: OperationRecord) -> Operation:
    """The operation; one that was rejected on arrival raises its error, on each retry."""
    if record.refusal is not None:
        raise record.refusal
    return model.message_of(record)
