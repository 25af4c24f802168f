"""Episodes played in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import pytest

from toolmark.agents.loop import loop
from toolmark.dialects.native import NATIVE
from toolmark.types import Model, Sampling, Task, Trajectory
from toolmark.worlds.dag import Dag

Play = Callable[[Iterable[Task], Callable[[Task], Model]], list[tuple[Task, Trajectory]]]


@pytest.fixture(scope="session")
def play() -> Play:
    def run(tasks: Iterable[Task], make: Callable[[Task], Model]) -> list[tuple[Task, Trajectory]]:
        async def every() -> list[tuple[Task, Trajectory]]:
            return [
                (task, await loop(task, make(task), NATIVE, Dag(task), Sampling()))
                for task in tasks
            ]

        return asyncio.run(every())

    return run
