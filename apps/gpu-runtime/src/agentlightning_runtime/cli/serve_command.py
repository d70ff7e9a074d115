"""`agentlightning-runtime serve`."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from agentlightning_runtime.cli.engine_factory import find_engine_factory
from agentlightning_runtime.cli.runtime_settings import (
    add_engine_flags,
    add_listening_flags,
    engine_settings,
    serve_options,
)
from agentlightning_runtime.cli.usage_error import UsageError
from agentlightning_runtime.contract.engine import TracedEngine
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.service.listen_error import ListenError
from agentlightning_runtime.service.serve import assert_guarded, serve

if TYPE_CHECKING:
    import argparse

    from agentlightning_runtime.contract.engine import RuntimeEngine

LOG = logging.getLogger(__name__)

SECOND_SIGNAL_EXIT_CODE = 130

#: Names of the settings of torch's allocator.
_ALLOCATOR_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


def declare_serve(parser: argparse.ArgumentParser) -> None:
    """Declares the flags of the command."""
    add_engine_flags(parser)
    add_listening_flags(parser)
    parser.add_argument("--log-level", choices=["debug", "info", "warning", "error"], default="info", help="[info]")
    parser.add_argument(
        "--traces",
        type=Path,
        metavar="DIR",
        help="folder of the profiles that SIGUSR1 requests [.traces in that of the checkpoints]",
    )
    parser.add_argument(
        "--until-stdin-ends",
        action="store_true",
        help="stop when standard input ends, to not outlive the parent process",
    )
    parser.set_defaults(run=run_serve)


def run_serve(flags: argparse.Namespace) -> int:
    """Serves until a stop is requested; returns the exit code."""
    logging.basicConfig(level=flags.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Both are read by torch when it is imported, which happens later.
    if flags.threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(flags.threads)
    if not any(name in os.environ for name in _ALLOCATOR_VARIABLES):
        # Micro-batches of many sizes fragment memory otherwise.
        os.environ[_ALLOCATOR_VARIABLES[0]] = "expandable_segments:True"
    try:
        if flags.engine == "torch" and int(os.environ.get("RANK", "0")) > 0:
            # Started by torchrun with a rank above 0: rank 0 communicates with clients.
            _follow(flags)
        else:
            ready = sys.stdout
            # Ray prints the logs of workers.
            with contextlib.redirect_stdout(sys.stderr):
                asyncio.run(_serve(flags, ready))
    except (UsageError, ListenError, EngineError) as error:
        # The text of an engine error already includes the remedy.
        said = error.message if isinstance(error, EngineError) else str(error)
        parts = [part.rstrip(".") for part in (said, error.remedy) if part]
        sys.stderr.write(". ".join(parts) + ".\n")
        return 1
    except KeyboardInterrupt:
        return SECOND_SIGNAL_EXIT_CODE
    return 0


def _follow(flags: argparse.Namespace) -> None:
    # Imports torch, which must happen after the number of threads is set.
    engine = importlib.import_module("agentlightning_runtime.create_engine")
    engine.follow_first_process(engine_settings(flags))


async def _serve(flags: argparse.Namespace, ready: TextIO) -> None:
    options = serve_options(flags)
    settings = engine_settings(flags)
    # Before the models are loaded, which is slow.
    assert_guarded(options)
    engine = await asyncio.to_thread(find_engine_factory(flags.engine), settings)
    # From here on a signal requests a graceful stop; earlier it ends the process.
    stop_requested = watch_for_stop(until_stdin_ends=flags.until_stdin_ends)
    trace_on_signal(engine, flags.traces or settings.checkpoint_directory / ".traces")
    try:
        server = await serve(engine, options)
    except BaseException:
        engine.close()
        raise
    LOG.info("Listening on %s for %s", server.address, ", ".join(settings.base_models))
    ready.write(json.dumps({"type": "ready", "address": server.address}) + "\n")
    ready.flush()
    await stop_requested.wait()
    LOG.info("Stopping: the running operation finishes, new requests are rejected")
    await server.stop()
    LOG.info("Stopped")


def trace_on_signal(engine: RuntimeEngine, directory: Path) -> None:
    """Profiles the next optimizer step at every SIGUSR1, where the engine can."""
    if isinstance(engine, TracedEngine):
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, engine.trace_next_step, directory)
        LOG.info("SIGUSR1 to process %d profiles the next optimizer step into %s", os.getpid(), directory)


def watch_for_stop(*, until_stdin_ends: bool) -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT, or by the end of standard input; a second signal ends the process at once."""
    loop = asyncio.get_running_loop()
    stop_requested = asyncio.Event()
    has_signal_come = False

    def stop() -> None:
        nonlocal has_signal_come
        if has_signal_come:
            os._exit(SECOND_SIGNAL_EXIT_CODE)
        has_signal_come = True
        stop_requested.set()

    def wait_for_end() -> None:
        # Not `sys.stdin`: the interpreter needs its lock at exit while this thread still blocks.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        loop.call_soon_threadsafe(stop_requested.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    if until_stdin_ends:
        threading.Thread(target=wait_for_end, name="stdin", daemon=True).start()
    return stop_requested
