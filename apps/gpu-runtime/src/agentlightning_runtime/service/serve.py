"""Serves an engine over gRPC."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from agentlightning_runtime.gen.agentlightning.runtime.v1 import inference_pb2, runtime_pb2, training_pb2
from agentlightning_runtime.service.base.clock import Clock, system_clock
from agentlightning_runtime.service.base.limits import MAX_MESSAGE_BYTES, ServiceLimits
from agentlightning_runtime.service.binding import Gate, bind_service
from agentlightning_runtime.service.handlers import inference_handlers, runtime_handlers
from agentlightning_runtime.service.hosting.runtime_host import RuntimeHost
from agentlightning_runtime.service.listen_error import ListenError
from agentlightning_runtime.service.training_handlers import training_handlers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentlightning_runtime.contract.engine import RuntimeEngine

SHUTDOWN_GRACE_SECONDS = 1.0
"""Grace period of open connections when the server stops."""

KEEPALIVE_MS = 20_000
"""Keep-alive interval of idle connections, and its timeout."""

MIN_PING_INTERVAL_MS = 1_000
"""Minimum ping interval of clients; below the interval of watching clients, to not disconnect them."""

SERVICES = (
    runtime_pb2.DESCRIPTOR.services_by_name["RuntimeService"],
    training_pb2.DESCRIPTOR.services_by_name["TrainingService"],
    inference_pb2.DESCRIPTOR.services_by_name["InferenceService"],
)


@dataclass(frozen=True, slots=True)
class ServerTls:
    """PEM texts.

    Attributes:
        certificate: The server's certificate, with intermediate certificates.
        private_key: Its key.
        client_authority: Authority of the clients' certificates; when set, every client needs one.
    """

    certificate: bytes
    private_key: bytes
    client_authority: bytes | None = None


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to serve an engine.

    Attributes:
        host: Address to listen on. One beyond this machine needs TLS and a key or client certificates.
        port: 0 selects a free port.
        api_key: Key that every client must send; empty: no authentication, unless there are users.
        users: Keys by the name of the user, instead of one key; models of users are separate.
        tls: Encrypts connections.
        limits: Limits and retention times.
        clock: The clock.
    """

    host: str = "127.0.0.1"
    port: int = 0
    api_key: str = ""
    users: Mapping[str, str] = field(default_factory=dict[str, str])
    tls: ServerTls | None = None
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    clock: Clock = system_clock


class RuntimeServer:
    """A listening training runtime. `address` is what clients connect to, such as `127.0.0.1:50051`."""

    def __init__(self, server: grpc.aio.Server, host: RuntimeHost, probes: HealthServicer, address: str) -> None:
        self._server = server
        self._host = host
        self._probes = probes
        self.address = address
        self._stopping: asyncio.Task[None] | None = None

    async def stop(self) -> None:
        """Rejects new calls, lets the running operation finish, and ends connections and engine.

        Concurrent calls wait for the same end.
        """
        self._stopping = self._stopping or asyncio.create_task(self._stop())
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        await self._probes.enter_graceful_shutdown()
        await self._host.stop()
        await self._server.stop(SHUTDOWN_GRACE_SECONDS)


async def serve(engine: RuntimeEngine, options: ServeOptions) -> RuntimeServer:
    """Serves an engine: sessions, sequence, retries, validation, results, health and reflection.

    Raises:
        ListenError: When the port is taken, or the host is not loopback and key or TLS is missing.
    """
    assert_guarded(options)
    server = grpc.aio.server(
        options=(
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.keepalive_time_ms", KEEPALIVE_MS),
            ("grpc.keepalive_timeout_ms", KEEPALIVE_MS),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.min_ping_interval_without_data_ms", MIN_PING_INTERVAL_MS),
            # Two servers on one port would each receive a part of the calls.
            ("grpc.so_reuseport", 0),
        )
    )
    port = _listen(server, options)
    host = RuntimeHost(engine, options.limits, options.clock)
    gate = Gate(options.api_key, options.users)
    handlers = (runtime_handlers(host), training_handlers(host), inference_handlers(host))
    server.add_generic_rpc_handlers(
        tuple(bind_service(service, table, gate) for service, table in zip(SERVICES, handlers, strict=True))
    )
    probes = await _add_health(server)
    names = [service.full_name for service in SERVICES]
    reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    await server.start()
    return RuntimeServer(server, host, probes, f"{_bracketed(options.host)}:{port}")


def assert_guarded(options: ServeOptions) -> None:
    """Raises ListenError for an unprotected listener beyond loopback."""
    has_authority = options.tls is not None and options.tls.client_authority is not None
    has_key = bool(options.api_key or options.users) or has_authority
    if is_loopback(options.host) or (has_key and options.tls is not None):
        return
    missing = "TLS" if options.tls is None else "a key or client certificates"
    raise ListenError(
        f"Refusing to listen on {options.host} without {missing}: remote clients could train and read models",
        "Pass --tls-certificate, --tls-key and a key (--api-key-file) or --tls-client-authority; or listen on "
        "127.0.0.1 behind a TLS proxy or a tunnel",
    )


def is_loopback(host: str) -> bool:
    """Whether a host name or address is loopback."""
    name = host.strip("[]")
    parts = name.split(".")
    is_v4 = len(parts) == 4 and parts[0] == "127" and all(part.isdigit() for part in parts)
    return name in ("localhost", "::1") or is_v4


async def _add_health(server: grpc.aio.Server) -> HealthServicer:
    """gRPC's health service; needs no key."""
    probes = HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(probes, server)
    serving = health_pb2.HealthCheckResponse.SERVING
    await asyncio.gather(*(probes.set(name, serving) for name in ["", *(each.full_name for each in SERVICES)]))
    return probes


def _listen(server: grpc.aio.Server, options: ServeOptions) -> int:
    address = f"{_bracketed(options.host)}:{options.port}"
    try:
        if options.tls is None:
            return server.add_insecure_port(address)
        credentials = grpc.ssl_server_credentials(
            [(options.tls.private_key, options.tls.certificate)],
            root_certificates=options.tls.client_authority,
            require_client_auth=options.tls.client_authority is not None,
        )
        return server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise ListenError(
            f"Cannot listen on {address}",
            "The port may be taken, or the address is not one of this machine: see `ss -ltnp`, or pass another --port",
        ) from error


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
