"""An environment of objects: a call invokes a method of an instance that exists for one episode.

A call has a name and keyword arguments. The name is looked up in a table of allowed methods, and
nothing is evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from toolmark.core import json_codec
from toolmark.core.environment import Environment
from toolmark.core.records import Call, Result, Task, Text, Tool

MAX_NODES = 100_000
IMMUTABLE_TYPES = frozenset((str, int, float, bool, type(None)))

# what a simulator may raise because of a model's input; any other exception is a bug
METHOD_ERRORS = (
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


class CallRefused(ValueError):
    """A call that would need too much time or memory."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The result of a call as text."""

    text: str
    is_error: bool = False


class EpisodeObjects:
    """The instances of one episode and the table of methods that may be called."""

    def __init__(self, instances: Mapping[str, Any], table: Mapping[str, Method]) -> None:
        self.instances = instances
        self.table = table

    def invoke_method(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return a method's value, or a CallOutcome for an unknown name or a failed method."""
        method = self.table.get(name)
        if method is None:
            return failed_outcome(f"name '{name}' is not defined")
        try:
            return method(**arguments)
        except METHOD_ERRORS as error:
            return failed_outcome(str(error))

    def call(self, name: str, arguments: Mapping[str, Any]) -> CallOutcome:
        """Call a method by keyword and return its result as text."""
        value = self.invoke_method(name, arguments)
        if isinstance(value, CallOutcome):
            return value
        try:
            return CallOutcome(value_text(value))
        except METHOD_ERRORS as error:  # such as a number with too many digits
            return failed_outcome(str(error))


def failed_outcome(reason: str) -> CallOutcome:
    """Return the outcome of a failed call."""
    return CallOutcome(f"Error during execution: {reason}", is_error=True)


def value_text(value: Any) -> str:
    """Return a method's value as text: text unchanged, a dict as JSON, any other value by `str`."""
    if isinstance(value, CallOutcome):
        return value.text
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return str(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def public_methods(kind: type) -> tuple[str, ...]:
    """Return the names of a class's public methods, sorted."""
    return tuple(
        name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))
    )


def name_method(method: Any, name: str) -> Method:
    """Return a bound method that errors on its arguments call by this name."""
    function = method.__func__
    renamed = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    renamed.__qualname__ = name
    return MethodType(renamed, method.__self__)


def public_attributes(instance: object) -> dict[str, Any]:
    """Return the public attributes of an instance, in the order of their first assignment."""
    return {name: value for name, value in vars(instance).items() if not name.startswith("_")}


def copy_plain(value: Any, convert_other: Callable[[Any], Any] = lambda value: value) -> Any:
    """Return a deep copy of plain values: dicts, lists and tuples.

    Text, numbers and None stay the same objects; any other value is replaced by the result of
    `convert_other`.
    """
    kind = type(value)
    if kind is dict:
        return {
            k: v if type(v) in IMMUTABLE_TYPES else copy_plain(v, convert_other)
            for k, v in value.items()
        }
    if kind is list:
        return [v if type(v) in IMMUTABLE_TYPES else copy_plain(v, convert_other) for v in value]
    if kind is tuple:
        return tuple([copy_plain(v, convert_other) for v in value])
    return value if kind in IMMUTABLE_TYPES else convert_other(value)


def count_nodes(
    value: Any, children: Callable[[Any], Iterable[Any]], limit: int = MAX_NODES
) -> int:
    """Count the nodes of a tree, shared nodes once per path, and stop beyond the limit."""
    n = 0
    waiting = [value]
    while waiting and n <= limit:
        n += 1
        waiting.extend(children(waiting.pop()))
    return n


class ObjectEnvironment(Environment):
    """One episode: calls invoke methods of the objects, and `state` returns the final state."""

    def __init__(
        self, task: Task, objects: EpisodeObjects, state: Callable[[EpisodeObjects], Any]
    ) -> None:
        self._task = task
        self._objects = objects
        self._state = state

    async def tools(self) -> tuple[Tool, ...]:
        """Return the task's tools; tools of later turns come with those turns."""
        return self._task.tools

    async def call(self, call: Call, /) -> Result:
        """Call a method; the arguments must be one JSON object."""
        return answer_call(self._objects, call)

    async def final_state(self) -> Any:
        """Return the objects' public state as plain JSON."""
        return self._state(self._objects)


def answer_call(objects: EpisodeObjects, call: Call) -> Result:
    """Return the result of a call; its arguments must be one JSON object."""
    arguments_or_error = parse_arguments(call)
    return outcome_result(
        arguments_or_error
        if isinstance(arguments_or_error, CallOutcome)
        else objects.call(json_codec.restore_surrogates(call.name), arguments_or_error)
    )


def parse_arguments(call: Call) -> dict[str, Any] | CallOutcome:
    """Return a call's arguments, or a failed outcome where they are not one JSON object."""
    try:
        found = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
    except json_codec.InvalidJson as error:
        return failed_outcome(f"the arguments are not JSON: {error}")
    return (
        found
        if isinstance(found, dict)
        else failed_outcome("the arguments must be one JSON object")
    )


def outcome_result(outcome: CallOutcome) -> Result:
    """Return the outcome of a call as the result that the model receives."""
    return Result(
        parts=(Text(json_codec.escape_surrogates(outcome.text)),), is_error=outcome.is_error
    )
