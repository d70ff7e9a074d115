"""Checks a GPU machine from end to end: the runtime trains, serves, survives a kill, and how fast it is.

    python scripts/gpu_smoke.py --model smollm2=/models/smollm2.gguf --out results

Needs the installed runtime and a clone, neither Node.js nor a network. No part is started after `--minutes` minutes;
the same command continues until every part is done. `--tiny` has sizes for a CPU. The results are in `gpu-smoke.json`
and `gpu-smoke.md` in the output folder.

Exit codes: 0 all parts passed or cannot be run here, 1 a part failed, 2 invalid arguments, 75 parts are left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

SCRIPTS = Path(__file__).resolve().parent
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS.parent / "src")]

from smoke.parts import NotRunError, SmokePlan, parts_of  # noqa: E402 - the path is set above
from smoke.results import Results  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

UNFINISHED = 75
"""Exit code of a temporary failure (EX_TEMPFAIL of sysexits.h)."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the parts that are left; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--model", metavar="NAME=SOURCE", help="the language model that is trained, such as SmolLM2")
    size.add_argument("--tiny", action="store_true", help="models with random weights, for a trial on a CPU")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    parser.add_argument(
        "--out", type=Path, default=Path("gpu-smoke"), metavar="DIR", help="folder of results [gpu-smoke]"
    )
    parser.add_argument("--minutes", type=float, default=9.0, help="no part is started after so many minutes [9]")
    parser.add_argument(
        "--only",
        metavar="TEXT",
        default="",
        help="only parts whose name contains this text, or ends with it before a $",
    )
    parsed = parser.parse_args(arguments)
    results = Results(parsed.out)
    deadline = time.monotonic() + parsed.minutes * 60
    with tempfile.TemporaryDirectory(prefix="gpu-smoke-") as folder:
        path = Path(folder)
        plan = SmokePlan.tiny(parsed.device, path) if parsed.tiny else SmokePlan.full(parsed.model, parsed.device, path)
        names = [name for name, _ in parts_of(plan) if parsed.only in f"{name}$"]
        if not names:
            parser.error(f"no part contains {parsed.only!r}; parts: {', '.join(name for name, _ in parts_of(plan))}")
        for name, run in parts_of(plan):
            if name not in names or results.is_done(name):
                continue
            if time.monotonic() > deadline:
                break
            run_part(name, lambda run=run, plan=plan: run(plan), results)
    return exit_code(names, results)


def run_part(name: str, run: Callable[[], dict[str, Any]], results: Results) -> None:
    """Runs a part and records its result."""
    started = time.monotonic()
    print(f"{name} …", flush=True)
    try:
        content = run()
    except NotRunError as reason:
        results.record(name, "not run", 0, {"reason": str(reason)})
    except Exception as error:  # noqa: BLE001 - any error is the result of its part, and the next part is run
        results.record(name, "failed", time.monotonic() - started, {"error": f"{type(error).__name__}: {error}"})
    else:
        results.record(name, "passed", time.monotonic() - started, content)
    part = results.parts[name]
    print(f"{name}: {part['status']} in {part['seconds']} s {part.get('error', part.get('reason', ''))}", flush=True)


def exit_code(names: list[str], results: Results) -> int:
    """Prints a summary."""
    left = [name for name in names if name not in results.parts]
    failed = [name for name in names if results.parts.get(name, {}).get("status") == "failed"]
    passed = len(names) - len(left) - len(failed)
    todo = ": repeat the command" if left else ""
    print(f"{passed} passed or not run here, {len(failed)} failed, {len(left)} left{todo}")
    return UNFINISHED if left else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
