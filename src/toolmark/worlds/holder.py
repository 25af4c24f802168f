"""A world held open by a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from toolmark.types import Site, Task, World


class Holder:
    """Enters and leaves a world in one task, whoever asks for it.

    Some transports must be left by the task that entered them, and the one that finds that it
    needs a world may end before the episode does.
    """

    def __init__(self) -> None:
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._opened = False

    async def enter(self, site: Site, task: Task, needed: Mapping[str, Any]) -> World:
        """Return the world, once it is open. Raises what opening it raises."""
        ready: asyncio.Future[World] = asyncio.get_running_loop().create_future()

        async def hold() -> None:
            async with site.world(task, needed) as live:
                self._opened = True
                ready.set_result(live)
                await self._over.wait()

        holder = self._task = asyncio.create_task(hold())
        waiting: set[asyncio.Future[Any]] = {ready, holder}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            self._task = None
            await holder
        return ready.result()

    async def leave(self) -> None:
        """Close the world; one that is still being opened is given up."""
        self._over.set()
        if self._task is None:
            return
        if not self._opened:
            self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()
