"""Environments of a user's class: one instance for each episode."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from typing import Any

from toolmark.core import json_codec
from toolmark.core.called_code import CodeHolder, check_takes
from toolmark.core.environment import (
    DelegatingEnvironment,
    Environment,
    EnvironmentFactory,
    check_environment,
    read_final_state,
)
from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.media import MediaStore
from toolmark.core.records import Task


class PlainStateEnvironment(DelegatingEnvironment):
    """An environment whose final state is plain JSON, as it will be when the run is read again."""

    async def final_state(self) -> Any:
        """Return the final state. Raises ToolEnvironmentError for one that JSON cannot hold."""
        state = await read_final_state(self.environment)
        try:
            return json_codec.convert_to_json(state)
        except (TypeError, ValueError, RecursionError) as error:
            kind = type(self.environment).__qualname__
            raise ToolEnvironmentError(f"{kind}.final_state: {error}") from None


class ClassEnvironments(EnvironmentFactory):
    """Makes an instance of a class, or calls a function, with the task of each episode.

    An instance that is a context manager, async or not, is entered and left.
    """

    def __init__(self, make: Callable[..., Environment]) -> None:
        self._make = make
        self._takes_task = _takes_task(make)

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[Environment]:
        """Yield a new instance."""
        made = self._make(task) if self._takes_task else self._make()
        check_environment(made)
        fault: BaseException | None = None
        async with AsyncExitStack() as stack:
            if isinstance(made, AbstractAsyncContextManager):
                await stack.enter_async_context(made)
            elif isinstance(made, AbstractContextManager):
                stack.enter_context(made)
            has_state = type(made).final_state is not Environment.final_state
            try:
                yield PlainStateEnvironment(made) if has_state else made
            except BaseException as error:
                fault = error
                raise
        if fault is not None:  # its __exit__ returned True, and the episode has no end
            raise fault


def _takes_task(make: Callable[..., Environment]) -> bool:
    return bool(inspect.signature(make).parameters)


class ClassEnvironmentOpener(CodeHolder):
    """Opens the environments of a class, or of a function that makes one for a task."""

    def __init__(self, make: Callable[..., Environment]) -> None:
        self.make = make
        arguments = [None] if _takes_task(make) else []
        name = getattr(make, "__qualname__", type(make).__qualname__)
        check_takes(make, arguments, f"environment {name} is made of nothing, or of a task")

    @asynccontextmanager
    async def __call__(self, media: MediaStore) -> AsyncIterator[ClassEnvironments]:
        """Yield the factory of a run."""
        yield ClassEnvironments(self.make)

    def called_code(self) -> tuple[Callable[..., Environment], ...]:
        """Return the class or function."""
        return (self.make,)
