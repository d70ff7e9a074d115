"""The engine of the front process: its models are those of rank 0 on a Ray cluster."""

from __future__ import annotations

import secrets
import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import ray

from agentlightning_runtime.cluster.call import Call, Reply
from agentlightning_runtime.cluster.relay_app import RelayApp
from agentlightning_runtime.cluster.worker_group import WorkerGroup
from agentlightning_runtime.engine.checkpoint_folder import CheckpointFolder
from agentlightning_runtime.engine.ranks import Ranks
from agentlightning_runtime.inference.http_server import HttpServer
from agentlightning_runtime.inference.open_backend import endpoint_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from agentlightning_runtime.cluster.call_queue import Lane, Upstream
    from agentlightning_runtime.contract.batch import AdamParameters, Batch, ResolvedLoss
    from agentlightning_runtime.contract.engine import Progress
    from agentlightning_runtime.contract.results import (
        BatchResult,
        Checkpoint,
        Endpoint,
        ExportFormat,
        ForwardResult,
        InferenceState,
        ModelState,
        PauseMode,
        StepResult,
    )
    from agentlightning_runtime.contract.settings import EngineCapabilities, EngineSettings, ModelRequest

Result = TypeVar("Result")

#: Interval at which the progress of a running operation is read, in seconds.
_PROGRESS_S = 1.0


class RayEngine:
    """Trains on the workers of a Ray cluster. Implements `RuntimeEngine`.

    Raises:
        EngineError: when the port of the endpoint is not available, or the cluster is not reachable or too small.
    """

    def __init__(self, settings: EngineSettings) -> None:
        # The workers use the same folder, on all machines.
        self.checkpoint_directory = settings.checkpoint_directory.absolute()
        self._models: dict[str, RayModel] = {}
        self._gauges: Mapping[str, float] = {}
        self._saves = ThreadPoolExecutor(max_workers=4, thread_name_prefix="saves")
        worker_key = secrets.token_hex(32)
        endpoint = endpoint_settings(settings)
        relay = RelayApp(self._models.keys, endpoint.keys, worker_key, self._upstream)
        self._server = HttpServer(relay.starlette(), endpoint)
        try:
            self._group = WorkerGroup(
                replace(
                    settings,
                    checkpoint_directory=self.checkpoint_directory,
                    inference_public_url=self._server.base_url,
                    inference_api_key=worker_key,
                    users={},
                )
            )
        except BaseException:
            self._server.close()
            raise

    def capabilities(self) -> EngineCapabilities:
        """The capabilities of rank 0, once the workers have started."""
        return self.call(Call("capabilities")).result

    def create_model(self, request: ModelRequest) -> RayModel:
        """Creates the model on all ranks."""
        reply = self.call(Call("create_model", request.model_id, (request,)))
        model = self._models[request.model_id] = RayModel(self, request.model_id, reply)
        return model

    def gauges(self) -> Mapping[str, float]:
        """The gauges of rank 0 after its last operation."""
        return self._gauges

    def close(self) -> None:
        """Ends the endpoint and the workers."""
        self._server.close()
        self._group.close()
        self._saves.shutdown()

    def call(
        self,
        call: Call,
        *,
        progress: Progress | None = None,
        lane: Lane = "operations",
        observe: Callable[[Reply], None] | None = None,
    ) -> Reply:
        """Executes a call on rank 0.

        Args:
            call: The call.
            progress: Receives the progress.
            lane: `side` for a call that may run during an operation.
            observe: Receives the reply, also that of a call that failed.

        Raises:
            EngineError: that of rank 0.
        """
        queue = self._group.queue
        waiting = queue.call.remote(call, lane)
        while progress is not None and not ray.wait([waiting], timeout=_PROGRESS_S)[0]:
            done, total = ray.get(queue.progress.remote())
            if total > 0:
                progress(done, total)
        reply: Reply = ray.get(waiting)
        self._gauges = reply.gauges or self._gauges
        if observe is not None:
            observe(reply)
        return _succeeded(reply)

    def saved_checkpoint(self, number: int) -> Future[Checkpoint]:
        """The checkpoint of the save with this number, once it is on disk."""
        return self._saves.submit(self._wait_for_save, number)

    def forget(self, model_id: str) -> None:
        """Removes an unloaded model."""
        self._models.pop(model_id, None)

    def _wait_for_save(self, number: int) -> Checkpoint:
        return _succeeded(ray.get(self._group.queue.saved_checkpoint.remote(number))).result

    async def _upstream(self, newer_than: int, timeout_s: float) -> Upstream | None:
        return await self._group.queue.upstream.remote(newer_than, timeout_s)


