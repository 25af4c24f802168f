"""A world of integer functions, described by the task's `reference.graph`.

Exact inputs give a function's true output. Any other well-formed inputs give a wrong
three-digit value, silently, the same one every time (arXiv 2509.26553, section 3). Ill-formed
arguments and unknown functions give an error that names the problem.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from toolmark import seeds
from toolmark.codec import BadJson, escape, loads
from toolmark.errors import DataError
from toolmark.types import Call, Result, Task, Text, Tool, World

LOW, HIGH = 100, 999
Kind: TypeAlias = Literal["core", "connected", "disconnected"]
_SHOWN = 60


class Input(Struct, frozen=True):
    """A parameter; `source` is the producing function, or the variable given from outside."""

    parameter: str
    type: str
    subtype: str
    source: str


class Output(Struct, frozen=True):
    """The variable that a function computes."""

    name: str
    type: str
    subtype: str
    value: int


class Node(Struct, frozen=True):
    """A function."""

    function: str
    kind: Kind
    inputs: tuple[Input, ...]
    output: Output


class Graph(Struct, frozen=True):
    """All functions, the variables with known values, and the variable asked for.

    A source that is neither a function nor given is a variable whose value nobody knows.
    """

    target: str
    nodes: tuple[Node, ...]
    given: dict[str, int]


class Fault(Struct, frozen=True):
    """Why arguments are ill-formed; `text` names the problem, shortened and encodable."""

    kind: Literal["unreadable", "missing", "unexpected", "ill_typed"]
    text: str


class Truth:
    """A graph, indexed: functions by name, exact inputs, consumers' sources.

    `values` holds the true value of every function's output and every given variable, by source.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = {node.function: node for node in graph.nodes}
        self.values = dict(graph.given)
        self.values.update((node.function, node.output.value) for node in graph.nodes)

    def exact(self, node: Node, inputs: Mapping[str, int]) -> bool:
        """Say whether these well-formed inputs are the true ones."""
        return all(inputs[x.parameter] == self.values.get(x.source) for x in node.inputs)

    def levels(self) -> list[list[Node]]:
        """Return the functions that the target needs, by the earliest round each can run in.

        The rounds end with the one that yields the target; empty when it cannot be computed.
        """
        needed = self._needed()
        waiting = {name: sum(x.source in needed for x in needed[name].inputs) for name in needed}
        consumers: dict[str, list[str]] = {name: [] for name in needed}
        for name, node in needed.items():
            for x in node.inputs:
                if x.source in needed:
                    consumers[x.source].append(name)
                elif x.source not in self.graph.given:
                    return []
        rounds: list[list[Node]] = []
        ready = [name for name, count in waiting.items() if count == 0]
        while ready:
            rounds.append([needed[name] for name in ready])
            unlocked: list[str] = []
            for name in ready:
                for consumer in consumers[name]:
                    waiting[consumer] -= 1
                    if waiting[consumer] == 0:
                        unlocked.append(consumer)
            ready = unlocked
        return rounds if sum(map(len, rounds)) == len(needed) else []

    def _needed(self) -> dict[str, Node]:
        """Return the target's producer and all its ancestors."""
        stack = [node for node in self.graph.nodes if node.output.name == self.graph.target]
        needed: dict[str, Node] = {}
        while stack:
            node = stack.pop()
            if node.function in needed:
                continue
            needed[node.function] = node
            stack.extend(self.nodes[x.source] for x in node.inputs if x.source in self.nodes)
        return needed


def graph(task: Task) -> Graph:
    """Read the task's graph. Raises DataError where it has none, or none that yields the target."""
    try:
        found = msgspec.convert(task.reference["graph"], Graph)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise DataError(f"task {task.id}: no readable reference.graph: {error}") from None
    if not any(node.output.name == found.target for node in found.nodes):
        raise DataError(f"task {task.id}: no function computes the target {found.target!r}")
    return found


def read(node: Node, arguments: str) -> dict[str, int] | Fault:
    """Read the arguments of a call: exactly the function's parameters, each an integer.

    JSON 412 and 412.0 are integers; "412" and true are not.
    """
    try:
        found = loads(arguments)
    except BadJson as error:
        return Fault("unreadable", f"the arguments are not readable JSON: {_short(str(error))}")
    if not isinstance(found, dict):
        return Fault("unreadable", "the arguments must be one JSON object")
    names = [x.parameter for x in node.inputs]
    missing = [name for name in names if name not in found]
    if missing:
        return Fault("missing", f"missing: {_list(missing)}")
    extra = [name for name in found if name not in names]
    if extra:
        return Fault("unexpected", f"no such parameter: {_list(extra)}")
    inputs = {name: _integer(found[name]) for name in names}
    wrong = [name for name, value in inputs.items() if value is None]
    if wrong:
        return Fault("ill_typed", f"not an integer: {_list(wrong)}")
    return {name: value for name, value in inputs.items() if value is not None}


def _integer(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case _:
            return None


def _list(names: list[str]) -> str:
    shown = ", ".join(_short(name) for name in names[:5])
    return f"{shown}, ..." if len(names) > 5 else shown


def _short(text: str) -> str:
    return escape(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


class Dag:
    """One episode: answers calls; with the `restate` protocol it repeats what is known so far."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.truth = Truth(graph(task))
        self.known: dict[str, int] | None = None
        if task.axes.get("protocol") == "restate":
            self.known = dict(self.truth.graph.given)
        taken = set(self.truth.values.values())
        self.free = [value for value in range(LOW, HIGH + 1) if value not in taken]

    async def tools(self) -> tuple[Tool, ...]:
        """Return the task's tools; they never change."""
        return self.task.tools

    async def call(self, call: Call) -> Result:
        """Compute one function."""
        node = self.truth.nodes.get(call.name)
        if node is None:
            return _error(f"function not found: {_short(call.name)}")
        inputs = read(node, call.arguments)
        if isinstance(inputs, Fault):
            return _error(f"{node.function}: {inputs.text}")
        exact = self.truth.exact(node, inputs)
        value = node.output.value if exact else self._wrong(node, inputs)
        text = json.dumps({node.output.name: value})
        if self.known is None:
            return Result(parts=(Text(text),))
        self.known[node.output.name] = value
        listed = ", ".join(f"{name} = {known}" for name, known in self.known.items())
        return Result(parts=(Text(f"{text}\nKnown so far: {listed}"),))

    async def final_state(self) -> None:
        """Return nothing: functions have no effects."""
        return None

    def _wrong(self, node: Node, inputs: Mapping[str, int]) -> int:
        """Return a value that is no true one (while there is any), fixed by the arguments."""
        # numbers of thousands of digits cannot be written in decimal
        shown = ",".join(f"{name}={inputs[name]:x}" for name in sorted(inputs))
        digest = hashlib.sha256(shown.encode()).hexdigest()
        item = f"{self.task.item}/{node.function}/{digest}"
        rng = seeds.of(self.task.seed, item, 0, "wrong")
        if self.free:
            return seeds.choice(rng, self.free)
        value = seeds.between(rng, LOW, HIGH - 1)
        return value + (value >= node.output.value)


def _error(text: str) -> Result:
    return Result(parts=(Text(text),), is_error=True)


class Dags:
    """The site: a fresh world per episode, nothing shared."""

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[World]:
        """Give the task its world."""
        yield Dag(task)
