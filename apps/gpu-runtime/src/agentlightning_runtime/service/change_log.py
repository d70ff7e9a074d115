"""The order in which things last changed."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class Changing(Protocol):
    """Something whose latest change has a place in a `ChangeLog`."""

    change_index: int


Item = TypeVar("Item", bound=Changing)


class ChangeLog(Generic[Item]):
    """A reader asks for what changed after a place.

    Items that changed again since are listed once, at their latest place, so a slow reader costs no memory.
    """

    def __init__(self) -> None:
        self._indexes: list[int] = []
        self._items: list[Item] = []
        self._next = 1
        self._changed = asyncio.Event()
        self._end: BaseException | None = None

    def append(self, item: Item) -> None:
        """Puts an item's change at the end."""
        item.change_index = self._next
        self._indexes.append(self._next)
        self._items.append(item)
        self._next += 1
        self._wake()

    def compact(self, is_kept: Callable[[Item], bool]) -> None:
        """Forgets everything about items that are not kept, and places that are outdated."""
        kept = [
            (index, item)
            for index, item in zip(self._indexes, self._items, strict=True)
            if item.change_index == index and is_kept(item)
        ]
        self._indexes = [index for index, _ in kept]
        self._items = [item for _, item in kept]

    def close(self, error: BaseException) -> None:
        """Ends every reading, now and later, with an error."""
        self._end = error
        self._wake()

    async def follow(self, after: int) -> AsyncIterator[Item]:
        """Items that changed after a place, in order; then it waits for more until it is cancelled or closed."""
        place = after
        while True:
            changed = self._changed
            at = bisect_right(self._indexes, place)
            if at < len(self._indexes):
                # One at a time: while the reader is busy the log may change, and be compacted.
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
