"""The surroundings of an episode: every turn is answered by one reply, and nothing is executed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from toolmark.agents.loop import ENDINGS, merge, total
from toolmark.errors import WorldError
from toolmark.media import Media
from toolmark.types import (
    Call,
    Dialect,
    Ending,
    Message,
    Model,
    Request,
    Result,
    Sampling,
    Step,
    Task,
    Text,
    Tool,
    Trajectory,
    World,
)

FAILED = "failed"
"""In a task's reference: why its pictures cannot be had."""
_NOTED = Result(parts=(Text("Noted; calls are not executed here."),))


async def once(
    task: Task,
    model: Model,
    dialect: Dialect,
    world: World,
    sampling: Sampling,
    repeat: int = 0,
    *,
    steps: list[Step] | None = None,
) -> Trajectory:
    """Ask for one reply to each turn; what was said before is the model's own.

    A call is an answer here and ends nothing: the next turn comes after its result. Only a
    conversation too long for the model ends the episode before its last turn.
    """
    done = [] if steps is None else steps
    settings = merge(sampling, task.sampling)
    history: tuple[Message, ...] = ()
    offered: tuple[Tool, ...] = ()
    ending: Ending = "answered"
    for at, turn in enumerate(task.turns):
        begin = dialect.more if at else dialect.open
        said, more = begin(turn.messages, turn.tools if at else task.tools + turn.tools)
        history, offered = history + said, offered + more
        reply = await model(
            Request(messages=history, tools=offered, sampling=settings, repeat=repeat)
        )
        read = dialect.read(reply, task.tools)
        results = tuple([await world.call(call) for call in read.calls])
        step = Step(
            reply=reply, turn=at, said=said, calls=read.calls, results=results, fault=read.fault
        )
        done.append(step)
        history += dialect.answer(reply, read.calls, results)
        ending = ENDINGS[reply.stop]
        if ending == "over_long":
            break
    return Trajectory(
        task=task.id,
        repeat=repeat,
        dialect=dialect.name,
        steps=tuple(done),
        answer=done[-1].reply.text if done and not done[-1].calls else "",
        state=await world.final_state(),
        ending=ending,
        usage=total(done),
        latency_s=sum(step.reply.latency_s for step in done),
    )


class Mute:
    """Offers the task's tools; a call is noted and nothing comes of it."""

    def __init__(self, task: Task) -> None:
        self._task = task

    async def tools(self) -> tuple[Tool, ...]:
        """Return the task's tools."""
        return self._task.tools

    async def call(self, call: Call, /) -> Result:
        """Do nothing, and say so: endpoints want a result for every call."""
        return _NOTED

    async def final_state(self) -> Any:
        """Return None: there is no state."""
        return None


class Site:
    """Gives each episode its world; holds nothing open."""

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[Mute]:
        """Return a world for the task. Raises WorldError where its pictures cannot be had."""
        if why := failed(task):
            raise WorldError(f"the task has no pictures: {why}")
        yield Mute(task)


@asynccontextmanager
async def site(media: Media) -> AsyncIterator[Site]:
    """Open the site."""
    yield Site()


def failed(task: Task) -> str:
    """Return why a task's pictures cannot be had, "" if they can."""
    return str(task.reference.get(FAILED, ""))
