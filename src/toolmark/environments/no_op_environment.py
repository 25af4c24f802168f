"""An environment without effects, for suites that judge the calls and not their results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Result, Task, Tool

EMPTY_RESULT = Result()


class NoOpEnvironment(Environment):
    """Offers the task's tools; every call returns the same result, by default an empty one."""

    def __init__(self, task: Task, result: Result = EMPTY_RESULT) -> None:
        self._task = task
        self._result = result

    async def tools(self) -> tuple[Tool, ...]:
        """Return the task's tools."""
        return self._task.tools

    async def call(self, call: Call, /) -> Result:
        """Return the fixed result for any call."""
        return self._result


class NoOpFactory(EnvironmentFactory):
    """Makes a NoOpEnvironment for each episode; it has no resources to close."""

    def __init__(self, result: Result = EMPTY_RESULT) -> None:
        self._result = result

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[NoOpEnvironment]:
        """Yield the environment of a task."""
        yield NoOpEnvironment(task, self._result)


@asynccontextmanager
async def open_no_op_factory(
    media: MediaStore, *, result: Result = EMPTY_RESULT
) -> AsyncIterator[NoOpFactory]:
    """Yield the environment factory."""
    yield NoOpFactory(result)
