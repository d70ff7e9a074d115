"""`agentlightning-runtime devices`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def declare_devices(parser: argparse.ArgumentParser) -> None:
    """Declares the command, which has no flags."""
    parser.set_defaults(run=run_devices)


def run_devices(_: argparse.Namespace) -> int:
    """Prints the GPUs that torch can use as one line of JSON; returns 0."""
    # Imported late: the other commands work without torch.
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    print(json.dumps({"gpus": [torch.cuda.get_device_name(index) for index in range(count)]}))
    return 0
