"""The memory that bodies in flight share; a body waits when none is left.

Small bodies are not counted: at most `SMALL_BYTES` for each connection. A larger body takes a
medium place. If it exceeds that, it takes a large place too. A body with a large place needs no
other one, and a body that waits for a large place has at most a medium one: so there is no
deadlock.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

SMALL_BYTES = 64 * 2**10
MEDIUM_BYTES = 2**20
LARGE_BYTES = 64 * 2**20
_N_MEDIUM_PLACES, _N_LARGE_PLACES = 64, 3
BUDGET_BYTES = _N_MEDIUM_PLACES * MEDIUM_BYTES + _N_LARGE_PLACES * LARGE_BYTES
"""The memory limit for all bodies in flight together, small bodies not counted."""


class MemoryBudget:
    """The places of one event loop; a process has one."""

    def __init__(self) -> None:
        self.medium = asyncio.Semaphore(_N_MEDIUM_PLACES)
        self.large = asyncio.Semaphore(_N_LARGE_PLACES)


class MemoryReservation:
    """The reservation of one body; `size` bytes are granted."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.size = SMALL_BYTES
        self._budget = budget
        self._acquired: list[asyncio.Semaphore] = []

    async def grow(self, size: int) -> None:
        """Wait until this many bytes are granted, at most `LARGE_BYTES`."""
        for place_bytes, semaphore in (
            (MEDIUM_BYTES, self._budget.medium),
            (LARGE_BYTES, self._budget.large),
        ):
            if self.size < place_bytes and self.size < size:
                await semaphore.acquire()
                self._acquired.append(semaphore)
                self.size = place_bytes

    def release(self) -> None:
        """Release the places."""
        while self._acquired:
            self._acquired.pop().release()


_BUDGET_BY_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, MemoryBudget] = WeakKeyDictionary()


def budget_of_running_loop() -> MemoryBudget:
    """Return the memory budget of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _BUDGET_BY_LOOP.get(loop)
    if found is None:
        found = _BUDGET_BY_LOOP[loop] = MemoryBudget()
    return found
