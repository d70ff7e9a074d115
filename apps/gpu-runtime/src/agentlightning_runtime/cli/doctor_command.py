"""`agentlightning-runtime doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def declare_doctor(parser: argparse.ArgumentParser) -> None:
    """Declares the flags of the command."""
    parser.set_defaults(run=run_doctor)


def run_doctor(flags: argparse.Namespace) -> int:
    """Looks at everything; returns the exit code."""
    del flags
    return 0
