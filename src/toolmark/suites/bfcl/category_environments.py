"""One environment factory for several families; each family's own is opened once per run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from toolmark.core.environment import DelegatingFactory, Environment, EnvironmentFactory
from toolmark.core.media import MediaStore
from toolmark.core.records import Task
from toolmark.runs.suite import EnvironmentOpener


class CategoryEnvironments(DelegatingFactory):
    """Gives each task an environment from its category's factory."""

    def __init__(self, factories: Mapping[str, EnvironmentFactory]) -> None:
        super().__init__(*factories.values())
        self._factories = factories

    def open_environment(
        self, task: Task, states: Mapping[str, Any], /
    ) -> AbstractAsyncContextManager[Environment]:
        """Return the environment of the task's category."""
        return self._factories[task.category].open_environment(task, states)


@asynccontextmanager
async def open_joined(
    openers: Mapping[str, EnvironmentOpener], media: MediaStore
) -> AsyncIterator[EnvironmentFactory]:
    """Open the environment factories of the categories; those with the same opener share one."""
    async with AsyncExitStack() as stack:
        factories: dict[EnvironmentOpener, EnvironmentFactory] = {}
        for opener in openers.values():
            if opener not in factories:
                factories[opener] = await stack.enter_async_context(opener(media))
        yield CategoryEnvironments({name: factories[opener] for name, opener in openers.items()})
