"""vLLM's weight transfer without vLLM: its trainer-side package, and a worker that validates as vLLM 0.32 does.

Tensors travel through sockets where NCCL would carry them, and through files where CUDA IPC would share memory.
"""

from __future__ import annotations

import asyncio
import base64
import pickle
import socket
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentlightning_runtime.inference.experimental.vllm import transfer_choice

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from starlette.requests import Request
    from torch import Tensor

_TIMEOUT_S = 30


def install_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the runtime import the package, and send from a CPU."""
    name = "vllm.distributed.weight_transfer"
    modules = {part: types.ModuleType(part) for part in ("vllm", "vllm.distributed", name)}
    modules[f"{name}.nccl_engine"] = types.ModuleType(f"{name}.nccl_engine")
    modules[f"{name}.ipc_engine"] = types.ModuleType(f"{name}.ipc_engine")
    vars(modules[name])["WeightTransferTrainerFactory"] = ScriptedTrainer
    vars(modules[f"{name}.nccl_engine"])["NCCLTrainerInitInfo"] = NcclInfo
    vars(modules[f"{name}.ipc_engine"])["IPCTrainerInitInfo"] = IpcInfo
    allocator = "vllm.device_allocator.alloc_conf"
    modules |= {part: types.ModuleType(part) for part in ("vllm.device_allocator", allocator)}
    vars(modules[allocator]).update(
        EXPANDABLE_SEGMENTS="expandable_segments",
        current_alloc_conf=lambda: ScriptedAllocator.conf,
        set_alloc_conf=ScriptedAllocator.set,
        with_conf_flag=ScriptedAllocator.with_flag,
    )
    monkeypatch.setattr(ScriptedAllocator, "conf", START_CONF)
    for each, module in modules.items():
        monkeypatch.setitem(sys.modules, each, module)
    monkeypatch.setattr(transfer_choice, "has_vllm", lambda: True)
    monkeypatch.setattr(transfer_choice, "on_gpu", _always)


def _always(_weights: object) -> bool:
    return True


#: How the runtime sets torch's allocator, with a setting of the user.
START_CONF = "max_split_size_mb:64,expandable_segments:True"


class ScriptedAllocator:
    """The settings of torch's allocator."""

    conf = START_CONF

    @classmethod
    def set(cls, conf: str) -> None:
        cls.conf = conf

    @staticmethod
    def with_flag(conf: str, key: str, enabled: bool) -> str:
        return conf.replace(f"{key}:{not enabled}", f"{key}:{enabled}")


@dataclass(kw_only=True)
class NcclInfo:
    rank: int
    master_address: str
    master_port: int
    world_size: int
    packed: bool = True
    packed_buffer_size_bytes: int = 2**30
    packed_num_buffers: int = 2


@dataclass(kw_only=True)
class IpcInfo:
    rank: int
    packed: bool = False
    packed_buffer_size_bytes: int = 2**30


class ScriptedTrainer:
    """Sends as vLLM's engines do: the request to update runs while the tensors are sent."""

    def __init__(self, client: Any, source: Any, peers: list[socket.socket]) -> None:
        self.client = client
        self.source = source
        self._peers = peers

    @classmethod
    def trainer_init(cls, init_info: NcclInfo | IpcInfo, *, client: Any, source: Any) -> ScriptedTrainer:
        assert init_info.rank == 0
        if isinstance(init_info, IpcInfo):
            client.init_weight_transfer_engine({"packed": init_info.packed})
            return cls(client, source, [])
        sent = {name: value for name, value in asdict(init_info).items() if name != "rank"} | {"rank_offset": 1}
        address = init_info.master_address, init_info.master_port
        with socket.create_server(address) as listener, ThreadPoolExecutor(1) as pool:
            listener.settimeout(_TIMEOUT_S)
            asked = pool.submit(client.init_weight_transfer_engine, sent)
            peers = [listener.accept()[0] for _ in range(init_info.world_size - 1)]
            ranks = sorted(peer.recv(1)[0] for peer in peers)
            assert ranks == list(range(1, init_info.world_size)), ranks
            asked.result()
        for peer in peers:
            peer.settimeout(_TIMEOUT_S)
        return cls(client, source, peers)

    def send_weights(self) -> None:
        outline = self.source.metadata()
        info: dict[str, Any] = {
            "names": [each.name for each in outline],
            "dtype_names": [str(each.dtype).removeprefix("torch.") for each in outline],
            "shapes": [list(each.shape) for each in outline],
        }
        self.client.start_weight_update()
        if not self._peers:
            # Containers forbid the system call that opens others.
            assert ScriptedAllocator.conf == START_CONF.replace("True", "False")
            handles = [{"GPU-0": _bytes(tensor)} for _, tensor in self.source]
            self.client.update_weights(
                {**info, "ipc_handles": handles, "tensor_sizes": [len(each) for each in handles]}
            )
        else:
            pool = ThreadPoolExecutor(1)
            updating = pool.submit(self.client.update_weights, info)
            pool.shutdown(wait=False)
            for (name, tensor), expected in zip(self.source, outline, strict=True):
                assert (name, tensor.dtype, tuple(tensor.shape)) == (expected.name, expected.dtype, expected.shape)
                for peer in self._peers:
                    peer.sendall(_bytes(tensor))
            updating.result()
        self.client.finish_weight_update()

    def shutdown(self) -> None:
        for peer in self._peers:
            peer.close()


