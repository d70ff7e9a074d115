"""Items in the order of their latest change."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class Changing(Protocol):
    """An item whose latest change has a position in a `ChangeLog`."""

    change_index: int


Item = TypeVar("Item", bound=Changing)


class ChangeLog(Generic[Item]):
    """Supports reading changes after a position.

    Items that changed again are listed once, at their latest position, so a slow reader needs no additional memory.
    """

    def __init__(self) -> None:
        self._indexes: list[int] = []
        self._items: list[Item] = []
        self._next = 1
        self._changed = asyncio.Event()
        self._end: BaseException | None = None

    def append(self, item: Item) -> None:
        """Appends an item's change."""
        item.change_index = self._next
        self._indexes.append(self._next)
        self._items.append(item)
        self._next += 1
        self._wake()

    def compact(self, is_kept: Callable[[Item], bool]) -> None:
        """Removes all state of discarded items, and outdated positions."""
        kept = [
            (index, item)
            for index, item in zip(self._indexes, self._items, strict=True)
            if item.change_index == index and is_kept(item)
        ]
        self._indexes = [index for index, _ in kept]
        self._items = [item for _, item in kept]

    def close(self, error: BaseException) -> None:
        """Ends all current and future reads with an error."""
        self._end = error
        self._wake()

    async def follow(self, after: int) -> AsyncIterator[Item]:
        """Items changed after a position, in order; then waits for more until cancelled or closed."""
        place = after
        while True:
            changed = self._changed
            at = bisect_right(self._indexes, place)
            if at < len(self._indexes):
                # One at a time: the log may change, and be compacted, while the reader is busy.
                place, item = self._indexes[at], self._items[at]
                if item.change_index == place:
                    yield item
                continue
            if self._end is not None:
                raise self._end
            await changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
