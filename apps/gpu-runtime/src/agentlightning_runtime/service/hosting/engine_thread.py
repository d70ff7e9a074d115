"""One thread for the engine: the event loop stays free and the engine is single-threaded."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from agentlightning_runtime.service.hosting.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class EngineThread:
    """Runs operations one after another in a dedicated thread, and side calls in other threads.

    Attributes:
        queue: Admits one operation at a time.
    """

    def __init__(self) -> None:
        self._operations = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine")
        self.queue = FairQueue()

    async def run(
        self, work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Runs a part of an operation; the caller has its turn in `queue`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._operations, partial(work, *args, **kwargs))

    async def aside(
        self, work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Runs a call that the engine allows during an operation."""
        return await asyncio.to_thread(work, *args, **kwargs)

    def close(self) -> None:
        """Ends the thread after its current work."""
        self._operations.shutdown(wait=False)
