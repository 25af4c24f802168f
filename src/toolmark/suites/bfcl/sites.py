"""One site for the categories of several families: each family's is opened once per run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from toolmark.media import Media
from toolmark.runs.suite import Opening
from toolmark.types import Site, Task, World


class Sites:
    """Gives each task the world of its category's site."""

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self._sites = sites

    def world(self, task: Task, needed: Mapping[str, Any], /) -> AbstractAsyncContextManager[World]:
        """Return the world of the task's category."""
        return self._sites[task.category].world(task, needed)


@asynccontextmanager
async def joined(openers: Mapping[str, Opening], media: Media) -> AsyncIterator[Site]:
    """Open the sites of the categories; those with the same opener share one."""
    async with AsyncExitStack() as stack:
        opened: dict[Opening, Site] = {}
        for opener in openers.values():
            if opener not in opened:
                opened[opener] = await stack.enter_async_context(opener(media))
        yield Sites({name: opened[opener] for name, opener in openers.items()})
