"""What the calls of a speech episode have wrong: the truth's values beside those that came.

Values are compared leaf by leaf, so that a name deep in an object is found; leaves go by the same
paths as the topics of the whitelist (`body.mode`, `items.2.name`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from toolmark import codec
from toolmark.suites.bfcl import execution
from toolmark.suites.mfcl import items, words
from toolmark.types import Task, Tool, Trajectory

Wanted: TypeAlias = list[tuple[str, dict[str, tuple[Any, ...]]]]
Made: TypeAlias = list[tuple[str, dict[str, Any]]]
Place: TypeAlias = tuple[int, str, str]
"""Where something is wrong: turn, tool, path of a value; "" is the call, MORE one beside it."""

MORE = "+"

_DEPTH = 8


class Wrong(NamedTuple):
    """A value of the truth that no call has right: what is accepted, and what came instead.

    `given` is None where nothing came. `called`: whether its tool was called at all.
    """

    turn: int
    tool: str
    path: str
    accepted: tuple[Any, ...]
    given: Any
    called: bool

    @property
    def named(self) -> str:
        """The tool and the path, as evidence names them."""
        return f"{self.tool}.{self.path}"

    @property
    def place(self) -> Place:
        """Where it is; of a tool that was not called all values are in one place."""
        return self.turn, self.tool, self.path if self.called else ""


def truth(task: Task) -> list[Wanted]:
    """Return the calls of the truth by turn: tool, and accepted values by parameter."""
    held = items.truths(task)
    if not items.turned(task):
        return [[(k, _listed(given)) for call in due for k, given in call.items()] for due in held]
    names = {tool.name: list(tool.parameters.get("properties", {})) for tool in _tools(task)}
    turns: list[Wanted] = []
    for sources in held:
        acts = [execution.truth(source, names) for source in sources]
        turns.append([(act.name, {k: (v,) for k, v in act.arguments.items()}) for act in acts])
    return turns


def _listed(given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {key: tuple(values) for key, values in given.items() if isinstance(values, list)}


def _tools(task: Task) -> Iterator[Tool]:
    yield from task.tools
    for turn in task.turns:
        yield from turn.tools


def made(trajectory: Trajectory, turn: int) -> Made:
    """Return the calls made in a turn; arguments that are no object count as none."""
    calls: Made = []
    for step in trajectory.steps:
        for call in step.calls if step.turn == turn else ():
            try:
                given = codec.loads(codec.restore(call.arguments))
            except codec.BadJson:
                given = {}
            calls.append((codec.restore(call.name), given if isinstance(given, dict) else {}))
    return calls


def wrong(task: Task, trajectory: Trajectory) -> Iterator[Wrong]:
    """Go through the values of the truth that the nearest call of their tool has not right."""
    for turn, (name, accepted), best in _beside(task, trajectory):
        for parameter, options in accepted.items():
            given = None if best is None else best.get(parameter)
            for path, values, came in _leaves(parameter, options, given):
                yield Wrong(turn, name, path, values, came, best is not None)


def places(task: Task, trajectory: Trajectory) -> frozenset[Place]:
    """Return where an episode differs from the truth: values, calls that lack, calls beside it.

    Of several turns the last are not looked at: there states are judged, and looking does no harm.
    """
    found = {fault.place for fault in wrong(task, trajectory)}
    wanted: list[str] = []
    for turn, (name, _), best in _beside(task, trajectory):
        wanted.append(name)
        if best is None:
            found.add((turn, name, ""))
    if not items.turned(task):
        for name, _ in made(trajectory, 0):
            known = next((each for each in wanted if _same_tool(each, name)), None)
            if known is None:
                found.add((0, name, MORE))
            else:
                wanted.remove(known)
    return frozenset(found)


_Pair: TypeAlias = tuple[int, tuple[str, dict[str, tuple[Any, ...]]], dict[str, Any] | None]


def _beside(task: Task, trajectory: Trajectory) -> Iterator[_Pair]:
    """Go through the calls of the truth: the turn, the call, and the nearest that was made."""
    for turn, wanted in enumerate(truth(task)):
        left = made(trajectory, turn)
        for name, accepted in wanted:
            alike = [call for call in left if _same_tool(call[0], name)]
            best = max(alike, key=lambda call, of=accepted: _score(call[1], of), default=None)  # type: ignore[misc]
            if best is not None:
                left.remove(best)
            yield turn, (name, accepted), None if best is None else best[1]


def _same_tool(one: str, other: str) -> bool:
    return one.replace(".", "_") == other.replace(".", "_")


def _score(given: Mapping[str, Any], wanted: Mapping[str, tuple[Any, ...]]) -> int:
    return sum(not any(_leaves("", options, given.get(k))) for k, options in wanted.items())


Leaf: TypeAlias = tuple[str, tuple[Any, ...], Any]


def _leaves(path: str, options: Sequence[Any], given: Any, depth: int = 0) -> Iterator[Leaf]:
    """Go through the leaves that are wrong: path, accepted values, the value that came."""
    if given is None and "" in options:  # it may be left out
        return
    accepted = [option for option in options if option != ""]
    if depth > _DEPTH or not accepted or any(same(given, option) for option in accepted):
        return
    lists = [option for option in accepted if isinstance(option, list)]
    if isinstance(accepted[0], Mapping):
        yield from _fields(path, accepted, given, depth)
    elif isinstance(accepted[0], list):
        size = len(given) if isinstance(given, list) else -1
        option = next((each for each in lists if len(each) == size), lists[0])
        yield from _entries(path, option, given, depth)
    else:
        yield path, tuple(accepted), given


def _fields(path: str, accepted: Sequence[Any], given: Any, depth: int) -> Iterator[Leaf]:
    option = accepted[0]
    came = given if isinstance(given, Mapping) else {}
    for name, values in option.items():
        inner = values if isinstance(values, list) else [values]
        yield from _leaves(f"{path}.{name}", inner, came.get(name), depth + 1)


def _entries(path: str, option: Sequence[Any], given: Any, depth: int) -> Iterator[Leaf]:
    came = given if isinstance(given, list) else []
    if any(isinstance(entry, Mapping | list) for entry in option):
        for at, entry in enumerate(option):
            value = came[at] if at < len(came) else None
            name = f"{path}.{at + 1}" if isinstance(entry, Mapping) else path
            yield from _leaves(name, [entry], value, depth + 1)
        return
    strange = [value for value in came if not any(same(value, entry) for entry in option)]
    missing = [entry for entry in option if not any(same(value, entry) for value in came)]
    for at, entry in enumerate(missing):
        yield path, (entry,), strange[at] if at < len(strange) else None


# --- values -----------------------------------------------------------------------------


def same(given: Any, option: Any) -> bool:
    """Tell whether a value says what an accepted one says; spelling as BFCL's graders take it."""
    if isinstance(option, Mapping):
        return isinstance(given, Mapping) and not any(_fields("", [option], given, 0))
    if isinstance(option, list):
        return (
            isinstance(given, list)
            and len(given) == len(option)
            and all(same(a, b) for a, b in zip(given, option, strict=True))
        )
    if given is None or isinstance(given, bool) or isinstance(option, bool):
        return given is option
    if isinstance(given, int | float) and isinstance(option, int | float):
        return given == option
    return text((given,)).replace(" ", "") == text((option,)).replace(" ", "")


def text(values: Iterable[Any]) -> str:
    """Return the words of values, of nested ones too, numbers as digits."""
    return " ".join(words.tokens(" ".join(map(_said, values))))


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
