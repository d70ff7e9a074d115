"""Turns of trainer and sampler on a GPU that they share."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class DeviceGate:
    """Puts the sampler to sleep before training, and wakes it for the first request afterwards.

    Training waits for the requests in flight; requests wait for the running operation of the trainer.

    Args:
        sleep: frees the sampler's memory.
        wake: restores it.
    """

    def __init__(self, sleep: Callable[[], None], wake: Callable[[], None]) -> None:
        self._sleep = sleep
        self._wake = wake
        self._changed = threading.Condition()
        self._in_flight = 0
        self._is_training = False
        self._is_asleep = False

    def enter(self) -> None:
        """Waits until the sampler may compute."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_training)
            if self._is_asleep:
                self._wake()
                self._is_asleep = False
            self._in_flight += 1

    def leave(self) -> None:
        """The sampler has finished a request."""
        with self._changed:
            self._in_flight -= 1
            self._changed.notify_all()

    @contextmanager
    def sampling(self) -> Generator[None]:
        """A request within a block."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def begin_training(self) -> None:
        """Waits for the requests in flight, then puts the sampler to sleep."""
        with self._changed:
            self._is_training = True
            try:
                self._changed.wait_for(lambda: self._in_flight == 0)
                if not self._is_asleep:
                    self._sleep()
                    self._is_asleep = True
            except BaseException:
                self._is_training = False
                self._changed.notify_all()
                raise

    def end_training(self) -> None:
        """Lets requests in."""
        with self._changed:
            self._is_training = False
            self._changed.notify_all()