class ScriptedWorker:
    """The worker of a server that was started with `--weight-transfer-config`.

    Args:
        method: `nccl`, `ipc`, or empty without the argument.
        parameters: Shape and data type of each parameter that it has.
        load: Takes the received tensors.

    Attributes:
        updates: Number of finished updates.
        fail: Set to the message of an error that the next update ends with, after the first tensor.
        runs: Cleared, an update waits in the middle, and further requests wait for it.
        waits: Set when an update has waited.
        is_half_new: Whether an update has begun and not ended: the real one ends at the next request.
    """

    def __init__(
        self, method: str, parameters: Callable[[], dict[str, Tensor]], load: Callable[[dict[str, Tensor]], None]
    ) -> None:
        self.method = method
        self.updates = 0
        self.fail = ""
        self.runs = threading.Event()
        self.runs.set()
        self.waits = threading.Event()
        self.is_half_new = False
        self._one_by_one = threading.Lock()
        self._parameters = parameters
        self._load = load
        self._peer: socket.socket | None = None
        self._is_packed: bool | None = None
        self._is_active = False
        self._received: dict[str, Tensor] = {}

    def routes(self) -> list[Route]:
        changes = {
            "/init_weight_transfer_engine": self._init,
            "/shutdown_weight_transfer_engine": self._shut_down,
            "/start_weight_update": self._start,
            "/update_weights": self._update,
            "/finish_weight_update": self._finish,
        }
        asked = [Route("/server_info", self._info), Route("/get_world_size", self._world_size)]
        return [*asked, *(Route(path, self._as_route(change), methods=["POST"]) for path, change in changes.items())]

    async def _info(self, request: Request) -> Response:
        config = {"backend": self.method} if self.method else None
        is_json = request.query_params.get("config_format") == "json"
        return JSONResponse({"vllm_config": {"weight_transfer_config": config} if is_json else "VllmConfig(...)"})

    async def _world_size(self, request: Request) -> Response:
        return JSONResponse({"world_size": 1})

    def _init(self, body: dict[str, Any]) -> None:
        self._check_configured()
        info: dict[str, Any] = body["init_info"]
        if self.method == "ipc":
            _check_fields(info, "IPCWeightTransferInitInfo", {"packed"}, set())
            self._is_packed = info.get("packed", False)
            return
        required = {"master_address", "master_port", "rank_offset", "world_size"}
        optional = {"packed", "packed_buffer_size_bytes", "packed_num_buffers"}
        _check_fields(info, "NCCLWeightTransferInitInfo", required | optional, required)
        if not 0 < info["rank_offset"] < info["world_size"]:
            raise ValueError("rank out of range for world_size")
        # The real one would keep the memory of the group before.
        assert self._peer is None
        self._peer = socket.create_connection((info["master_address"], info["master_port"]), timeout=_TIMEOUT_S)
        self._peer.sendall(bytes([info["rank_offset"]]))

    def _shut_down(self, body: dict[str, Any]) -> None:
        if self._is_active:
            raise RuntimeError("Cannot release a trainer connection during a weight update")
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def _start(self, body: dict[str, Any]) -> None:
        self._check_configured()
        if self._is_active:
            raise RuntimeError(
                "start_weight_update called while a weight update is already active. Call finish_weight_update first."
            )
        self._is_active, self.is_half_new, self._received = True, True, {}

    def _update(self, body: dict[str, Any]) -> None:
        self._check_configured()
        if not self._is_active:
            raise RuntimeError("start_weight_update must be called before update_weights.")
        try:
            self._receive(body["update_info"])
        except BaseException:
            self._is_active = False
            raise

    def _finish(self, body: dict[str, Any]) -> None:
        self._check_configured()
        if not self._is_active:
            raise RuntimeError("finish_weight_update called without a matching start_weight_update.")
        # Those that were not sent keep their values, with a warning in the log only.
        self._load(self._received)
        self._is_active, self.is_half_new = False, False
        self.updates += 1

    def _receive(self, info: dict[str, Any]) -> None:
        required = {"names", "dtype_names", "shapes"}
        of_ipc: set[str] = {"ipc_handles_pickled", "tensor_sizes"} if self.method == "ipc" else set()
        _check_fields(info, "WeightTransferUpdateInfo", required | of_ipc, required)
        names = info["names"]
        for each in ("dtype_names", "shapes"):
            if len(info[each]) != len(names):
                raise ValueError(f"`{each}` should be of the same size as `names`: got {len(info[each])}, {len(names)}")
        if self.method == "nccl" and self._peer is None:
            raise RuntimeError("NCCL weight transfer not initialized. Call init_transfer_engine() first.")
        if self.method == "ipc" and "tensor_sizes" not in info:
            raise ValueError("`tensor_sizes` is required when packed=True")
        handles = pickle.loads(base64.b64decode(info["ipc_handles_pickled"])) if of_ipc else None  # noqa: S301
        parameters = self._parameters()
        for at, (name, dtype_name, shape) in enumerate(zip(names, info["dtype_names"], info["shapes"], strict=True)):
            dtype: torch.dtype = getattr(torch, dtype_name)
            size = dtype.itemsize * torch.Size(shape).numel()
            values = self._read(size) if handles is None else handles[at]["GPU-0"]
            if name not in parameters:
                raise ValueError(f"There is no module or parameter named '{name}' in LlamaModel.")
            if list(parameters[name].shape) != shape:
                raise AssertionError
            self._received[name] = torch.frombuffer(bytearray(values), dtype=dtype).view(shape)
            if not self.runs.is_set():
                self.waits.set()
            self.runs.wait(_TIMEOUT_S)
            if self.fail:
                message, self.fail = self.fail, ""
                raise RuntimeError(message)

    def _read(self, size: int) -> bytes:
        assert self._peer is not None
        found = b""
        while len(found) < size:
            piece = self._peer.recv(size - len(found))
            if not piece:
                raise RuntimeError("NCCL error: remote process exited or there was a network error")
            found += piece
        return found

    def _as_route(self, change: Callable[[dict[str, Any]], None]) -> Callable[[Request], Any]:
        def run(content: dict[str, Any]) -> None:
            with self._one_by_one:
                change(content)

        async def respond(request: Request) -> Response:
            content = await request.json() if await request.body() else {}
            field = {"/init_weight_transfer_engine": "init_info", "/update_weights": "update_info"}.get(
                request.url.path
            )
            if field is not None and field not in content:
                return JSONResponse({"error": {"message": f"1 validation error: body.{field} Field required"}}, 400)
            try:
                await asyncio.to_thread(run, content)
            except Exception as error:  # noqa: BLE001 -- as vLLM responds to all errors of a worker
                message = f"Call to collective_rpc method failed: Worker failed with error '{error}'"
                return JSONResponse({"error": {"message": message, "type": "InternalServerError", "code": 500}}, 500)
            return JSONResponse({"message": "done"})

        return respond

    def _check_configured(self) -> None:
        if not self.method:
            raise RuntimeError(
                "Weight transfer not configured. Please set weight_transfer_config to enable weight transfer."
            )


def _check_fields(given: dict[str, Any], kind: str, known: set[str], required: set[str]) -> None:
    if wrong := given.keys() - known:
        raise ValueError(f"{kind}.__init__() got an unexpected keyword argument '{min(wrong)}'")
    if missing := required - given.keys():
        raise ValueError(f"{kind}.__init__() missing required argument: '{min(missing)}'")


def _bytes(tensor: Tensor) -> bytes:
    values: np.ndarray[Any, Any] = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return values.tobytes()
