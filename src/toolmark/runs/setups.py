"""The final states of set-up episodes, held while an episode still to be played needs them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from toolmark.runs.episodes import Key
from toolmark.types import Task


class Unmet(Exception):
    """A task that this one needs was not run."""


class SetupStates:
    """States by episode; each is freed once all that need it have taken it."""

    def __init__(self, to_play: Iterable[tuple[Task, int]]) -> None:
        """Count who needs what, among the episodes that are to be played."""
        self._takers = Counter((need, repeat) for task, repeat in to_play for need in task.needs)
        self._states: dict[Key, asyncio.Future[Any]] = {}

    def __len__(self) -> int:
        """Return how many states are held or waited for."""
        return len(self._states)

    def wanted(self) -> set[Key]:
        """Return the set-up episodes whose states somebody needs."""
        return set(self._takers)

    def give(self, key: Key, state: Any) -> None:
        """Hand over the final state of a set-up episode, if somebody needs it."""
        if key in self._takers:
            self._future(key).set_result(state)

    def fail(self, key: Key) -> None:
        """Say that a set-up episode was not run."""
        if key in self._takers:
            self._future(key).cancel()

    async def take(self, task: Task, repeat: int) -> dict[str, Any]:
        """Wait for the states that an episode needs. Raises Unmet where one was not run."""
        found: dict[str, Any] = {}
        try:
            for id in task.needs:
                future = self._future((id, repeat))
                await asyncio.wait([future])
                if future.cancelled():
                    raise Unmet(f"it needs {id}, which was not run")
                found[id] = future.result()
        finally:
            for id in task.needs:
                self._release((id, repeat))
        return found

    def _future(self, key: Key) -> asyncio.Future[Any]:
        return self._states.setdefault(key, asyncio.get_running_loop().create_future())

    def _release(self, key: Key) -> None:
        self._takers[key] -= 1
        if self._takers[key] <= 0:
            del self._takers[key]
            self._states.pop(key, None)
