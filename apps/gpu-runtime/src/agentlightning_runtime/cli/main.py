"""The command `agentlightning-runtime`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from agentlightning_runtime import __version__
from agentlightning_runtime.cli.doctor_command import declare_doctor
from agentlightning_runtime.cli.health_command import declare_health
from agentlightning_runtime.cli.serve_command import declare_serve

if TYPE_CHECKING:
    from collections.abc import Sequence

DESCRIPTION = """The GPU training runtime of Agent Lightning for TypeScript.

It trains and serves Hugging Face models: training over gRPC, for `agl train --runtime HOST:PORT`, and sampling over an
OpenAI-compatible endpoint, for the agents."""

SERVE = """Trains and serves models until it is told to stop (SIGTERM, Ctrl-C); then the operation that runs finishes.
The first line on standard output is JSON and tells the address."""

DOCTOR = """Says whether this machine can train: device, driver, memory, versions, that the models load, and the ports.
Every problem comes with what to do about it. Exit code 1 when something stands in the way."""

HEALTH = "Asks a runtime whether it serves; exit code 0 when it does. It needs no key."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code: 0 done, 1 failed, 2 used wrongly."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="agentlightning-runtime", description=DESCRIPTION, formatter_class=plain)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", metavar="serve | doctor | health", required=True)
    declare_serve(commands.add_parser("serve", help="train and serve models", description=SERVE, formatter_class=plain))
    declare_doctor(
        commands.add_parser("doctor", help="say whether this machine is fit", description=DOCTOR, formatter_class=plain)
    )
    declare_health(
        commands.add_parser("health", help="ask a runtime whether it serves, for probes", description=HEALTH)
    )
    chosen = parser.parse_args(arguments)
    return chosen.run(chosen)


if __name__ == "__main__":
    sys.exit(main())
