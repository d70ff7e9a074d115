"""Checks of the checkpoint folder and the ports."""

from __future__ import annotations

import shutil
import socket
import tempfile
from typing import TYPE_CHECKING

from agentlightning_runtime.doctor.check import Check
from agentlightning_runtime.service.listen_error import ListenError
from agentlightning_runtime.service.serve import ServeOptions, assert_guarded, is_loopback

if TYPE_CHECKING:
    from pathlib import Path

GIBIBYTE = 1024**3

SCARCE_BYTES = 10 * GIBIBYTE
"""Free disk space below which checkpoints soon fail."""


def checkpoint_check(directory: Path) -> Check:
    """Checks write access and free disk space for checkpoints. Does not create the folder: `serve` does."""
    place = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        remedy = "Pass --checkpoints a folder that this user can write to"
        return Check("checkpoints", "problem", f"cannot write to {directory}: {error.strerror}", remedy)
    free = shutil.disk_usage(place).free
    found = f"{directory.resolve()} has {free / GIBIBYTE:.1f} GiB of free space"
    if free < SCARCE_BYTES:
        remedy = "A checkpoint of all weights takes 12 bytes per weight: free disk space or use LoRA"
        return Check("checkpoints", "warning", found, remedy)
    return Check("checkpoints", "ok", found)


def port_check(name: str, flag: str, host: str, port: int) -> Check:
    """Checks that a port can be listened on."""
    if port == 0:
        return Check(name, "ok", f"any free port of {host}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host.strip("[]"), port))
    except OSError as error:
        remedy = f"Find the listener: ss -ltnp | grep {port}. Or pass another {flag}"
        return Check(name, "problem", f"cannot listen on {host}:{port}: {error.strerror}", remedy)
    return Check(name, "ok", f"{host}:{port} is free")


def inference_guard_check(host: str, *, has_key: bool) -> Check:
    """Checks the access control of the inference endpoint."""
    if is_loopback(host) or has_key:
        return Check("inference access", "ok", f"{host}, {'with a key' if has_key else 'without a key'}")
    found = f"{host}, without a key: any client that reaches the port can sample"
    return Check("inference access", "warning", found, "Pass --inference-key-file, or keep the port behind a firewall")


def guard_check(options: ServeOptions) -> Check:
    """Checks the access control of the training listener."""
    try:
        assert_guarded(options)
    except ListenError as error:
        return Check("access", "problem", str(error), error.remedy)
    key = "with a key" if options.api_key else "without a key: any client that reaches the port can train"
    authority = options.tls is not None and options.tls.client_authority is not None
    secrecy = "no TLS" if options.tls is None else "TLS with client certificates" if authority else "TLS"
    return Check("access", "ok", f"{options.host}, {secrecy}, {key}")
