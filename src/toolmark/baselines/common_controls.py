"""Controls that need no suite: one returns nothing, one always calls, one never answers."""

from __future__ import annotations

from toolmark.core.errors import Unavailable
from toolmark.core.model import Control, Model
from toolmark.core.records import Call, Reply, Request, Task, Tool


class NullControl(Model):
    """Answers every request with an empty reply."""

    name = "control/null"

    async def __call__(self, request: Request, /) -> Reply:
        """Return an empty reply."""
        return Reply()


class DeadControl(Model):
    """Never answers, like a server that is down."""

    name = "control/dead"

    async def __call__(self, request: Request, /) -> Reply:
        """Raise Unavailable."""
        raise Unavailable("control/dead never answers")


class AlwaysCallControl(Control):
    """Calls the first offered tool, without arguments, for every request.

    It is a control: it also knows the tools when they are only in the prompt. Without any tool
    it invents a tool name.
    """

    name = "control/always-call"

    def bind(self, task: Task, repeat: int, /) -> Model:
        """Return the model that plays this episode."""
        return _FirstToolCaller(task.tools or tuple(t for turn in task.turns for t in turn.tools))


class _FirstToolCaller(Model):
    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.tools = tools

    async def __call__(self, request: Request, /) -> Reply:
        tools = request.tools or self.tools
        name = tools[0].name if tools else "anything"
        return Reply(calls=(Call(name=name, id=f"call_{len(request.messages)}"),))
