"""Places the ranks on the machines of a Ray cluster, and restarts them after a failure, with Ray Train."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from typing import TYPE_CHECKING, Any

import ray
import ray.train
import ray.train.torch
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agentlightning_runtime.cluster.call import Failure
from agentlightning_runtime.cluster.call_queue import CallQueue
from agentlightning_runtime.cluster.worker import run_rank
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from agentlightning_runtime.contract.settings import EngineSettings

LOG = logging.getLogger(__name__)

#: How long the workers may take to end in good order, in seconds; they complete checkpoints meanwhile.
_GRACE_S = 120


class WorkerGroup:
    """Ranks on a Ray cluster, all of which are started again when one of them fails.

    Attributes:
        queue: The actor of the `CallQueue`.

    Raises:
        EngineError: ENGINE_UNAVAILABLE without the cluster, PRECONDITION when it is too small.
    """

    def __init__(self, settings: EngineSettings) -> None:
        _connect(settings.ray.address)
        try:
            scaling = _scaling(settings)
        except EngineError:
            ray.shutdown()
            raise
        beside = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self.queue: Any = ray.remote(CallQueue).options(num_cpus=0, scheduling_strategy=beside).remote()
        self._is_closing = False
        self._trainer = ray.train.torch.TorchTrainer(
            run_rank,
            train_loop_config={"settings": settings, "queue": self.queue},
            scaling_config=scaling,
            run_config=ray.train.RunConfig(
                name=uuid.uuid4().hex,
                storage_path=str(settings.checkpoint_directory / ".ray"),
                # The queue counts the failures of each call.
                failure_config=ray.train.FailureConfig(max_failures=-1),
            ),
        )
        self._thread = threading.Thread(target=self._run, name="ray-train", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the workers, and disconnects from the cluster."""
        self._is_closing = True
        ray.get(self.queue.stop.remote())
        self._thread.join(_GRACE_S)
        if self._thread.is_alive():
            LOG.warning("The workers did not end within %d s", _GRACE_S)
        ray.shutdown()

    def _run(self) -> None:
        try:
            self._trainer.fit()
        except Exception as error:
            if not self._is_closing:
                LOG.exception("Ray Train ended")
                ray.get(self.queue.fail.remote(Failure.of(error)))


def _connect(address: str) -> None:
    # Read by Ray when a cluster starts; the usage of a running cluster is set by its head.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address=address or None, logging_level=logging.WARNING)
    except ConnectionError as error:
        message = f'There is no Ray cluster at "{address}": {error}'
        remedy = "Start one with `ray start --head`, or omit --ray-address"
        raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy=remedy) from error


def _scaling(settings: EngineSettings) -> ray.train.ScalingConfig:
    """A GPU for each worker, or on the CPU as many cores as a worker has threads."""
    available = ray.cluster_resources()
    uses_gpu = settings.device != "cpu" and available.get("GPU", 0) > 0
    cores = int(os.environ.get("OMP_NUM_THREADS", "1"))
    most = int(available.get("GPU", 0) if uses_gpu else available.get("CPU", 0) // cores)
    workers = settings.ray.workers or most
    if workers < 1 or workers > most:
        message = f"{workers} workers were requested; the Ray cluster has resources for {most}"
        remedy = "Add machines with `ray start --address`, or pass --ray-workers"
        raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy)
    each = {"CPU": 1, "GPU": 1} if uses_gpu else {"CPU": cores}
    return ray.train.ScalingConfig(num_workers=workers, use_gpu=uses_gpu, resources_per_worker=each)
