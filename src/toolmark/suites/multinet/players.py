"""The baselines as players: each gives its guess as a model gives its answer, in the form asked.

What a guess is made of is in `guesses`; here it becomes a text or a call of a tool, which the same
parser and the same rules read as any model's. A guess that came with the task is all that a player
looks at: the truth is not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from toolmark.dialects.parse import python
from toolmark.errors import UsageError, near
from toolmark.suites.multinet.families import BASELINES
from toolmark.suites.multinet.frame import (
    ACT,
    ACTIONS,
    ANSWER,
    CHOOSE,
    MOVE,
    ODDS,
    PLAYERS,
    Answer,
    Calls,
    Choice,
    Motion,
    Odds,
    Truth,
    truth_of,
)
from toolmark.types import Call, Model, Reply, Request, Task, Tool


class Guess:
    """A baseline by its name: `majority`, `previous` and so on. It plays MultiNet's suites."""

    def __init__(self, name: str) -> None:
        self.name = f"baseline/{name}"
        self._name = name

    def bind(self, task: Task, repeat: int, /) -> Model:
        """Return the player of one task; where there was nothing to learn it says nothing.

        Raises UsageError for a suite that has no such baseline.
        """
        try:
            truth = truth_of(task)
        except msgspec.ValidationError:
            raise UsageError(f"{self.name} plays MultiNet's suites and nothing else") from None
        known = BASELINES[truth.family]
        if self._name not in known:
            there = near(self._name, known)
            raise UsageError(f"{task.suite} has no baseline {self._name!r}{there}")
        answer = truth.guesses.get(self._name)
        return Player(() if answer is None else replies(truth, answer, task.tools))


class Player:
    """Gives one prepared reply in each turn of the user, and nothing where none is left."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = replies

    async def __call__(self, request: Request, /) -> Reply:
        """Give the reply of this turn; a tool's result calls for no other."""
        at = sum(message.role == "user" for message in request.messages) - 1
        done = request.messages[-1].role == "tool"
        return Reply() if done or at >= len(self._replies) else self._replies[at]


def replies(truth: Truth, answer: Answer, tools: Sequence[Tool] = ()) -> tuple[Reply, ...]:
    """Return how a flawless speaker gives this answer, turn by turn.

    `tools` are those offered: what a call of a function names by its place is named by them. One
    that is no call at all, or of a function that is not offered, is said as text.
    """
    if isinstance(truth.space, Calls):
        turns: Sequence[Sequence[str]] = answer  # type: ignore[assignment]
        if truth.form == "text":
            return tuple(Reply(text=f"[{', '.join(calls)}]") for calls in turns)
        order = {tool.name: list(tool.parameters.get("properties", ())) for tool in tools}
        return tuple(_called(calls, order) for calls in turns)
    if truth.form == "text":
        return (
            Reply(text=answer if isinstance(answer, str) else json.dumps(_plain(truth, answer))),
        )
    name, given = _act(truth, answer)
    return (Reply(calls=(Call(name=name, arguments=json.dumps(given), id="call_0"),)),)


def _plain(truth: Truth, answer: Answer) -> object:
    """Return an answer as plain JSON: of Odds that are sure of one option, every share."""
    if isinstance(truth.space, Odds) and isinstance(answer, int):
        return [float(k == answer) for k in range(len(truth.space.options))]
    return answer


def _act(truth: Truth, answer: Answer) -> tuple[str, Mapping[str, object]]:
    """Return the tool by which an answer is given, and its arguments."""
    plain = _plain(truth, answer)
    match truth.space:
        case Choice() if truth.family == "overcooked" and isinstance(answer, int):
            names = dict(enumerate(ACTIONS))  # of an index out of range there is only the number
            pair = divmod(answer, len(ACTIONS))
            return ACT, {key: names.get(k, f"{k}") for key, k in zip(PLAYERS, pair, strict=True)}
        case Choice():
            return CHOOSE, {"option": plain}
        case Odds():
            return ODDS, {"probabilities": plain}
        case Motion():
            return MOVE, {"vector": plain}
        case _:
            return ANSWER, {"text": plain}


def _called(texts: Sequence[str], order: Mapping[str, Sequence[str]]) -> Reply:
    """Return calls written as Python as calls of tools."""
    calls = []
    for at, text in enumerate(texts):
        try:
            (said,) = python.whole(text)
        except (python.Unreadable, ValueError):
            return Reply(text=f"[{', '.join(texts)}]")
        places = order.get(said.name, ())
        given = {**dict(zip(places, said.positional, strict=False)), **said.named}
        arguments = json.dumps(given, ensure_ascii=False, default=str)
        calls.append(Call(name=said.name, arguments=arguments, id=f"call_{at}"))
    return Reply(calls=tuple(calls))
