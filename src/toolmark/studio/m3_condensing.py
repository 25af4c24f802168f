"""Makes an accepted trajectory into a reference: no failed calls, no repeated calls.

A model proposes a reference; this module checks it against the trajectory. If the proposal is not
valid, a rule replaces it: failed calls and exact repetitions are removed, the steps stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from toolmark.core import json_codec
from toolmark.core.records import Call, Result, Trajectory
from toolmark.judging import episode_material
from toolmark.scoring.call_similarity import arguments_text
from toolmark.suites.m3 import call_outcomes

_MIN_VALUE_CHARS = 3  # characters: a shorter value may be in any text by chance
_FILE_SUFFIX = re.compile(r"\.\w{1,5}\Z")


class InvalidProposal(ValueError):
    """A proposal that does not follow from the trajectory; the message says why."""


class CallEvent(NamedTuple):
    """One successful call with its step, and its result as text."""

    step: int
    name: str
    arguments: Any
    returned_text: str
    call: Call
    result: Result

    @property
    def identity(self) -> str:
        """The identity of the call: tool and arguments."""
        return call_identity(self.name, self.arguments)


Stages: TypeAlias = list[list[CallEvent]]


def successful_calls(trajectory: Trajectory) -> list[CallEvent]:
    """Return the calls that were executed and succeeded, in order."""
    found = []
    for number, step in enumerate(trajectory.steps):
        for call, result in zip(step.calls, step.results, strict=False):
            errors_are_marked = call_outcomes.marks_errors(call.name, trajectory.tools)
            if not call_outcomes.is_error_result(result, marked=errors_are_marked):
                name = json_codec.restore_surrogates(call.name)
                arguments = episode_material.parse_arguments(call.arguments)
                returned_text = "\n".join(
                    (json_codec.restore_surrogates(result.text), *_leaf_texts(result.structured))
                )
                found.append(CallEvent(number, name, arguments, returned_text, call, result))
    return found


def call_identity(name: str, arguments: Any) -> str:
    """Return the identity of a call: tool and arguments, independent of their order."""
    return (
        f"{json_codec.escape_surrogates(name)} "
        f"{arguments_text(json_codec.to_plain_json(arguments))}"
    )


def group_by_step(events: Iterable[CallEvent]) -> Stages:
    """Return the calls grouped by the steps in which they were made."""
    stages: dict[int, list[CallEvent]] = {}
    for event in events:
        stages.setdefault(event.step, []).append(event)
    return list(stages.values())


def remove_repetitions(events: Sequence[CallEvent]) -> Stages:
    """Return the original steps without exact repetitions of an earlier call."""
    first: dict[str, CallEvent] = {}
    for event in events:
        first.setdefault(event.identity, event)
    return group_by_step(first.values())


def check_proposal(proposal: Any, events: Sequence[CallEvent], task_text: str) -> Stages:
    """Return the proposed steps as events. Raises InvalidProposal.

    A proposal is `{"steps": [{"calls": [{"name", "arguments"}]}]}`. Each of its calls must have
    been made and have succeeded, and may not occur more often than it was made. No call may come
    before one that it came after, nor share a step with one that it depends on. The source of
    each value that a call needs must still be there. `task_text` is the text of the task: a value
    in it needs no source.
    """
    stages: Stages = []
    remaining = list(events)
    earliest_step = 0
    for number, calls in enumerate(_proposed_steps(proposal), 1):
        stage = [_take_call(call, number, remaining, earliest_step) for call in calls]
        earliest_step = max(event.step for event in stage)
        stages.append(stage)
    if not stages:
        raise InvalidProposal("it holds no call")
    for number, stage in enumerate(stages, 1):
        for event in stage:
            for other in stage:
                if other.step < event.step and _depends_on(event, other, events, task_text):
                    raise InvalidProposal(f"step {number}: {event.name} depends on {other.name}")
    _check_sources([event for stage in stages for event in stage], events, task_text)
    return stages


def _proposed_steps(proposal: Any) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the calls of each proposed step. Raises InvalidProposal for another shape."""
    listed = proposal.get("steps") if isinstance(proposal, dict) else None
    if not isinstance(listed, list):
        raise InvalidProposal("it has no list of steps")
    for number, step in enumerate(listed, 1):
        calls = step.get("calls") if isinstance(step, dict) else None
        if not isinstance(calls, list) or not calls:
            raise InvalidProposal(f"step {number} has no list of calls")
        for call in calls:
            if not isinstance(call, dict) or not isinstance(call.get("name"), str):
                raise InvalidProposal(f"step {number}: a call has no name")
        yield calls


def _take_call(
    call: Mapping[str, Any], number: int, remaining: list[CallEvent], earliest_step: int
) -> CallEvent:
    """Remove from `remaining` the first equal call at `earliest_step` or later, and return it."""
    wanted = call_identity(call["name"], call.get("arguments"))
    same_calls = [event for event in remaining if event.identity == wanted]
    if not same_calls:
        raise InvalidProposal(
            f"step {number}: {wanted[:200]} was not made, or not so often, or failed"
        )
    found = next((event for event in same_calls if event.step >= earliest_step), None)
    if found is None:
        raise InvalidProposal(
            f"step {number}: {wanted[:200]} was made before what is said to come before it"
        )
    remaining.remove(found)
    return found


# --- what depends on what ---------------------------------------------------------------


def _depends_on(
    event: CallEvent, other: CallEvent, events: Sequence[CallEvent], task_text: str
) -> bool:
    """Return whether a call uses a value from an earlier one, or a file it may have written."""
    values = _text_values(event.arguments)
    if any(_is_new_value(value, other, events, task_text) for value in values):
        return True
    files = {value for value in _text_values(other.arguments) if _is_path(value)}
    return any(value in files and value not in task_text.casefold() for value in values)


def _check_sources(
    selected: Sequence[CallEvent], events: Sequence[CallEvent], task_text: str
) -> None:
    """Raise InvalidProposal where a value is used that only omitted calls returned."""
    for event in selected:
        for value in _text_values(event.arguments):
            sources = [
                o
                for o in events
                if o.step < event.step and _is_new_value(value, o, events, task_text)
            ]
            if sources and not any(source in selected for source in sources):
                names = ", ".join(dict.fromkeys(source.name for source in sources))
                raise InvalidProposal(
                    f"{event.name} uses {value[:80]!r}, which only {names} returned"
                )


def _is_new_value(
    value: str, source: CallEvent, events: Sequence[CallEvent], task_text: str
) -> bool:
    """Return whether a value was new when this call returned it.

    It is not new if it is in the task, or in the arguments of this call, of an earlier one or of
    one in the same step.
    """
    if value not in source.returned_text.casefold() or value in task_text.casefold():
        return False
    return not any(o.step <= source.step and value in _text_values(o.arguments) for o in events)


def _text_values(arguments: Any) -> list[str]:
    leaves = dict.fromkeys(leaf.casefold() for leaf in _leaf_texts(arguments))
    return [leaf for leaf in leaves if len(leaf) >= _MIN_VALUE_CHARS]


def _is_path(value: str) -> bool:
    return "/" in value or _FILE_SUFFIX.search(value) is not None


def _leaf_texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of a JSON value, as text."""
    match value:
        case bool() | None:
            return
        case str():
            yield json_codec.restore_surrogates(value).strip()
        case int() | float():
            yield repr(value)
        case dict():
            for item in value.values():
                yield from _leaf_texts(item)
        case list() | tuple():
            for item in value:
                yield from _leaf_texts(item)
