"""A world in which nothing happens: for suites that judge the calls, not what comes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from toolmark.media import Media
from toolmark.types import Call, Result, Task, Tool

NOTHING = Result()


class Silent:
    """Offers the task's own tools; every call returns the same result, an empty one if not told."""

    def __init__(self, task: Task, result: Result = NOTHING) -> None:
        self._task = task
        self._result = result

    async def tools(self) -> tuple[Tool, ...]:
        """Return the task's tools."""
        return self._task.tools

    async def call(self, call: Call, /) -> Result:
        """Do nothing, whatever the call."""
        return self._result

    async def final_state(self) -> Any:
        """Return None: there is no state."""
        return None


class SilentSite:
    """Gives each episode its silent world; holds nothing open."""

    def __init__(self, result: Result = NOTHING) -> None:
        self._result = result

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[Silent]:
        """Return a silent world."""
        yield Silent(task, self._result)


@asynccontextmanager
async def site(media: Media, *, result: Result = NOTHING) -> AsyncIterator[SilentSite]:
    """Open the site."""
    yield SilentSite(result)
