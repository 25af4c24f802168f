"""The executor of M3-Bench: rounds of plan, process and decide, then a reply (arXiv 2511.17729).

Structure and settings are the published ones; the words are our own. `docs/executor.md` says
where it departs from the reference code, and why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark.agents import wording
from toolmark.agents.loop import ENDINGS, IN_ENVIRONMENT, at_once, begun, executed, merge, total
from toolmark.agents.paced import Paced
from toolmark.agents.pool import Pool
from toolmark.codec import restore
from toolmark.dialects.staged import Staged, thoughtless
from toolmark.types import (
    Call,
    Dialect,
    Ending,
    Message,
    Model,
    Part,
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

Phase: TypeAlias = Literal["plan", "process", "decide", "final"]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Executor:
    """Plays an episode in rounds; the defaults are those of the published benchmark script.

    `max_step` rounds at most; `max_concurrent` calls per round; `top_tools` tools are offered where
    a plan names none, nearest words first; `lenient` as in `dialects.staged`; `retry` asks once
    more for JSON that cannot be read; `pool` lists the pictures that tools have made.
    """

    max_step: int = 6
    max_concurrent: int = 10
    top_tools: int = 400
    lenient: bool = True
    retry: bool = True
    pool: bool = True

    def paced(self, player: Model, /) -> Model:
        """Return a player of the plain loop as one that says its replies phase by phase."""
        return Paced(player)

    async def __call__(
        self,
        task: Task,
        model: Model,
        dialect: Dialect,
        world: World,
        sampling: Sampling,
        repeat: int = 0,
        *,
        steps: list[Step] | None = None,
    ) -> Trajectory:
        """Drive the model through every turn of the task; every request is a Step of its phase.

        The run's `dialect` is not asked: the calls are the executor's own JSON. A task's limit of
        steps bounds the rounds of a turn; one call over its limit of calls, or a conversation too
        long for the model, ends the episode without a reply.
        """
        with IN_ENVIRONMENT:
            task = await begun(task, world)
        talk = _Talk(self, task, model, world, [] if steps is None else steps)
        talk.sampling = merge(sampling, task.sampling)
        talk.repeat = repeat
        ending: Ending = "answered"
        for index in range(len(task.turns)):
            ending = await talk.turn(index)
            if ending in ("calls", "over_long"):
                break
        last = talk.steps[-1] if talk.steps else None
        final = last is not None and last.phase == "final"
        offered = tuple(talk.offered.values())
        with IN_ENVIRONMENT:
            state = await world.final_state()
        return Trajectory(
            task=task.id,
            repeat=repeat,
            dialect=Staged.name,
            steps=tuple(talk.steps),
            answer=thoughtless(last.reply.text) if last is not None and final else "",
            state=state,
            ending=ending,
            tools=() if offered == task.tools else offered,
            usage=total(talk.steps),
            latency_s=sum(step.reply.latency_s for step in talk.steps),
        )


class _TooLong(Exception):
    """The conversation no longer fits the model."""


class _TooMany(Exception):
    """The model asked for a call beyond the task's limit."""


