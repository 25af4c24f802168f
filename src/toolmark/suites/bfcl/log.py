"""The log of an episode in the shape of the official result files, for those who read it.

The official evaluator does not look at it; it copies it into its score files beside a failure. A
turn is a dict of its first messages and its steps; between turns stand the simulators' states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from toolmark import codec
from toolmark.dialects.parse import python
from toolmark.suites.bfcl import replay, simulators
from toolmark.types import Step, Task, Trajectory
from toolmark.worlds import objects

Entry: TypeAlias = dict[str, Any]
Told: TypeAlias = Sequence[tuple[Step, Any]]  # a turn's steps, each with its row's result

_ENDED = {
    "steps": "the limit of replies per turn was reached",
    "calls": "the limit of calls was reached",
    "length": "the reply was cut at the token limit",
    "refused": "the model refused",
    "malformed": "the reply was malformed",
}


def log(task: Task, trajectory: Trajectory, turns: Sequence[Told]) -> list[Any] | None:
    """Return the log; None for an episode of which only the replies are known, as an imported one.

    States are those of a replay of the calls. From the first turn on in which a result is not the
    recorded one they are left out.
    """
    if not any(step.said for step in trajectory.steps):
        return None
    states = _states(task, turns) if task.category.startswith("multi_turn_") else iter(())
    found: list[Any] = [state] if (state := next(states, None)) else []
    for at, turn in enumerate(turns):
        told = _turn(turn)
        if at + 1 == len(turns) and trajectory.ending in _ENDED:
            last = told[f"step_{len(turn) - 1}"]
            last.append(_note(f"the episode was ended: {_ENDED[trajectory.ending]}"))
        found.append(told)
        if state := next(states, None):
            found.append(state)
    return found


def _turn(turn: Told) -> Entry:
    said = [message for step, _ in turn for message in step.said]
    asked = [{"role": x.role, "content": codec.restore(x.text)} for x in said]
    steps = {f"step_{at}": _step(*each) for at, each in enumerate(turn)}
    return {"begin_of_turn_query": asked, **steps}


def _step(step: Step, result: Any) -> list[Entry]:
    reply: Entry = {"role": "assistant", "content": result}
    if step.reply.reasoning:
        reply["reasoning_content"] = codec.restore(step.reply.reasoning)
    heard = [{"role": "tool", "content": codec.restore(each.text)} for each in step.results]
    return [reply, _read(step), *heard]


def _read(step: Step) -> Entry:
    """Return what became of a reply: the calls as source, or why there are none."""
    if not step.calls:
        return _note("no call was read; the turn ends") | {"error": codec.restore(step.fault)}
    calls = [_source(codec.restore(x.name), codec.restore(x.arguments)) for x in step.calls]
    return _note("calls were read") | {"model_response_decoded": calls}


def _source(name: str, arguments: str) -> str:
    try:
        given = codec.loads(arguments)
        return python.execution([(name, given)])[0] if isinstance(given, dict) else arguments
    except (codec.BadJson, python.Unreadable):
        return f"{name}: {arguments}"


def _note(text: str) -> Entry:
    return {"role": "handler_log", "content": text}


# --- states -----------------------------------------------------------------------------


def _states(task: Task, turns: Sequence[Told]) -> Iterator[list[Entry]]:
    """Yield the state at the start and after each turn, while results are the recorded ones."""
    check = replay.check(task)
    world = check.open(check.pool())
    yield _state(world)
    for turn in turns:
        for step, _ in turn:
            for call, result in zip(step.calls, step.results, strict=False):
                if objects.answer(world, call) != result:
                    return
        yield _state(world)


def _state(world: objects.Objects) -> list[Entry]:
    return [
        {"role": "state_info", "class_name": name, "content": fields}
        for name, fields in simulators.state(world).items()
        if fields  # the calculator has none
    ]
