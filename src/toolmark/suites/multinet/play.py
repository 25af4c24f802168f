"""The surroundings of an episode: every turn is answered by one reply, and nothing is executed."""

from __future__ import annotations

from functools import partial

from toolmark.agents.loop import ENDINGS, merge, total
from toolmark.suites.multinet.frame import truth_of
from toolmark.types import (
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
from toolmark.worlds import silent


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


def failed(task: Task) -> str:
    """Return why a task's pictures cannot be had, "" if they can."""
    return truth_of(task).failed


def _broken(task: Task) -> str:
    why = failed(task)
    return why and f"the task has no pictures: {why}"


# endpoints want a result for every call
_NOTED = Result(parts=(Text("Noted; calls are not executed here."),))
site = partial(silent.site, result=_NOTED, broken=_broken)
"""Opens the surroundings of a run."""
