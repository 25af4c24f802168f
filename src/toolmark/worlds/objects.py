"""A world of objects: calls are methods of instances that live for one episode.

A call is a name and keyword arguments, looked up in a table of allowed methods; nothing is ever
evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolmark import codec
from toolmark.types import Call, Result, Task, Text, Tool

MAX_NODES = 100_000
FIXED = frozenset((str, int, float, bool, type(None)))

# what a simulator may raise over what a model sent; anything else is a fault of ours
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)

Method = Callable[..., Any]


class Refused(ValueError):
    """A call that would take more time or memory than any sensible one."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a call came to, as text."""

    text: str
    is_error: bool = False


class Objects:
    """The instances of one episode, and the table of what may be called on them."""

    def __init__(self, instances: Mapping[str, Any], table: Mapping[str, Method]) -> None:
        self.instances = instances
        self.table = table

    def invoke(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return what a method returns; a name outside the table, like any fault, is a Said."""
        method = self.table.get(name)
        if method is None:
            return failed(f"name '{name}' is not defined")
        try:
            return method(**arguments)
        except FAULTS as error:
            return failed(str(error))

    def call(self, name: str, arguments: Mapping[str, Any]) -> Said:
        """Call a method by keyword and return its result as text."""
        value = self.invoke(name, arguments)
        if isinstance(value, Said):
            return value
        try:
            return Said(shown(value))
        except FAULTS as error:  # a number too long to be written
            return failed(str(error))


def failed(why: str) -> Said:
    """Return the error text of a call."""
    return Said(f"Error during execution: {why}", is_error=True)


def shown(value: Any) -> str:
    """Return what a method returned as the caller sees it: text, JSON for a dict, else `str`."""
    if isinstance(value, Said):
        return value.text
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return str(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def public(kind: type) -> tuple[str, ...]:
    """Return the names of a class's public methods, sorted."""
    return tuple(
        name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))
    )


def fields(instance: object) -> dict[str, Any]:
    """Return the public attributes of an instance, in the order they were set."""
    return {name: value for name, value in vars(instance).items() if not name.startswith("_")}


def copied(value: Any, other: Callable[[Any], Any] = lambda kept: kept) -> Any:
    """Copy what is plain (dicts, lists, tuples) all the way down.

    Text, numbers and None are kept; anything else is what `other` makes of it.
    """
    kind = type(value)
    if kind is dict:
        return {k: v if type(v) in FIXED else copied(v, other) for k, v in value.items()}
    if kind is list:
        return [v if type(v) in FIXED else copied(v, other) for v in value]
    if kind is tuple:
        return tuple([copied(v, other) for v in value])
    return value if kind in FIXED else other(value)


def nodes(value: Any, below: Callable[[Any], Iterable[Any]], limit: int = MAX_NODES) -> int:
    """Count the nodes of a tree, those met twice counted twice, and stop beyond the limit."""
    n = 0
    waiting = [value]
    while waiting and n <= limit:
        n += 1
        waiting.extend(below(waiting.pop()))
    return n


class World:
    """One episode: calls go to the objects; the final state is what `state` makes of them."""

    def __init__(self, task: Task, objects: Objects, state: Callable[[Objects], Any]) -> None:
        self._task = task
        self._objects = objects
        self._state = state

    async def tools(self) -> tuple[Tool, ...]:
        """Return the task's own tools; later ones come with their turns."""
        return self._task.tools

    async def call(self, call: Call, /) -> Result:
        """Call a method with the arguments, which must be one JSON object."""
        return answer(self._objects, call)

    async def final_state(self) -> Any:
        """Return the objects' public state as plain JSON."""
        return self._state(self._objects)


def answer(world: Objects, call: Call) -> Result:
    """Return what a call comes to; its arguments must be one JSON object."""
    given = arguments(call)
    return result(given if isinstance(given, Said) else world.call(codec.restore(call.name), given))


def arguments(call: Call) -> dict[str, Any] | Said:
    """Return a call's arguments; what is wrong with them where they are not one JSON object."""
    try:
        given = codec.loads(codec.restore(call.arguments))
    except codec.BadJson as error:
        return failed(f"the arguments are not JSON: {error}")
    return given if isinstance(given, dict) else failed("the arguments must be one JSON object")


def result(said: Said) -> Result:
    """Return what a call came to as the model is told it."""
    return Result(parts=(Text(codec.escape(said.text)),), is_error=said.is_error)