@dataclass(slots=True)
class _Talk:
    """One episode: what was said and heard, what is offered, how many calls are left."""

    own: Executor
    task: Task
    model: Model
    world: World
    steps: list[Step]
    sampling: Sampling = field(default_factory=Sampling)
    repeat: int = 0
    index: int = 0
    tools: tuple[Tool, ...] = ()
    offered: dict[str, Tool] = field(default_factory=dict)
    history: tuple[Message, ...] = ()
    said: tuple[Message, ...] = ()
    pictures: Pool = field(default_factory=Pool)
    dialect: Staged = field(init=False)
    left: int | None = field(init=False)
    width: int = field(init=False)

    def __post_init__(self) -> None:
        self.dialect = Staged(lenient=self.own.lenient)
        self.left = self.task.limits.calls
        self.width = min(self.own.max_concurrent, at_once(self.world))

    async def turn(self, index: int) -> Ending:
        """Play one user turn: rounds until the model says that it is enough, then its reply."""
        self.index = index
        self.said = self.task.turns[index].messages
        self.history += self.said
        question = "\n\n".join(m.text for m in self.said if m.role == "user")
        n_rounds = min(self.own.max_step, self.task.limits.steps)
        try:
            for number in range(1, n_rounds + 1):
                if await self._round(number, n_rounds, question):
                    break
            reply = (await self._ask("final", wording.FINAL)).reply
        except _TooLong:
            return "over_long"
        except _TooMany:
            return "calls"
        self.history += (Message(role="assistant", parts=(Text(thoughtless(reply.text)),)),)
        return ENDINGS[reply.stop]

    async def _round(self, number: int, n_rounds: int, question: str) -> bool:
        """Play one round and return whether the model has enough."""
        await self._look()
        chosen = await self._plan(number, n_rounds, question)
        step = await self._process(chosen)
        if step.fault and not step.calls:
            self._unread(step)
            return False
        if step.calls:
            self.history += self._heard(step)
        decision = await self._ask("decide", wording.decide(question))
        return _yes(decision.reply.text)

    async def _look(self) -> None:
        """See what is offered now: servers may change their tools between rounds."""
        with IN_ENVIRONMENT:
            tools = await self.world.tools() or self.task.tools
        for turn in self.task.turns[: self.index + 1]:
            tools += turn.tools
        self.tools = tools
        self.offered |= {tool.name: tool for tool in tools}

    async def _plan(self, number: int, n_rounds: int, question: str) -> tuple[Tool, ...]:
        """Have tools chosen."""
        said = await self._ask("plan", wording.plan(number, n_rounds, self.tools))
        text = restore(thoughtless(said.reply.text))
        return select(text, self.tools) or nearest(
            f"{question}\n{text}", self.tools, self.own.top_tools
        )

    async def _process(self, tools: tuple[Tool, ...]) -> Step:
        """Have calls written, once more if they cannot be read, and execute them."""
        pictures = self.pictures.paths if self.own.pool else ()
        asked = wording.process(tools, self.own.max_concurrent, pictures)
        step = await self._ask("process", asked)
        if step.fault and not step.calls and self.own.retry:
            step = await self._ask("process", asked + wording.again(step.fault))
        taken = step.calls[: self.own.max_concurrent]
        allowed = taken if self.left is None else taken[: self.left]
        results = await self._execute(allowed)
        step = self.steps[-1] = replace(step, results=results)
        if len(allowed) < len(taken):
            raise _TooMany
        if self.left is not None:
            self.left -= len(allowed)
        for result in results:
            self.pictures.add(result)
        return step

    async def _execute(self, calls: tuple[Call, ...]) -> tuple[Result, ...]:
        with IN_ENVIRONMENT:
            if self.width > 1 and len(calls) > 1:
                return await executed(self.world, calls, self.width)
            return tuple([await self.world.call(call) for call in calls])

    async def _ask(self, phase: Phase, instruction: str) -> Step:
        """Ask the model in one phase and keep the step. Raises _TooLong."""
        message = Message(role="user", parts=(Text(instruction),))
        reply = await self.model(
            Request(
                messages=joined((*self.history, message)),
                sampling=self.sampling,
                repeat=self.repeat,
            )
        )
        reading = self.dialect.read(reply, self.tools) if phase == "process" else None
        step = Step(
            reply=reply,
            turn=self.index,
            said=(*self.said, message),
            calls=reading.calls if reading else (),
            fault=reading.fault if reading else "",
            phase=phase,
        )
        self.steps.append(step)
        self.said = ()
        if reply.stop == "over_long":
            raise _TooLong
        return step

    def _heard(self, step: Step) -> tuple[Message, ...]:
        said, heard = self.dialect.answer(step.reply, step.calls, step.results)
        notes: tuple[Part, ...] = (Text(f"({step.fault})"),) if step.fault else ()
        return said, replace(heard, parts=heard.parts + notes)

    def _unread(self, step: Step) -> None:
        """Tell the model that its round is lost."""
        said = thoughtless(step.reply.text)[: wording.SHOWN] or "(nothing)"
        self.history += (
            Message(role="assistant", parts=(Text(said),)),
            Message(role="user", parts=(Text(wording.lost(step.fault)),)),
        )


def joined(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Join user messages that follow each other: many chat templates refuse two in a row."""
    out: list[Message] = []
    for message in messages:
        if out and message.role == out[-1].role == "user":
            out[-1] = replace(out[-1], parts=(*out[-1].parts, Text("\n\n"), *message.parts))
        else:
            out.append(message)
    return tuple(out)


def select(plan: str, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """Return the tools that a plan names, in the order they are offered, whatever the case.

    A name counts where a colon follows it; where none does, any mention counts.
    """
    low = plan.lower()
    named = {tool.name: _mentions(tool.name, low) for tool in tools}
    best = max(named.values(), default=0)
    return tuple(tool for tool in tools if best and named[tool.name] == best)


def _mentions(name: str, plan: str) -> int:
    """Return 2 for a name with a colon behind it, 1 for the name alone, 0 for neither."""
    bare = rf"(?<![\w/.-]){re.escape(name.lower())}(?![\w/-])"
    if re.search(bare + r"[`*\"' ]{0,8}:", plan):
        return 2
    return 1 if re.search(bare, plan) else 0


def nearest(text: str, tools: tuple[Tool, ...], n: int) -> tuple[Tool, ...]:
    """Return the `n` tools that share most words with the text, in the order they are offered."""
    words = set(_WORD.findall(text.lower()))

    def shared(tool: Tool) -> int:
        return len(words & set(_WORD.findall(f"{tool.name} {tool.description}".lower())))

    best = sorted(range(len(tools)), key=lambda i: -shared(tools[i]))[:n]
    return tuple(tools[i] for i in sorted(best))


def _yes(text: str) -> bool:
    return thoughtless(text).lstrip(" \n*\"'`").lower().startswith("y")
