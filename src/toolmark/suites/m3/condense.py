"""A trajectory that was accepted, made into a reference: nothing failed, nothing twice.

A model proposes; what it proposes is checked here against what happened. Where it cannot be taken
a rule stands in: failed calls and exact repetitions go, the steps stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from toolmark import codec
from toolmark.score.alike import text
from toolmark.suites.m3 import judge, outcome
from toolmark.types import Call, Result, Trajectory

_SHORT = 3  # characters: what is shorter may stand in any text by chance
_SUFFIX = re.compile(r"\.\w{1,5}\Z")


class Unfit(ValueError):
    """A proposal that does not follow from what happened; the text says why."""


class Event(NamedTuple):
    """One call that succeeded, the step it was made in, and what it returned, as text."""

    step: int
    name: str
    arguments: Any
    said: str
    call: Call
    result: Result

    @property
    def key(self) -> str:
        """What makes two calls the same: tool and arguments."""
        return key(self.name, self.arguments)


Stages: TypeAlias = list[list[Event]]


def events(trajectory: Trajectory) -> list[Event]:
    """Return the calls that were executed and succeeded, in order."""
    found = []
    for number, step in enumerate(trajectory.steps):
        for call, result in zip(step.calls, step.results, strict=False):
            marked = outcome.marks(call.name, trajectory.tools)
            if not outcome.failed(result, marked=marked):
                name, arguments = codec.restore(call.name), judge.arguments(call.arguments)
                said = "\n".join((codec.restore(result.text), *_leaves(result.structured)))
                found.append(Event(number, name, arguments, said, call, result))
    return found


def key(name: str, arguments: Any) -> str:
    """Return what makes two calls the same: tool and arguments, in whatever order they stand."""
    return f"{codec.escape(name)} {text(codec.plain(arguments))}"


def by_step(made: Iterable[Event]) -> Stages:
    """Return the calls in the steps in which they were made."""
    stages: dict[int, list[Event]] = {}
    for event in made:
        stages.setdefault(event.step, []).append(event)
    return list(stages.values())


def by_rule(made: Sequence[Event]) -> Stages:
    """Return the steps as they were, without exact repetitions of an earlier call."""
    first: dict[str, Event] = {}
    for event in made:
        first.setdefault(event.key, event)
    return by_step(first.values())


def checked(proposal: Any, made: Sequence[Event], known: str) -> Stages:
    """Return the proposed steps as events. Raises Unfit.

    A proposal is `{"steps": [{"calls": [{"name", "arguments"}]}]}`. Each of its calls must be one
    that was made and succeeded, none more often than it was made; no call may come before one
    that it came after, nor share a step with one that it depends on; and what a call needs must
    still be found out. `known` is the text of the task: what stands in it needs no finding out.
    """
    stages: Stages = []
    left = list(made)
    floor = 0
    for number, calls in enumerate(_proposed(proposal), 1):
        stage = [_taken(call, number, left, floor) for call in calls]
        floor = max(event.step for event in stage)
        stages.append(stage)
    if not stages:
        raise Unfit("it holds no call")
    for number, stage in enumerate(stages, 1):
        for event in stage:
            for other in stage:
                if other.step < event.step and _depends(event, other, made, known):
                    raise Unfit(f"step {number}: {event.name} depends on {other.name}")
    _supplied([event for stage in stages for event in stage], made, known)
    return stages


def _proposed(proposal: Any) -> Iterator[list[Mapping[str, Any]]]:
    """Go through the calls of each proposed step. Raises Unfit for another shape."""
    listed = proposal.get("steps") if isinstance(proposal, dict) else None
    if not isinstance(listed, list):
        raise Unfit("it has no list of steps")
    for number, step in enumerate(listed, 1):
        calls = step.get("calls") if isinstance(step, dict) else None
        if not isinstance(calls, list) or not calls:
            raise Unfit(f"step {number} has no list of calls")
        for call in calls:
            if not isinstance(call, dict) or not isinstance(call.get("name"), str):
                raise Unfit(f"step {number}: a call has no name")
        yield calls


def _taken(call: Mapping[str, Any], number: int, left: list[Event], floor: int) -> Event:
    """Take the earliest call like this one that comes no earlier than `floor` out of those left."""
    wanted = key(call["name"], call.get("arguments"))
    alike = [event for event in left if event.key == wanted]
    if not alike:
        raise Unfit(f"step {number}: {wanted[:200]} was not made, or not so often, or failed")
    found = next((event for event in alike if event.step >= floor), None)
    if found is None:
        raise Unfit(f"step {number}: {wanted[:200]} was made before what is said to come before it")
    left.remove(found)
    return found


# --- what depends on what ---------------------------------------------------------------


def _depends(event: Event, other: Event, made: Sequence[Event], known: str) -> bool:
    """Tell whether a call uses what an earlier one told, or a file that it may have written."""
    values = _values(event.arguments)
    if any(_told(value, other, made, known) for value in values):
        return True
    files = {value for value in _values(other.arguments) if _is_path(value)}
    return any(value in files and value not in known.casefold() for value in values)


def _supplied(kept: Sequence[Event], made: Sequence[Event], known: str) -> None:
    """Raise Unfit where a value is used that only calls which are left out had told."""
    for event in kept:
        for value in _values(event.arguments):
            sources = [o for o in made if o.step < event.step and _told(value, o, made, known)]
            if sources and not any(source in kept for source in sources):
                names = ", ".join(dict.fromkeys(source.name for source in sources))
                raise Unfit(f"{event.name} uses {value[:80]!r}, which only {names} told")


def _told(value: str, source: Event, made: Sequence[Event], known: str) -> bool:
    """Tell whether a value was news when this call returned it.

    It was none where the task holds it, or the arguments of this call, of an earlier one or of
    one of the same step.
    """
    if value not in source.said.casefold() or value in known.casefold():
        return False
    return not any(o.step <= source.step and value in _values(o.arguments) for o in made)


def _values(arguments: Any) -> list[str]:
    leaves = dict.fromkeys(leaf.casefold() for leaf in _leaves(arguments))
    return [leaf for leaf in leaves if len(leaf) >= _SHORT]


def _is_path(value: str) -> bool:
    return "/" in value or _SUFFIX.search(value) is not None


def _leaves(value: Any) -> Iterator[str]:
    """Go through the texts and numbers of a JSON value, as text."""
    match value:
        case bool() | None:
            return
        case str():
            yield codec.restore(value).strip()
        case int() | float():
            yield repr(value)
        case dict():
            for item in value.values():
                yield from _leaves(item)
        case list() | tuple():
            for item in value:
                yield from _leaves(item)
