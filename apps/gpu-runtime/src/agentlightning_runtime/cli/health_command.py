"""`agentlightning-runtime health`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from grpc_health.v1 import health_pb2

if TYPE_CHECKING:
    import argparse

TIMEOUT_SECONDS = 4.0


def declare_health(parser: argparse.ArgumentParser) -> None:
    """Declares the flags of the command."""
    parser.add_argument("--address", default="127.0.0.1:50051", metavar="HOST:PORT", help="[%(default)s]")
    parser.add_argument("--authority", type=Path, metavar="FILE", help="certificate authority of the runtime, PEM")
    parser.set_defaults(run=run_health)


def run_health(flags: argparse.Namespace) -> int:
    """Checks the health of a runtime; returns 0 when it is serving."""
    if flags.authority is None:
        channel = grpc.insecure_channel(flags.address)
    else:
        channel = grpc.secure_channel(flags.address, grpc.ssl_channel_credentials(flags.authority.read_bytes()))
    check = channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    try:
        with channel:
            answer = check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_SECONDS)
    except grpc.RpcError as error:
        why = error.details() if isinstance(error, grpc.Call) else str(error)
        sys.stderr.write(f"No response from {flags.address}: {why}\n")
        return 1
    is_serving = answer.status == health_pb2.HealthCheckResponse.SERVING
    print("serving" if is_serving else "not serving")
    return 0 if is_serving else 1
