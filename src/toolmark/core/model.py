"""What answers requests: the base classes of models, of controls, and of wrappers around models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeAlias

from toolmark.core.records import Reply, Request, Task

NO_MODEL = "baseline/none"
"""The name of the model of a run that tests an agent without one."""
ReplyFunction: TypeAlias = Callable[[Request], Coroutine[Any, Any, Reply]]
"""An `async (Request) -> Reply`; every Model is one."""


class Model:
    """Answers one request. A subclass defines `__call__`; every other ability has a default.

    - `name`: what runs and caches call the model, "" where it has no name of its own.
    - `accepts_audio`: whether requests may contain sound.
    - `calls_natively`: whether it reads tools and makes calls as records alone, as a baseline does
      that knows no prompts. In a tool format with calls in the text it is shown the native
      conversation, and its calls are written in the format.

    All are fixed when the model is made.
    """

    name: str = ""
    accepts_audio: bool = True
    calls_natively: bool = False

    def __call__(self, request: Request, /) -> Coroutine[Any, Any, Reply]:
        """Return the reply; `async def` in a subclass.

        Raises EndpointError if no answer comes; a fault of the model itself is in the Reply.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    @property
    def refused_settings(self) -> frozenset[str]:
        """The settings of Sampling that were refused, and that requests leave out since then."""
        return frozenset()

    @property
    def unsent_settings(self) -> frozenset[str]:
        """The settings of Sampling that were asked for, and that the endpoint is never sent."""
        return frozenset()

    @property
    def wait_reasons(self) -> Collection[str]:
        """Why requests wait to be repeated now, one reason for each."""
        return ()

    @property
    def activity(self) -> str:
        """What the model does now that takes long, for people; "" where there is no such thing."""
        return ""

    async def close(self) -> None:
        """Release what the model holds; it is not asked afterwards."""


class Control(Model):
    """A control: it may see the task, so it is bound to each episode and answers nothing itself."""

    def bind(self, task: Task, repeat: int, /) -> ReplyFunction:
        """Return the model that answers in this episode."""
        raise NotImplementedError(f"{type(self).__name__} does not define bind")


class DelegatingModel(Model):
    """A model around another one, with all of its abilities; a subclass overrides what it changes.

    What waits and what was refused inside is part of what a subclass adds to it.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name
        self.accepts_audio = model.accepts_audio
        self.calls_natively = model.calls_natively

    def __call__(self, request: Request, /) -> Coroutine[Any, Any, Reply]:
        """Return the inner model's reply."""
        return self.model(request)

    @property
    def refused_settings(self) -> frozenset[str]:
        """The settings that the inner model leaves out."""
        return self.model.refused_settings

    @property
    def unsent_settings(self) -> frozenset[str]:
        """The settings that are never sent."""
        return self.model.unsent_settings

    @property
    def wait_reasons(self) -> Collection[str]:
        """Why requests wait inside."""
        return self.model.wait_reasons

    @property
    def activity(self) -> str:
        """What the inner model does now."""
        return self.model.activity

    async def close(self) -> None:
        """Close the inner model."""
        await self.model.close()


class FunctionModel(Model):
    """A plain `async (Request) -> Reply` as a Model.

    `name` is what it is called, if anything. `close` is called at the end; it may be async.
    """

    def __init__(
        self,
        function: ReplyFunction,
        name: str = "",
        close: Callable[[], object] | None = None,
    ) -> None:
        self.function = function
        self.name = name
        self._close = close

    def __call__(self, request: Request, /) -> Coroutine[Any, Any, Reply]:
        """Return what the function returns."""
        return self.function(request)

    async def close(self) -> None:
        """Call `close`, if there is one."""
        closing = self._close() if self._close is not None else None
        if inspect.isawaitable(closing):
            await closing


def adapt_function(function: ReplyFunction) -> Model:
    """Return a Model unchanged, and a plain function as a Model."""
    return function if isinstance(function, Model) else FunctionModel(function)