class RayModel:
    """A model on the workers. Implements `EngineModel`."""

    def __init__(self, engine: RayEngine, model_id: str, created: Reply) -> None:
        self._engine = engine
        self._model_id = model_id
        self._checkpoints = CheckpointFolder(engine.checkpoint_directory, model_id, Ranks())
        self._state, self._endpoint = created.state, created.endpoint

    def state(self) -> ModelState:
        """The state after the last operation."""
        return _known(self._state)

    def forward_backward(self, batch: Batch, loss: ResolvedLoss, progress: Progress) -> BatchResult:
        """Adds the gradients of the loss; each rank computes its shard."""
        return self._call("forward_backward", batch, loss, progress=progress)

    def forward(self, batch: Batch, *, use_reference: bool, progress: Progress) -> ForwardResult:
        """Scores the batch; each rank computes its shard."""
        return self._call("forward", batch, use_reference=use_reference, progress=progress)

    def optim_step(self, adam: AdamParameters) -> StepResult:
        """Takes the step on all ranks."""
        return self._call("optim_step", adam)

    def discard_gradients(self) -> None:
        """Clears the accumulator of all ranks."""
        self._call("discard_gradients")

    def publish_weights(self) -> Endpoint:
        """Serves the weights; rank 0 does, behind the endpoint of the front process."""
        return self._call("publish_weights")

    def save_checkpoint(self, name: str, client_state: bytes) -> Future[Checkpoint]:
        """Writes the state; each rank writes its shards."""
        return self._engine.saved_checkpoint(self._call("save_checkpoint", name, client_state))

    def load_checkpoint(self, uri: str) -> Checkpoint:
        """Loads on all ranks, each its shards."""
        return self._call("load_checkpoint", uri)

    def list_checkpoints(self) -> Sequence[Checkpoint]:
        """The checkpoints in the folder."""
        return self._checkpoints.list()

    def delete_checkpoint(self, uri: str) -> None:
        """Deletes from the folder."""
        self._checkpoints.delete(uri)

    def export_weights(self, uri: str, export_format: ExportFormat, directory: Path) -> int:
        """Gathers the weights; rank 0 writes them to a folder that all machines have, from which they are moved."""
        shared = self._engine.checkpoint_directory / ".exports" / uuid.uuid4().hex
        shared.mkdir(parents=True)
        try:
            step = self._call("export_weights", uri, export_format, shared)
            for path in shared.iterdir():
                shutil.move(path, directory)
        finally:
            shutil.rmtree(shared, ignore_errors=True)
        return step

    def endpoint(self) -> Endpoint:
        """The endpoint of the front process."""
        return _known(self._endpoint)

    def pause(self, mode: PauseMode) -> InferenceState:
        """Pauses the endpoint of rank 0."""
        return self._call("pause", mode, lane="side")

    def resume(self) -> InferenceState:
        """Resumes the endpoint of rank 0."""
        return self._call("resume", lane="side")

    def unload(self) -> None:
        """Unloads the model on all ranks."""
        self._call("unload")
        self._engine.forget(self._model_id)

    def _call(
        self,
        method: str,
        *arguments: Any,
        progress: Progress | None = None,
        lane: Lane = "operations",
        **keywords: Any,
    ) -> Any:
        call = Call(method, self._model_id, arguments, keywords)
        return self._engine.call(call, progress=progress, lane=lane, observe=self._observe).result

    def _observe(self, reply: Reply) -> None:
        self._state = reply.state or self._state
        self._endpoint = reply.endpoint or self._endpoint


def create_engine(settings: EngineSettings) -> RayEngine:
    """Creates the engine of `--engine ray`.

    Raises:
        EngineError: When the settings cannot be met, with a remedy.
    """
    return RayEngine(settings)


def _succeeded(reply: Reply) -> Reply:
    if reply.failure is not None:
        raise reply.failure.error()
    return reply


def _known(value: Result | None) -> Result:
    if value is None:
        raise RuntimeError("The workers have not reported the state of the model")
    return value
