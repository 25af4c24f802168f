"""The final states of set-up episodes, in memory while an episode still to be played needs them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from toolmark.core.records import Task
from toolmark.runs.episode_records import EpisodeKey


class SetupNotRun(Exception):
    """A task that this one needs was not run."""


class SetupStates:
    """States by episode; each is freed once all episodes that need it have taken it."""

    def __init__(self, to_play: Iterable[tuple[Task, int]]) -> None:
        """Count which states the episodes to be played need."""
        self._n_takers = Counter((need, repeat) for task, repeat in to_play for need in task.needs)
        self._states: dict[EpisodeKey, asyncio.Future[Any]] = {}

    def __len__(self) -> int:
        """Return how many states are stored or waited for."""
        return len(self._states)

    def needed_episodes(self) -> set[EpisodeKey]:
        """Return the set-up episodes whose states an episode needs."""
        return set(self._n_takers)

    def put(self, key: EpisodeKey, state: Any) -> None:
        """Store the final state of a set-up episode, if an episode needs it."""
        if key in self._n_takers:
            self._future(key).set_result(state)

    def record_failure(self, key: EpisodeKey) -> None:
        """Record that a set-up episode was not run."""
        if key in self._n_takers:
            self._future(key).cancel()

    async def take_states(self, task: Task, repeat: int) -> dict[str, Any]:
        """Wait for the states that an episode needs. Raises SetupNotRun where one was not run."""
        found: dict[str, Any] = {}
        try:
            for id in task.needs:
                future = self._future((id, repeat))
                await asyncio.wait([future])
                if future.cancelled():
                    raise SetupNotRun(f"it needs {id}, which was not run")
                found[id] = future.result()
        finally:
            for id in task.needs:
                self._release_state((id, repeat))
        return found

    def _future(self, key: EpisodeKey) -> asyncio.Future[Any]:
        return self._states.setdefault(key, asyncio.get_running_loop().create_future())

    def _release_state(self, key: EpisodeKey) -> None:
        self._n_takers[key] -= 1
        if self._n_takers[key] <= 0:
            del self._n_takers[key]
            self._states.pop(key, None)
