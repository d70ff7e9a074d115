"""`agentlightning-runtime doctor`."""

from __future__ import annotations

import dataclasses
import json
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING

from agentlightning_runtime.cli.engine_factory import find_engine_factory
from agentlightning_runtime.cli.runtime_settings import (
    add_engine_flags,
    add_listening_flags,
    engine_settings,
    inference_key,
    serve_options,
)
from agentlightning_runtime.cli.usage_error import UsageError
from agentlightning_runtime.doctor.check import Check
from agentlightning_runtime.doctor.place_checks import (
    checkpoint_check,
    guard_check,
    inference_guard_check,
    port_check,
)
from agentlightning_runtime.doctor.version_checks import version_checks

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

MARKS = {"ok": "✔", "warning": "!", "problem": "✘"}


def declare_doctor(parser: argparse.ArgumentParser) -> None:
    """Declares the flags of the command: those of `serve`, so that the same command line can be checked."""
    add_engine_flags(parser)
    add_listening_flags(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.set_defaults(run=run_doctor)


def run_doctor(flags: argparse.Namespace) -> int:
    """Runs all checks; returns 1 when one reports a problem, else 0."""
    logging.basicConfig(level=logging.ERROR)
    checks: list[Check] = []
    for check in examine(flags):
        checks.append(check)
        if not flags.json:
            print_check(check)
    problems = sum(check.status == "problem" for check in checks)
    if flags.json:
        print(json.dumps({"ok": problems == 0, "checks": [dataclasses.asdict(check) for check in checks]}))
    else:
        print(f"\n{conclusion(checks, flags)}")
    return 1 if problems else 0


def examine(flags: argparse.Namespace) -> Iterator[Check]:
    """All checks, the fast ones first."""
    yield from version_checks()
    if find_spec("torch") is None:
        return
    # Imports torch, so its presence is checked first.
    from agentlightning_runtime.doctor.device_checks import device_checks

    yield from device_checks(flags.device)
    yield checkpoint_check(flags.checkpoints)
    yield port_check("training port", "--port", flags.host, flags.port)
    yield port_check("inference port", "--inference-port", flags.inference_host, flags.inference_port)
    try:
        yield guard_check(serve_options(flags))
    except UsageError as error:
        yield Check("access", "problem", str(error), error.remedy)
    yield from _models(flags)


def _models(flags: argparse.Namespace) -> Iterator[Check]:
    from agentlightning_runtime.doctor.model_checks import model_checks

    try:
        has_key = inference_key(flags) != "" or flags.users is not None
        yield inference_guard_check(flags.inference_host, has_key=has_key)
        if not flags.model:
            return
        # Only training is checked: the port may be in use, and an external sampler takes minutes to start.
        settings = dataclasses.replace(
            engine_settings(flags), inference_host="127.0.0.1", inference_port=0, inference_engine="builtin"
        )
        yield from model_checks(find_engine_factory(flags.engine), settings)
    except UsageError as error:
        yield Check("engine", "problem", str(error), error.remedy)


def print_check(check: Check) -> None:
    """Prints one line for the check and one for its remedy."""
    print(f"{MARKS[check.status]} {check.name}: {check.found}", flush=True)
    if check.remedy:
        print(f"    → {check.remedy}", flush=True)


def conclusion(checks: Sequence[Check], flags: argparse.Namespace) -> str:
    """The summary line."""
    problems = sum(check.status == "problem" for check in checks)
    if problems:
        return f"{problems} problem{'s' if problems > 1 else ''}: this machine is not ready."
    return "Ready." if flags.model else "Ready. Pass --model to check that models load."
