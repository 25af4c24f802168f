"""An environment without effects, for suites that judge the calls and not their results."""

from __future__ import annotations

from toolmark.core.environment import Environment
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
