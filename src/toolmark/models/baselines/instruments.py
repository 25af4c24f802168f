"""Test instruments that need no suite: one says nothing, one always calls, one is dead."""

from __future__ import annotations

from toolmark.errors import Unavailable
from toolmark.types import Call, Model, Reply, Request, Task, Tool


class Null:
    """Answers every request with nothing."""

    name = "test/null"

    async def __call__(self, request: Request, /) -> Reply:
        """Return an empty reply."""
        return Reply()


class Dead:
    """Never answers, like a server that is down."""

    name = "test/dead"

    async def __call__(self, request: Request, /) -> Reply:
        """Raise Unavailable."""
        raise Unavailable("test/dead never answers")


class Always:
    """Calls the first tool on offer, without arguments, whatever is asked.

    An instrument, so that it knows the tools also where a prompt holds them. Without any tool
    it makes one up.
    """

    name = "test/always-call"

    def bind(self, task: Task, repeat: int, /) -> Model:
        """Return the model that plays this episode."""
        return _Caller(task.tools or tuple(t for turn in task.turns for t in turn.tools))


class _Caller:
    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.tools = tools

    async def __call__(self, request: Request, /) -> Reply:
        tools = request.tools or self.tools
        name = tools[0].name if tools else "anything"
        return Reply(calls=(Call(name=name, id=f"call_{len(request.messages)}"),))
