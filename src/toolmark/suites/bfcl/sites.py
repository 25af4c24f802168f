"""One site for the categories of several families: each family's is opened once per run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

from toolmark.media import Media
from toolmark.types import Site, Task, World

Opener: TypeAlias = Callable[[Media], AbstractAsyncContextManager[Site]]


class Sites:
    """Gives each task the world of its category's site."""

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self._sites = sites

    def world(self, task: Task, needed: Mapping[str, Any], /) -> AbstractAsyncContextManager[World]:
        """Return the world of the task's category."""
        return self._sites[task.category].world(task, needed)


@asynccontextmanager
async def joined(openers: Mapping[str, Opener], media: Media) -> AsyncIterator[Site]:
    """Open the sites of the categories; those with the same opener share one."""
    async with AsyncExitStack() as stack:
        opened: dict[Opener, Site] = {}
        for opener in openers.values():
            if opener not in opened:
                opened[opener] = await stack.enter_async_context(opener(media))
        yield Sites({name: opened[opener] for name, opener in openers.items()})
