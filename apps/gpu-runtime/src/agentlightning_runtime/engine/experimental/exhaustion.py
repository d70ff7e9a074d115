"""Memory that runs out on one of several ranks, which ends all: rank 0 returns the error to the client before.

The other ranks wait for the exhausted one in a collective operation, which cannot be interrupted. Rank 0 therefore runs
its calls in a thread, and meanwhile looks for a note of the exhausted rank in a key-value store of the ranks.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, NoReturn, TypeVar

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.memory.out_of_memory import RankExhaustedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentlightning_runtime.engine.base.ranks import Ranks

Result = TypeVar("Result")

LOG = logging.getLogger(__name__)

#: sysexits.h: an internal software error.
FAILED_EXIT_CODE = 70

#: Seconds between two looks for a note.
_INTERVAL_S = 0.5

#: Seconds in which the client receives the error, before rank 0 ends.
DELIVERY_S = 5.0

#: Seconds in which rank 0 finds a note, before the exhausted rank ends and the launcher ends the others.
NOTICE_S = 15.0

_KEY = "out-of-memory"


def end_exhausted(ranks: Ranks, error: RankExhaustedError) -> NoReturn:
    """Ends the process of a rank above 0, after it has left a note for rank 0."""
    LOG.critical("%s", error)
    if ranks.notes is not None:
        cause = error.error
        ranks.notes.set(_KEY, json.dumps([cause.message, cause.remedy, cause.num_tokens]))
        # Usually rank 0 ends earlier, and the launcher then ends this process.
        time.sleep(NOTICE_S)
    os._exit(FAILED_EXIT_CODE)


class WatchedCalls:
    """The calls of rank 0, one after another, which end with the error of an exhausted rank. The process then ends.

    Args:
        ranks: Their store has the notes; without one only rank 0 itself is watched.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rank-0")
        self._failure: EngineError | None = None

    def run(self, work: Callable[[], Result]) -> Result:
        """Runs a call that all ranks make.

        Raises:
            EngineError: OUT_OF_MEMORY when a rank is exhausted; no call is possible from then on.
        """
        if self._failure is not None:
            raise self._failure
        call = self._thread.submit(work)
        while not wait([call], _INTERVAL_S).done:
            failure = self._note()
            if failure is not None:
                self._end(failure)
        try:
            return call.result()
        except RankExhaustedError as error:
            LOG.critical("%s", error)
            self._end(error.error)

    def _note(self) -> EngineError | None:
        notes = self._ranks.notes
        try:
            if notes is None or not notes.check([_KEY]):
                return None
            message, remedy, num_tokens = json.loads(notes.get(_KEY))
        except RuntimeError:
            # The store has ended with its launcher, which ends this process too.
            return None
        return EngineError(EngineErrorReason.OUT_OF_MEMORY, message, remedy=remedy, num_tokens=num_tokens)

    def _end(self, failure: EngineError) -> NoReturn:
        failure.gradients_discarded = True
        self._failure = failure
        ending = threading.Timer(DELIVERY_S, os._exit, [FAILED_EXIT_CODE])
        ending.daemon = True
        ending.start()
        raise failure

    def close(self) -> None:
        """Ends the thread."""
        self._thread.shutdown(wait=False)
