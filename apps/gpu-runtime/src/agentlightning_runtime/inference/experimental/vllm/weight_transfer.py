"""Weights of a fully trained model go from memory into the running servers, by vLLM's weight transfer."""

from __future__ import annotations

import importlib
import socket
from concurrent.futures import wait
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import torch

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.inference.experimental.vllm.daemon_thread import start_daemon
from agentlightning_runtime.inference.experimental.vllm.sync_client import SyncClient

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from torch import Tensor

    from agentlightning_runtime.contract.inference_backend import WeightStream
    from agentlightning_runtime.inference.experimental.vllm.replicas import Replicas

_PACKAGE = "vllm.distributed.weight_transfer"
_TIMEOUT_S = 480
"""Limit of a transfer. NCCL has none where a peer is lost, and ends the ranks that gather shards after 600 s."""
_GRACE_S = 10
"""Time for an aborted transfer to end."""
_BUFFER_BYTES = 2**28
"""Tensors travel together in pieces of this size: vLLM's 1 GiB, twice in both programs, is memory that batches need."""


class WeightTransfer:
    """Sends weights to all replicas at the same time, in pieces, from the trainer's device.

    vLLM's trainer-side engine does it: over NCCL all workers of all replicas and this process are one group; over CUDA
    IPC the worker on the same GPU reads this process's memory.

    After a failure the servers may have parts of new weights and must not be asked: a vLLM with an unfinished update
    ends at the first request. The next transfer connects anew and replaces all weights. A vLLM that has failed to load
    a tensor, or over NCCL waits for a replica that has, rejects it until it is restarted.

    Args:
        method: `nccl` or `ipc`, which the servers were started with.
        replicas: The servers.
        worker_counts: Number of workers of each.
    """

    def __init__(self, method: str, replicas: Replicas, worker_counts: list[int]) -> None:
        self.method = method
        self._replicas = replicas
        self._worker_counts = worker_counts
        self._source = _Source()
        self._engine: Any = None

    def send(self, weights: WeightStream) -> None:
        """Replaces the weights of all replicas; returns when all have them.

        Raises:
            EngineError: ENGINE_UNAVAILABLE when one does not take part, rejects them or does not end in time.
        """
        self._source.weights = weights
        if weights.device.type == "cuda":
            torch.cuda.current_stream(weights.device).synchronize()
        client = SyncClient(self._replicas, self._worker_counts)
        # NCCL may wait for a lost peer forever.
        sending = start_daemon(lambda: self._send(client))
        done, _ = wait([sending, client.failure], _TIMEOUT_S, "FIRST_COMPLETED")
        try:
            if client.failure in done:
                client.failure.result()
            sending.result(timeout=0)
        except Exception as error:
            client.is_given_up = True
            self.close()
            wait([sending], _GRACE_S)
            self._replicas.attempt("/finish_weight_update")
            reason = str(error) or type(error).__name__ if done else f"it took more than {_TIMEOUT_S} s"
            message = f"The weights were not transferred to vLLM ({self.method}): {reason}"
            remedy = "See the log of vLLM; with --sampler-folder, weights are files"
            raise EngineError(EngineErrorReason.ENGINE_UNAVAILABLE, message, remedy=remedy) from error

    def close(self) -> None:
        """Leaves the group, which ends a transfer that still runs."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.shutdown()

    def _send(self, client: SyncClient) -> None:
        weights = self._source.weights
        if weights.device.type == "cuda":
            # A thread begins with the first GPU.
            torch.cuda.set_device(weights.device)
        self._source.client = client
        engine = self._engine or self._connect(client, weights)
        self._engine = None if client.is_given_up else engine
        engine.client = client
        with _shareable_memory() if self.method == "ipc" else nullcontext():
            engine.send_weights()

    def _connect(self, client: SyncClient, weights: WeightStream) -> Any:
        library = importlib.import_module(_PACKAGE)
        # Of an earlier transfer that failed, or of a trainer that was killed.
        self._replicas.attempt("/shutdown_weight_transfer_engine")
        if self.method == "ipc":
            # A tensor must fit into the buffer.
            largest = max(tensor.dtype.itemsize * _count(tensor.shape) for tensor in weights.outline)
            settings = {"packed": True, "packed_buffer_size_bytes": max(_BUFFER_BYTES, largest)}
            init = importlib.import_module(f"{_PACKAGE}.ipc_engine").IPCTrainerInitInfo(rank=0, **settings)
        else:
            address, port = meeting_place(self._replicas.root_urls)
            init = importlib.import_module(f"{_PACKAGE}.nccl_engine").NCCLTrainerInitInfo(
                rank=0,
                master_address=address,
                master_port=port,
                world_size=1 + sum(self._worker_counts),
                packed_buffer_size_bytes=_BUFFER_BYTES,
            )
        return library.WeightTransferTrainerFactory.trainer_init(init, client=client, source=self._source)


class _Source:
    """What vLLM calls a `WeightSource`: the tensors and, before, their names, types and shapes."""

    weights: WeightStream
    client: SyncClient

    def metadata(self) -> list[Any]:
        return list(self.weights.outline)

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        client = self.client
        for pair in self.weights.read():
            if client.is_given_up:
                # The thread that has given up reads the rest.
                return
            yield pair


def meeting_place(root_urls: list[str]) -> tuple[str, int]:
    """This machine's address as all servers reach it, and a free port.

    Raises:
        EngineError: PRECONDITION when a server is reached over IPv6, which the meeting place of vLLM does not have.
    """
    addresses = [_own_address(url) for url in root_urls]
    # Of servers here and elsewhere: those here reach both addresses.
    address = next((each for each in addresses if not each.startswith("127.")), addresses[0])
    with socket.socket() as free:
        free.bind((address, 0))
        return address, free.getsockname()[1]


def _own_address(root_url: str) -> str:
    """This machine's address in a connection to the server."""
    server = urlsplit(root_url)
    port = server.port or (443 if server.scheme == "https" else 80)
    with socket.create_connection((server.hostname, port), timeout=30) as connection:
        if connection.family != socket.AF_INET:
            message = f"{root_url} is reached over IPv6, over which vLLM cannot receive weights"
            remedy = "Pass its IPv4 address, or --sampler-folder, with which weights are files"
            raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy)
        address: str = connection.getsockname()[0]
        return address


@contextmanager
def _shareable_memory() -> Generator[None]:
    """Within it torch allocates memory that another process can open: not in expandable segments.

    Opening those needs a system call that containers forbid.
    """
    settings = importlib.import_module("vllm.device_allocator.alloc_conf")
    before = settings.current_alloc_conf()
    settings.set_alloc_conf(settings.with_conf_flag(before, settings.EXPANDABLE_SEGMENTS, enabled=False))
    try:
        yield
    finally:
        settings.set_alloc_conf(before)


def _count(shape: tuple[int, ...]) -> int:
    return torch.Size(shape).numel()
