"""The room in memory that bodies in flight share: who finds none left waits.

Small bodies are not counted: at most `SMALL_BYTES` for each connection. A larger one takes a
place of a medium size, and where that is exceeded one of the largest size as well. Whoever holds
a large place needs nothing more, and whoever waits for one holds a medium one at most: nobody
waits in a circle.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

SMALL_BYTES = 64 * 2**10
MEDIUM_BYTES = 2**20
LARGE_BYTES = 64 * 2**20
_MEDIUM, _LARGE = 64, 3
BUDGET_BYTES = _MEDIUM * MEDIUM_BYTES + _LARGE * LARGE_BYTES
"""What all bodies in flight hold together, beside the small ones."""


class Room:
    """The places of one event loop: a process has one."""

    def __init__(self) -> None:
        self.medium = asyncio.Semaphore(_MEDIUM)
        self.large = asyncio.Semaphore(_LARGE)


class Held:
    """The place of one body: `size` bytes of it are granted."""

    def __init__(self, room: Room) -> None:
        self.size = SMALL_BYTES
        self._room = room
        self._places: list[asyncio.Semaphore] = []

    async def grow(self, size: int) -> None:
        """Wait until so many bytes are granted; at most `LARGE_BYTES` ever are."""
        for bytes_, places in (
            (MEDIUM_BYTES, self._room.medium),
            (LARGE_BYTES, self._room.large),
        ):
            if self.size < bytes_ and self.size < size:
                await places.acquire()
                self._places.append(places)
                self.size = bytes_

    def release(self) -> None:
        """Give the places back."""
        while self._places:
            self._places.pop().release()


_ROOMS: WeakKeyDictionary[asyncio.AbstractEventLoop, Room] = WeakKeyDictionary()


def here() -> Room:
    """Return the room of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _ROOMS.get(loop)
    if found is None:
        found = _ROOMS[loop] = Room()
    return found
