"""An HTTP server in a separate thread with its event loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import uvicorn

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.users import Keys

if TYPE_CHECKING:
    from starlette.applications import Starlette

_KEEP_ALIVE_S = 65
"""Keep-alive timeout of idle connections: agents pause between calls."""

_GRACE_S = 2
"""Time for responses in flight to complete when the server stops."""


@dataclass(frozen=True)
class EndpointSettings:
    """Listener and credentials of a model API.

    Attributes:
        host: listener address.
        port: 0 selects a free port.
        public_url: URL reported to clients, including `/v1`; empty: the listener.
        keys: keys of the clients.
    """

    host: str = "127.0.0.1"
    port: int = 0
    public_url: str = ""
    keys: Keys = field(default_factory=Keys)


class HttpServer:
    """Serves an application until it is closed.

    Args:
        app: the application.
        settings: the listener.

    Raises:
        EngineError: when the port is not available.
    """

    def __init__(self, app: Starlette, settings: EndpointSettings) -> None:
        self._settings = settings
        self._socket = _listen(settings.host, settings.port)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_GRACE_S,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="inference-http", daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """The URL reported to clients, including `/v1`."""
        host, port = self._settings.host, self._socket.getsockname()[1]
        return self._settings.public_url or f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"

    def close(self) -> None:
        """Completes responses in flight and stops."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        message = f"The inference endpoint cannot listen on {host}:{port}: {error.strerror}"
        remedy = "Choose another port, or 0 for a free port"
        raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy) from error
    return listener
