"""A world in which nothing happens: for suites that judge the calls, not what comes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from toolmark.media import Media
from toolmark.types import Call, Result, Task, Tool


class Silent:
    """Offers the task's own tools; every call returns an empty result."""

    def __init__(self, task: Task) -> None:
        self._task = task

    async def tools(self) -> tuple[Tool, ...]:
        """Return the task's tools."""
        return self._task.tools

    async def call(self, call: Call, /) -> Result:
        """Do nothing and say nothing, whatever the call."""
        return Result()

    async def final_state(self) -> Any:
        """Return None: there is no state."""
        return None


class SilentSite:
    """Gives each episode its silent world; holds nothing open."""

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[Silent]:
        """Return a silent world for the task."""
        yield Silent(task)


@asynccontextmanager
async def site(media: Media) -> AsyncIterator[SilentSite]:
    """Open the site."""
    yield SilentSite()
