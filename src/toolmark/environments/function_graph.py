"""An environment of integer functions, described by the task's `data.graph`.

Exact inputs give a function's true output. Any other well-formed inputs give a wrong
three-digit value without an error, the same one every time (arXiv 2509.26553, section 3).
Ill-formed arguments and unknown functions give an error that names the problem.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from toolmark.core import seeds
from toolmark.core.environment import Environment
from toolmark.core.errors import DataError
from toolmark.core.json_codec import InvalidJson, escape_surrogates, parse_json
from toolmark.core.records import Call, Result, Task, Text, Tool
from toolmark.core.task_data import read_task_data

MIN_VALUE, MAX_VALUE = 100, 999
FunctionKind: TypeAlias = Literal["core", "connected", "disconnected"]
_MAX_SHOWN_CHARS = 60


class Input(Struct, frozen=True):
    """A parameter; `source` is the function that computes it, or a given variable."""

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
    kind: FunctionKind
    inputs: list[Input]
    output: Output


class Graph(Struct, frozen=True):
    """All functions, the variables with known values, and the variable asked for.

    A source that is neither a function nor given is a variable with an unknown value.
    """

    target: str
    nodes: list[Node]
    known_values: dict[str, int]


class GraphTaskData(Struct, frozen=True):
    """What a task of this environment stores; environment and scorer use nothing else."""

    graph: Graph


class ArgumentFault(Struct, frozen=True):
    """Why arguments are ill-formed; `text` names the problem, shortened and encodable."""

    kind: Literal["unreadable", "missing", "unexpected", "ill_typed"]
    text: str


class GraphIndex:
    """An index of a graph: its functions by name, and all true values by source.

    `values` has the true value of every function's output and of every given variable.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = {node.function: node for node in graph.nodes}
        self.values = dict(graph.known_values)
        self.values.update((node.function, node.output.value) for node in graph.nodes)

    def has_true_inputs(self, node: Node, inputs: Mapping[str, int]) -> bool:
        """Tell whether these well-formed inputs are the true ones."""
        return all(inputs[x.parameter] == self.values.get(x.source) for x in node.inputs)

    def levels(self) -> list[list[Node]]:
        """Return the functions that the target needs, by the earliest round in which each can run.

        The last round computes the target. The list is empty when it cannot be computed.
        """
        needed = self._needed_functions()
        waiting = {name: sum(x.source in needed for x in needed[name].inputs) for name in needed}
        consumers: dict[str, list[str]] = {name: [] for name in needed}
        for name, node in needed.items():
            for x in node.inputs:
                if x.source in needed:
                    consumers[x.source].append(name)
                elif x.source not in self.graph.known_values:
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

    def _needed_functions(self) -> dict[str, Node]:
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


def read_graph(task: Task) -> Graph:
    """Return the task's graph. Raises DataError where it has none that computes the target."""
    found = read_task_data(task, GraphTaskData).graph
    if not any(node.output.name == found.target for node in found.nodes):
        raise DataError(f"task {task.id}: no function computes the target {found.target!r}")
    return found


def parse_arguments(node: Node, arguments: str) -> dict[str, int] | ArgumentFault:
    """Parse the arguments of a call: exactly the function's parameters, each an integer.

    JSON 412 and 412.0 are integers; "412" and true are not.
    """
    try:
        found = parse_json(arguments)
    except InvalidJson as error:
        return ArgumentFault(
            "unreadable", f"the arguments are not readable JSON: {_shown_text(str(error))}"
        )
    if not isinstance(found, dict):
        return ArgumentFault("unreadable", "the arguments must be one JSON object")
    names = [x.parameter for x in node.inputs]
    missing = [name for name in names if name not in found]
    if missing:
        return ArgumentFault("missing", f"missing: {_join_names(missing)}")
    extra = [name for name in found if name not in names]
    if extra:
        return ArgumentFault("unexpected", f"no such parameter: {_join_names(extra)}")
    inputs = {name: _to_integer(found[name]) for name in names}
    wrong = [name for name, value in inputs.items() if value is None]
    if wrong:
        return ArgumentFault("ill_typed", f"not an integer: {_join_names(wrong)}")
    return {name: value for name, value in inputs.items() if value is not None}


def _to_integer(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case _:
            return None


def _join_names(names: list[str]) -> str:
    shown = ", ".join(_shown_text(name) for name in names[:5])
    return f"{shown}, ..." if len(names) > 5 else shown


def _shown_text(text: str) -> str:
    return escape_surrogates(
        text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "..."
    )


class FunctionGraphEnvironment(Environment):
    """One episode of calls; with the `restate` protocol each result repeats all known values."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.index = GraphIndex(read_graph(task))
        self.known_values: dict[str, int] | None = None
        if task.axes.get("protocol") == "restate":
            self.known_values = dict(self.index.graph.known_values)
        taken = set(self.index.values.values())
        self.unused_values = [
            value for value in range(MIN_VALUE, MAX_VALUE + 1) if value not in taken
        ]

    async def tools(self) -> tuple[Tool, ...]:
        """Return the task's tools; they never change."""
        return self.task.tools

    async def call(self, call: Call, /) -> Result:
        """Compute one function."""
        node = self.index.nodes.get(call.name)
        if node is None:
            return _error_result(f"function not found: {_shown_text(call.name)}")
        inputs = parse_arguments(node, call.arguments)
        if isinstance(inputs, ArgumentFault):
            return _error_result(f"{node.function}: {inputs.text}")
        exact = self.index.has_true_inputs(node, inputs)
        value = node.output.value if exact else self._wrong_value(node, inputs)
        text = json.dumps({node.output.name: value})
        if self.known_values is None:
            return Result(parts=(Text(text),))
        self.known_values[node.output.name] = value
        listed = ", ".join(f"{name} = {known}" for name, known in self.known_values.items())
        return Result(parts=(Text(f"{text}\nKnown so far: {listed}"),))

    def _wrong_value(self, node: Node, inputs: Mapping[str, int]) -> int:
        """Return a wrong value that depends only on the seed, the item and the call.

        It is not the true value of any variable, unless all values in range are taken.
        """
        # Python refuses to write numbers of thousands of digits in decimal
        shown = ",".join(f"{name}={inputs[name]:x}" for name in sorted(inputs))
        digest = hashlib.sha256(shown.encode()).hexdigest()
        item = f"{self.task.item}/{node.function}/{digest}"
        rng = seeds.make_rng(self.task.seed, item, 0, "wrong")
        if self.unused_values:
            return seeds.draw_one(rng, self.unused_values)
        value = seeds.draw_between(rng, MIN_VALUE, MAX_VALUE - 1)
        return value + (value >= node.output.value)


def _error_result(text: str) -> Result:
    return Result(parts=(Text(text),), is_error=True)
