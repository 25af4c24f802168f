"""An environment that stays open in a separate asyncio task."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.records import Task


class EnvironmentOwner:
    """Opens and closes an environment in one asyncio task, independent of the caller's task.

    Some transports must be closed by the task that opened them, and the task that needs the
    environment may end before the episode does.
    """

    def __init__(self) -> None:
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_open = False

    async def open(
        self, factory: EnvironmentFactory, task: Task, needed: Mapping[str, Any]
    ) -> Environment:
        """Return the open environment. Raises what opening it raises."""
        ready: asyncio.Future[Environment] = asyncio.get_running_loop().create_future()

        async def own_environment() -> None:
            async with factory.open_environment(task, needed) as environment:
                self._is_open = True
                ready.set_result(environment)
                await self._closing.wait()

        owner = self._task = asyncio.create_task(own_environment())
        waiting: set[asyncio.Future[Any]] = {ready, owner}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            self._task = None
            await owner
        return ready.result()

    async def close(self) -> None:
        """Close the environment; cancel it if it is still being opened."""
        self._closing.set()
        if self._task is None:
            return
        if not self._is_open:
            self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()
