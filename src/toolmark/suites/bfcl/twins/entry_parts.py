"""The parts of an entry that a twin changes: what users say, and the accepted values."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from toolmark.core.records import Message, Task, Text
from toolmark.core.task_data import read_task_data
from toolmark.official_bfcl import tool_schemas
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData

NO_VALUE = ""
"""An accepted value that says that the parameter may be left out."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The accepted values of one parameter, or of one field of an object that is a parameter.

    - `path`: where its list of accepted values is, from the truth on.
    - `spec`: the schema of the parameter, {} where there is none.
    """

    path: tuple[Any, ...]
    name: str
    options: Sequence[Any]
    spec: Mapping[str, Any]

    @property
    def values(self) -> list[Any]:
        """The accepted values, without the one that stands for none."""
        return [each for each in self.options if each != NO_VALUE]

    @property
    def is_optional(self) -> bool:
        """Whether the parameter may be left out."""
        return NO_VALUE in self.options

    @property
    def description(self) -> str:
        """What the schema says of the parameter."""
        return str(self.spec.get("description", ""))

    @property
    def has_fixed_values(self) -> bool:
        """Whether the schema lists or bounds the values, or one of them may be its default.

        A value that may be left out is a default: a new one would have to be given.
        """
        if self.is_optional or {"enum", "minimum", "maximum"} & self.spec.keys():
            return True
        return "default" in self.spec and self.spec["default"] in self.values


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as its twin is made from it.

    `leaves` are the parameters with values. Left out are those named in `omitted`: in some call
    they must not be given, so their value in another call may be a default.
    """

    task: Task
    truth: list[Any]
    leaves: Sequence[Leaf]
    omitted: frozenset[str]
    frozen: Sequence[Any]
    docs_text: str
    texts: Sequence[str] = field(default=())

    @property
    def text(self) -> str:
        """All that users say, a message a paragraph."""
        return "\n\n".join(self.texts)


def read_entry(task: Task) -> Entry:
    """Return the parts of a single-turn entry that has a truth."""
    truth = read_task_data(task, BfclTaskData).truth
    docs = {doc["name"]: doc for doc in reversed(tool_schemas.published_docs(task))}
    leaves: list[Leaf] = []
    frozen: list[Any] = []
    for index, call in enumerate(truth):
        for name, parameters in call.items():
            specs = docs.get(name, {}).get("parameters", {}).get("properties", {})
            for parameter, options in parameters.items():
                path = (index, name, parameter)
                spec = specs.get(parameter, {})
                _add_leaf(leaves, frozen, Leaf(path, parameter, options, spec))
    omitted = frozenset(leaf.name for leaf in leaves if not leaf.values)
    frozen += [leaf.options for leaf in leaves if leaf.name in omitted]
    leaves = [leaf for leaf in leaves if leaf.name not in omitted]
    texts = [message.text for message in task.turns[0].messages if message.role == "user"]
    return Entry(task, truth, leaves, omitted, frozen, json.dumps([*docs.values()]), texts)


def _add_leaf(leaves: list[Leaf], frozen: list[Any], leaf: Leaf) -> None:
    """Add a leaf, or the fields of the one object that it accepts; other objects are frozen."""
    values = leaf.values
    if not any(_contains_object(value) for value in values):
        leaves.append(leaf)
        return
    if len(values) != 1 or not isinstance(values[0], dict):
        frozen.extend(values)
        return
    specs = leaf.spec.get("properties", {})
    at = leaf.options.index(values[0])
    for name, options in values[0].items():
        if not isinstance(options, list):
            frozen.append(options)
            continue
        _add_leaf(leaves, frozen, Leaf((*leaf.path, at, name), name, options, specs.get(name, {})))


def _contains_object(value: Any) -> bool:
    if isinstance(value, list):
        return any(_contains_object(each) for each in value)
    return isinstance(value, dict)


def iterate_scalars(value: Any) -> Iterator[Any]:
    """Yield the texts and numbers in a value, the names of fields too."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from iterate_scalars(each)
    elif isinstance(value, list):
        for each in value:
            yield from iterate_scalars(each)
    else:
        yield value


@dataclass(slots=True)
class Changes:
    """What a twin changes: replaced stretches of the users' texts, and new accepted values."""

    edits: list[tuple[int, int, int, str]] = field(default_factory=list)
    options: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether anything is changed."""
        return bool(self.options)

    def add(self, other: Changes) -> None:
        """Add the changes of another kind of values, which has other leaves."""
        self.edits += other.edits
        self.options |= other.options


def apply_changes(entry: Entry, changes: Changes) -> Task:
    """Return the task with the changes in its users' texts and in its truth."""
    texts = [*entry.texts]
    for index, start, end, new in sorted(changes.edits, reverse=True):
        texts[index] = texts[index][:start] + new + texts[index][end:]
    truth = copy.deepcopy(entry.truth)
    for path, options in changes.options.items():
        place: Any = truth
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = options
    remaining = iter(texts)
    messages = tuple(
        _replace_text(message, next(remaining)) if message.role == "user" else message
        for message in entry.task.turns[0].messages
    )
    turns = (replace(entry.task.turns[0], messages=messages), *entry.task.turns[1:])
    return replace(entry.task, turns=turns, data={**entry.task.data, "truth": truth})


def _replace_text(message: Message, text: str) -> Message:
    return replace(message, parts=(Text(text),))


@dataclass(frozen=True)
class Mentions:
    """Where a pattern matches in the texts of an entry."""

    entry: Entry
    pattern: re.Pattern[str]

    @cached_property
    def found(self) -> list[tuple[int, re.Match[str]]]:
        """The matches, each with the index of its text."""
        return [
            (index, match)
            for index, text in enumerate(self.entry.texts)
            for match in self.pattern.finditer(text)
        ]
