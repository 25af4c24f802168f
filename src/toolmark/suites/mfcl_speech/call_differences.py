"""What is wrong in the calls of a speech episode: the truth's values and the received ones.

Values are compared leaf by leaf, so that a name deep in an object is found; leaves have the same
paths as the topics of the whitelist (`body.mode`, `items.2.name`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from toolmark.core import json_codec
from toolmark.core.records import Task, Tool, Trajectory
from toolmark.language import word_likeness
from toolmark.official_bfcl import executable_calls
from toolmark.suites.mfcl_speech import speech_items

ExpectedCalls: TypeAlias = list[tuple[str, dict[str, tuple[Any, ...]]]]
MadeCalls: TypeAlias = list[tuple[str, dict[str, Any]]]
DifferencePlace: TypeAlias = tuple[int, str, str]
"""Where something is wrong: turn, tool, path; "" is the call, EXTRA_CALL one too many."""

EXTRA_CALL = "+"

_DEPTH = 8


class WrongValue(NamedTuple):
    """A value of the truth that no call has right: what is accepted, and what came instead.

    `received` is None where nothing came. `tool_was_called`: whether its tool was called at all.
    """

    turn: int
    tool: str
    path: str
    accepted: tuple[Any, ...]
    received: Any
    tool_was_called: bool

    @property
    def qualified_name(self) -> str:
        """The tool and the path, as evidence names them."""
        return f"{self.tool}.{self.path}"

    @property
    def place(self) -> DifferencePlace:
        """Where it is; all values of a tool that was not called are in one place."""
        return self.turn, self.tool, self.path if self.tool_was_called else ""


def expected_calls(task: Task) -> list[ExpectedCalls]:
    """Return the calls of the truth by turn: tool, and accepted values by parameter."""
    truth_by_turn = speech_items.expected_by_turn(task)
    if not speech_items.is_multi_turn(task):
        return [
            [
                (k, _accepted_values(arguments))
                for call in turn_calls
                for k, arguments in call.items()
            ]
            for turn_calls in truth_by_turn
        ]
    names = {tool.name: list(tool.parameters.get("properties", {})) for tool in _all_tools(task)}
    turns: list[ExpectedCalls] = []
    for sources in truth_by_turn:
        calls = [executable_calls.read_truth_call(source, names) for source in sources]
        turns.append(
            [(parsed.name, {k: (v,) for k, v in parsed.arguments.items()}) for parsed in calls]
        )
    return turns


def _accepted_values(arguments: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {key: tuple(values) for key, values in arguments.items() if isinstance(values, list)}


def _all_tools(task: Task) -> Iterator[Tool]:
    yield from task.tools
    for turn in task.turns:
        yield from turn.tools


def made_calls(trajectory: Trajectory, turn: int) -> MadeCalls:
    """Return the calls made in a turn; arguments that are not an object count as none."""
    calls: MadeCalls = []
    for step in trajectory.steps:
        for call in step.calls if step.turn == turn else ():
            try:
                arguments = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
            except json_codec.InvalidJson:
                arguments = {}
            calls.append(
                (
                    json_codec.restore_surrogates(call.name),
                    arguments if isinstance(arguments, dict) else {},
                )
            )
    return calls


def wrong_values(task: Task, trajectory: Trajectory) -> Iterator[WrongValue]:
    """Yield the values of the truth that are wrong in the nearest call of their tool."""
    for turn, (name, accepted), nearest in _pair_calls(task, trajectory):
        for parameter, options in accepted.items():
            received = None if nearest is None else nearest.get(parameter)
            for path, values, actual in _wrong_leaves(parameter, options, received):
                yield WrongValue(turn, name, path, values, actual, nearest is not None)


def difference_places(task: Task, trajectory: Trajectory) -> frozenset[DifferencePlace]:
    """Return where an episode differs from the truth: wrong values, missing calls, extra calls.

    Extra calls in multi-turn entries do not count: states are judged there, and reading does no
    harm.
    """
    found = {difference.place for difference in wrong_values(task, trajectory)}
    expected_tools: list[str] = []
    for turn, (name, _), nearest in _pair_calls(task, trajectory):
        expected_tools.append(name)
        if nearest is None:
            found.add((turn, name, ""))
    if not speech_items.is_multi_turn(task):
        for name, _ in made_calls(trajectory, 0):
            expected = next((tool for tool in expected_tools if _is_same_tool(tool, name)), None)
            if expected is None:
                found.add((0, name, EXTRA_CALL))
            else:
                expected_tools.remove(expected)
    return frozenset(found)


_PairedCall: TypeAlias = tuple[int, tuple[str, dict[str, tuple[Any, ...]]], dict[str, Any] | None]


def _pair_calls(task: Task, trajectory: Trajectory) -> Iterator[_PairedCall]:
    """Yield the calls of the truth: the turn, the call, and the nearest call that was made."""
    for turn, expected in enumerate(expected_calls(task)):
        unpaired = made_calls(trajectory, turn)
        for name, accepted in expected:
            candidates = [call for call in unpaired if _is_same_tool(call[0], name)]
            rights = [_n_right(arguments, accepted) for _, arguments in candidates]
            nearest = candidates[rights.index(max(rights))] if candidates else None
            if nearest is not None:
                unpaired.remove(nearest)
            yield turn, (name, accepted), None if nearest is None else nearest[1]


def _is_same_tool(one: str, other: str) -> bool:
    return one.replace(".", "_") == other.replace(".", "_")


def _n_right(arguments: Mapping[str, Any], accepted: Mapping[str, tuple[Any, ...]]) -> int:
    return sum(
        not any(_wrong_leaves("", options, arguments.get(k))) for k, options in accepted.items()
    )


WrongLeaf: TypeAlias = tuple[str, tuple[Any, ...], Any]


def _wrong_leaves(
    path: str, options: Sequence[Any], received: Any, depth: int = 0
) -> Iterator[WrongLeaf]:
    """Yield the wrong leaves: path, accepted values, received value."""
    if received is None and "" in options:  # it may be left out
        return
    accepted = [option for option in options if option != ""]
    if (
        depth > _DEPTH
        or not accepted
        or any(is_same_value(received, option) for option in accepted)
    ):
        return
    lists = [option for option in accepted if isinstance(option, list)]
    if isinstance(accepted[0], Mapping):
        yield from _wrong_fields(path, accepted, received, depth)
    elif isinstance(accepted[0], list):
        size = len(received) if isinstance(received, list) else -1
        option = next((candidate for candidate in lists if len(candidate) == size), lists[0])
        yield from _wrong_entries(path, option, received, depth)
    else:
        yield path, tuple(accepted), received


def _wrong_fields(
    path: str, accepted: Sequence[Any], received: Any, depth: int
) -> Iterator[WrongLeaf]:
    option = accepted[0]
    actual = received if isinstance(received, Mapping) else {}
    for name, values in option.items():
        inner = values if isinstance(values, list) else [values]
        yield from _wrong_leaves(f"{path}.{name}", inner, actual.get(name), depth + 1)


def _wrong_entries(
    path: str, option: Sequence[Any], received: Any, depth: int
) -> Iterator[WrongLeaf]:
    actual = received if isinstance(received, list) else []
    if any(isinstance(entry, Mapping | list) for entry in option):
        for index, entry in enumerate(option):
            value = actual[index] if index < len(actual) else None
            name = f"{path}.{index + 1}" if isinstance(entry, Mapping) else path
            yield from _wrong_leaves(name, [entry], value, depth + 1)
        return
    unmatched = [
        value for value in actual if not any(is_same_value(value, entry) for entry in option)
    ]
    missing = [
        entry for entry in option if not any(is_same_value(value, entry) for value in actual)
    ]
    for index, entry in enumerate(missing):
        yield path, (entry,), unmatched[index] if index < len(unmatched) else None


# --- values -----------------------------------------------------------------------------


def is_same_value(received: Any, option: Any) -> bool:
    """Return whether a value means the same as an accepted one, spelled as in BFCL's graders."""
    if isinstance(option, Mapping):
        return isinstance(received, Mapping) and not any(_wrong_fields("", [option], received, 0))
    if isinstance(option, list):
        return (
            isinstance(received, list)
            and len(received) == len(option)
            and all(is_same_value(a, b) for a, b in zip(received, option, strict=True))
        )
    if received is None or isinstance(received, bool) or isinstance(option, bool):
        return received is option
    if isinstance(received, int | float) and isinstance(option, int | float):
        return received == option
    return value_words((received,)).replace(" ", "") == value_words((option,)).replace(" ", "")


def value_words(values: Iterable[Any]) -> str:
    """Return the words of values, of nested ones too, numbers as digits."""
    return " ".join(word_likeness.split_tokens(" ".join(map(_to_text, values))))


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
