"""The requests of vLLM's weight transfer, to all replicas."""

from __future__ import annotations

import base64
import pickle
from concurrent.futures import Future
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.inference.experimental.vllm.replicas import Replicas


class SyncClient:
    """What vLLM calls a `VLLMWeightSyncClient`, for one transfer.

    Args:
        replicas: The servers.
        worker_counts: Number of workers of each: the ranks of a replica follow those of the one before.

    Attributes:
        failure: Fails as soon as one of the replicas does. The others may then wait for it in vain.
        is_given_up: Set when its caller no longer waits for the transfer: it then sends no further request.
    """

    def __init__(self, replicas: Replicas, worker_counts: Sequence[int]) -> None:
        self._replicas = replicas
        self._count = len(worker_counts)
        self._before = [0, *accumulate(worker_counts)]
        self.failure: Future[None] = Future()
        self.is_given_up = False

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """Connects each replica."""
        infos = [dict(init_info) for _ in range(self._count)]
        if "rank_offset" in init_info:
            for info, before in zip(infos, self._before, strict=False):
                info["rank_offset"] += before
        self._post("/init_weight_transfer_engine", [{"init_info": info} for info in infos])

    def start_weight_update(self) -> None:
        """Prepares each for new weights."""
        self._post("/start_weight_update")

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """Lets each receive the tensors that are sent meanwhile, or read those at the handles."""
        sent = dict(update_info)
        if (handles := sent.pop("ipc_handles", None)) is not None:
            # Handles are no JSON. They are read by a program that this one has started, or that trusts it.
            sent["ipc_handles_pickled"] = base64.b64encode(pickle.dumps(handles)).decode()
        self._post("/update_weights", [{"update_info": sent}] * self._count)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """Ends the update; the next request is computed with the new weights."""
        body = {} if weight_version is None else {"weight_version": weight_version}
        self._post("/finish_weight_update", [body] * self._count)

    def _post(self, path: str, bodies: Sequence[dict[str, Any]] | None = None) -> None:
        if self.is_given_up:
            raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, f"The transfer was given up before {path}")
        try:
            self._replicas.control_each(path, bodies)
        except EngineError as error:
            if not self.failure.done():
                self.failure.set_exception(error)
            raise
