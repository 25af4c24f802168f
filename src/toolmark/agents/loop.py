"""The plain agent: ask, execute, repeat until a reply holds no call."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from toolmark.agents.user import User
from toolmark.errors import During
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
    StopReason,
    Task,
    Tool,
    Trajectory,
    Usage,
    World,
)

T = TypeVar("T")
ENDINGS: dict[StopReason, Ending] = {
    "stop": "answered",
    "length": "length",
    "refused": "refused",
    "malformed": "malformed",
    "over_long": "over_long",
}
_SILENT = Sampling()
IN_ENVIRONMENT, _IN_USER = During("environment"), During("user")
_FORCED = ("steps", "calls", "over_long")


async def loop(
    task: Task,
    model: Model,
    dialect: Dialect,
    world: World,
    sampling: Sampling,
    repeat: int = 0,
    *,
    steps: list[Step] | None = None,
) -> Trajectory:
    """Drive the model through every turn of the task.

    Calls of one reply are executed in order, or at the same time where the world's `at_once` is
    more than 1; the results keep the order of the calls. A turn ends with a reply without calls,
    or with any where the task's limit is `single`; reaching another limit of the task, or a
    conversation too long for the model, ends the episode.
    Where a world says that it has `changed`, its tools are read again before the next reply.
    Where it has a `user`, that one hears a reply without calls first: with an answer the turn goes
    on, and the reply does not count as one of the turn's steps.
    `steps` is filled as it goes, so that the caller still has them when an EndpointError or
    WorldError passes through.
    """
    with IN_ENVIRONMENT:
        own = await world.tools()
        task = await begun(task, world)
    talk = _Talk(task, dialect, own or task.tools, [] if steps is None else steps)
    talk.at_once = at_once(world)
    talk.user = getattr(world, "user", None)
    if hasattr(world, "changed"):
        talk.changes = True
        talk.own = talk.ever = {tool.name: tool for tool in own}
    settings = merge(sampling, task.sampling)
    ending: Ending = "answered"
    for index in range(len(task.turns)):
        talk.open(index)
        ending = await _turn(talk, model, world, settings, repeat)
        if ending in _FORCED:
            break
    last = talk.steps[-1] if talk.steps else None
    if talk.changes:
        own = tuple(talk.ever.values())
    with IN_ENVIRONMENT:
        state = await world.final_state()
    return Trajectory(
        task=task.id,
        repeat=repeat,
        dialect=dialect.name,
        steps=tuple(talk.steps),
        answer="" if last is None or last.calls else last.reply.text,
        state=state,
        ending=ending,
        tools=() if own == task.tools else own,
        usage=total(talk.steps),
        latency_s=sum(step.reply.latency_s for step in talk.steps),
    )


class _Talk:
    """The conversation so far: what was said, what is offered, how many calls are left."""

    def __init__(
        self, task: Task, dialect: Dialect, tools: tuple[Tool, ...], steps: list[Step]
    ) -> None:
        self.task = task
        self.dialect = dialect
        self.tools = tools
        self.steps = steps
        self.turn = 0
        self.history: tuple[Message, ...] = ()
        self.said: tuple[Message, ...] = ()
        self.offered: tuple[Tool, ...] = ()
        self.left = task.limits.calls
        self.at_once = 1
        self.user: User | None = None
        self.changes = False
        self.own: dict[str, Tool] = {}
        self.ever: dict[str, Tool] = {}

    def open(self, index: int) -> None:
        """Begin a turn: its messages are said, its tools appear."""
        turn = self.task.turns[index]
        self.turn = index
        self.tools += turn.tools
        if index == 0:
            self.said, self.offered = self.dialect.open(turn.messages, self.tools)
        else:
            self.said, appeared = self.dialect.more(turn.messages, turn.tools)
            self.offered += appeared
        self.history += self.said

    async def heard(self, text: str) -> bool:
        """Let the user hear the last reply; return whether there was an answer, which is said."""
        if self.user is None or not text.strip():
            return False
        with _IN_USER:
            ruling, message = await self.user.answer(self.task, self.turn, self.steps, text)
        self.steps[-1] = replace(self.steps[-1], ruling=ruling)
        if message is None:
            return False
        self.said, appeared = self.dialect.more((message,), ())
        self.offered += appeared
        self.history += self.said
        return True

    async def look(self, world: World) -> None:
        """Offer what the world offers now: its new tools appear, those it has lost go."""
        with IN_ENVIRONMENT:
            now = {tool.name: tool for tool in await world.tools()}
        lost = {name: tool for name, tool in self.own.items() if name not in now}
        fresh = tuple(tool for name, tool in now.items() if name not in self.own)
        self.own = now
        self.ever = self.ever | now
        self.tools = _current(self.tools, now, lost) + fresh
        said, appeared = self.dialect.more((), fresh) if fresh else ((), ())
        self.offered = _current(self.offered, now, lost) + appeared
        self.said += said
        self.history += said


def _current(
    tools: tuple[Tool, ...], now: dict[str, Tool], lost: dict[str, Tool]
) -> tuple[Tool, ...]:
    return tuple(now.get(tool.name, tool) for tool in tools if tool.name not in lost)


async def _turn(talk: _Talk, model: Model, world: World, sampling: Sampling, repeat: int) -> Ending:
    left = talk.task.limits.steps
    while left > 0:
        if talk.changes and getattr(world, "changed"):  # noqa: B009 - not of every World
            await talk.look(world)
        request = Request(
            messages=talk.history, tools=talk.offered, sampling=sampling, repeat=repeat
        )
        reply = await model(request)
        reading = talk.dialect.read(reply, talk.tools)
        calls = reading.calls
        allowed = calls if talk.left is None else calls[: talk.left]
        results: tuple[Result, ...] = ()
        if allowed:
            with IN_ENVIRONMENT:
                if talk.at_once > 1 and len(allowed) > 1:
                    results = await executed(world, allowed, talk.at_once)
                else:
                    results = tuple([await world.call(call) for call in allowed])
        talk.steps.append(
            Step(
                reply=reply,
                turn=talk.turn,
                said=talk.said,
                calls=calls,
                results=results,
                fault=reading.fault,
            )
        )
        talk.said = ()
        if len(allowed) < len(calls):
            return "calls"
        if talk.left is not None:
            talk.left -= len(allowed)
        talk.history += talk.dialect.answer(reply, calls, results)
        if talk.task.limits.single:
            return ENDINGS[reply.stop]
        if calls:
            left -= 1
        elif reply.stop != "stop" or not await talk.heard(reply.text):
            return ENDINGS[reply.stop]
    return "steps"


async def begun(task: Task, world: World) -> Task:
    """Return the task with its first turn as the world says it, where it does."""
    if not hasattr(world, "opening") or not task.turns:
        return task
    return opened(task, await world.opening(task.turns[0].messages))


def opened(task: Task, messages: tuple[Message, ...]) -> Task:
    """Return the task with its first turn as the world says it."""
    return replace(task, turns=(replace(task.turns[0], messages=messages), *task.turns[1:]))


def at_once(world: World) -> int:
    """Return how many calls the world takes at the same time: its `at_once`, else 1."""
    return int(getattr(world, "at_once", 1))


async def executed(world: World, calls: tuple[Call, ...], limit: int) -> tuple[Result, ...]:
    """Execute calls at the same time, at most `limit` of them, started in their order.

    Results are in the order of the calls. When one call raises, or the caller is cancelled, none
    of the others goes on in a world that is being left.
    """
    room = asyncio.Semaphore(limit)

    async def one(call: Call) -> Result:
        async with room:
            return await world.call(call)

    return await together(map(one, calls))


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> tuple[T, ...]:
    """Run all until they end, and return what they return, in their order.

    When one raises, or the caller is cancelled, the others are cancelled and waited for.
    """
    running = [asyncio.create_task(work) for work in works]
    try:
        return tuple(await asyncio.gather(*running))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def merge(base: Sampling, over: Sampling) -> Sampling:
    """Return the base settings with those replaced that `over` names."""
    if over == _SILENT:
        return base
    settings = msgspec.structs.asdict(over)
    named = {name: value for name, value in settings.items() if value not in (None, {})}
    return msgspec.structs.replace(base, **named)


def total(steps: list[Step]) -> Usage:
    """Add up the tokens of all replies."""
    sent = said = thought = kept = 0
    for step in steps:
        used = step.reply.usage
        sent += used.input
        said += used.output
        thought += used.reasoning
        kept += used.cached
    return Usage(input=sent, output=said, reasoning=thought, cached=kept)
