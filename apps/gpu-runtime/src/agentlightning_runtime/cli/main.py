"""The command `agentlightning-runtime`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from agentlightning_runtime import __version__
from agentlightning_runtime.cli.devices_command import declare_devices
from agentlightning_runtime.cli.doctor_command import declare_doctor
from agentlightning_runtime.cli.health_command import declare_health
from agentlightning_runtime.cli.serve_command import declare_serve

if TYPE_CHECKING:
    from collections.abc import Sequence

DESCRIPTION = """The GPU training runtime of Agent Lightning for TypeScript.

It trains and serves Hugging Face models: training over gRPC, for `agl train --runtime HOST:PORT`, and sampling over an
OpenAI-compatible endpoint, for the agents."""

SERVE = """Trains and serves models until SIGTERM or Ctrl-C; the running operation then finishes.
The first line on standard output is JSON and contains the address."""

DOCTOR = """Checks whether this machine is ready: device, driver, memory, versions, that the models load, and the ports.
Every problem is reported with a remedy. The exit code is 1 when there is a problem."""

DEVICES = "Prints the GPUs that torch can use, as JSON: for programs that start a runtime, such as `agl server`."

HEALTH = "Checks the health of a runtime; the exit code is 0 when it is serving. Needs no key."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code: 0 success, 1 failure, 2 usage error."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="agentlightning-runtime", description=DESCRIPTION, formatter_class=plain)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", metavar="serve | doctor | devices | health", required=True)
    declare_serve(commands.add_parser("serve", help="train and serve models", description=SERVE, formatter_class=plain))
    declare_doctor(
        commands.add_parser(
            "doctor", help="check whether this machine can train", description=DOCTOR, formatter_class=plain
        )
    )
    declare_devices(commands.add_parser("devices", help="list the GPUs, as JSON", description=DEVICES))
    declare_health(commands.add_parser("health", help="check the health of a runtime, for probes", description=HEALTH))
    chosen = parser.parse_args(arguments)
    return chosen.run(chosen)


if __name__ == "__main__":
    sys.exit(main())
