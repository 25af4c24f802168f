"""Episodes played in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import pytest

from toolmark.agents.tool_loop import run_tool_loop
from toolmark.core.model import Model
from toolmark.core.records import Sampling, Task, Trajectory
from toolmark.environments.function_graph import FunctionGraphEnvironment
from toolmark.formats.native_format import NATIVE_FORMAT

Play = Callable[[Iterable[Task], Callable[[Task], Model]], list[tuple[Task, Trajectory]]]


@pytest.fixture(scope="session")
def play() -> Play:
    def run(tasks: Iterable[Task], make: Callable[[Task], Model]) -> list[tuple[Task, Trajectory]]:
        async def every() -> list[tuple[Task, Trajectory]]:
            return [
                (
                    task,
                    await run_tool_loop(
                        task, make(task), NATIVE_FORMAT, FunctionGraphEnvironment(task), Sampling()
                    ),
                )
                for task in tasks
            ]

        return asyncio.run(every())

    return run
