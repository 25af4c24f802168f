"""An environment of integer functions, described by the task's `data.graph`.

Exact inputs give a function's true output. Any other well-formed inputs give a wrong
three-digit value without an error, the same one every time (arXiv 2509.26553, section 3).
Ill-formed arguments and unknown functions give an error that names the problem.

Beyond the paper, a function may return its output in pages: the parameter `cursor` takes 0, then
the token of the last page, until a page has the output. And a function may say which of two
functions computes a variable: the other one, the alternative, returns a wrong value for any inputs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from toolmark.core import seeds
from toolmark.core.environment import Environment
from toolmark.core.errors import DataError
from toolmark.core.json_codec import InvalidJson, escape_surrogates, parse_json
from toolmark.core.records import Call, Result, Task, Text, Tool
from toolmark.core.task_data import read_task_data

MIN_VALUE, MAX_VALUE = 100, 999
FIRST_PAGE = 0
CHOICE_KEY = "next"
FunctionKind: TypeAlias = Literal["core", "connected", "disconnected", "alternative"]
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


class Choice(Struct, frozen=True):
    """A result names `chosen`, one of two functions that are said to compute `variable`."""

    variable: str
    chosen: str
    alternative: str


class Node(Struct, frozen=True, omit_defaults=True):
    """A function.

    One with `page_tokens` has the parameter `cursor`, and needs a call more for each token.
    `choices` is what its result says about other functions. `stands_for` is the function whose
    output an alternative is said to compute.
    """

    function: str
    kind: FunctionKind
    inputs: list[Input]
    output: Output
    cursor: str = ""
    page_tokens: list[int] = []
    choices: list[Choice] = []
    stands_for: str = ""

    @property
    def parameter_names(self) -> list[str]:
        """The names of all parameters, in the schema's order."""
        names = [x.parameter for x in self.inputs]
        return [*names, self.cursor] if self.cursor else names

    @property
    def variable_function(self) -> str:
        """The function that computes the variable which this one is said to compute."""
        return self.stands_for or self.function

    @property
    def n_pages(self) -> int:
        """The number of calls that it takes."""
        return 1 + len(self.page_tokens)

    def find_page(self, inputs: Mapping[str, int]) -> int | None:
        """Return which page these inputs ask for, from 0; None for a token that is none."""
        if not self.cursor:
            return 0
        tokens = [FIRST_PAGE, *self.page_tokens]
        token = inputs[self.cursor]
        return tokens.index(token) if token in tokens else None


class NeededCall(Struct, frozen=True):
    """A call of the ideal schedule; `is_last` where it returns the function's output."""

    node: Node
    inputs: dict[str, int]
    is_last: bool


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
        self.values.update(
            (node.function, node.output.value) for node in graph.nodes if not node.stands_for
        )

    def has_true_inputs(self, node: Node, inputs: Mapping[str, int]) -> bool:
        """Tell whether these well-formed inputs are the true ones, of a function to be used."""
        return (
            node.kind != "alternative"
            and node.find_page(inputs) is not None
            and all(inputs[x.parameter] == self.values.get(x.source) for x in node.inputs)
        )

    def computes_output(self, node: Node, inputs: Mapping[str, int]) -> bool:
        """Tell whether a call with these well-formed inputs returns the function's true output."""
        return self.has_true_inputs(node, inputs) and node.find_page(inputs) == len(
            node.page_tokens
        )

    def true_inputs(self, node: Node, page: int = 0) -> dict[str, int]:
        """Return the true inputs of a function, for one of its pages."""
        inputs = {x.parameter: self.values[x.source] for x in node.inputs}
        if node.cursor:
            inputs[node.cursor] = [FIRST_PAGE, *node.page_tokens][page]
        return inputs

    def schedule(self) -> list[list[NeededCall]]:
        """Return the fewest calls that compute the target, each in the earliest possible round.

        It is empty when the target cannot be computed.
        """
        finished: dict[str, int] = {}
        rounds: list[list[NeededCall]] = []
        for node in (node for level in self.levels() for node in level):
            start = max((finished.get(x.source, 0) for x in node.inputs), default=0)
            finished[node.function] = start + node.n_pages
            rounds.extend([] for _ in range(finished[node.function] - len(rounds)))
            for page in range(node.n_pages):
                inputs = self.true_inputs(node, page)
                rounds[start + page].append(NeededCall(node, inputs, page == node.n_pages - 1))
        return rounds

    def minimal_calls(self) -> int:
        """Return the number of calls that every solution needs; 0 when there is none."""
        return sum(map(len, self.schedule()))

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
    names = node.parameter_names
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
        nodes = self.index.graph.nodes
        taken = {*self.index.values.values(), *(x for node in nodes for x in node.page_tokens)}
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
        found = self._next_page(node, inputs, exact=exact)
        if not found:
            value = node.output.value if exact else self._wrong_value(node, inputs)
            found = {node.output.name: value, **_choice_values(node)}
        text = json.dumps(found)
        if self.known_values is None:
            return Result(parts=(Text(text),))
        if isinstance(returned := found.get(node.output.name), int):
            self.known_values[node.output.name] = returned
        listed = ", ".join(f"{name} = {known}" for name, known in self.known_values.items())
        return Result(parts=(Text(f"{text}\nKnown so far: {listed}"),))

    def _next_page(self, node: Node, inputs: Mapping[str, int], *, exact: bool) -> dict[str, Any]:
        """Return the token of the next page, nothing where this call returns the output.

        Wrong inputs look alike: the first page is followed by another, a later one by chance.
        """
        if not node.cursor:
            return {}
        if exact:
            page = node.find_page(inputs)
            is_last = page is None or page == len(node.page_tokens)
            return {} if is_last else {node.cursor: node.page_tokens[page or 0]}
        wrong = self._wrong_value(node, inputs)
        return {node.cursor: wrong} if inputs[node.cursor] == FIRST_PAGE or wrong % 2 else {}

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


def _choice_values(node: Node) -> dict[str, dict[str, str]]:
    """Return what a result says about which functions to use next."""
    chosen = {choice.variable: choice.chosen for choice in node.choices}
    return {CHOICE_KEY: chosen} if chosen else {}


def _error_result(text: str) -> Result:
    return Result(parts=(Text(text),), is_error=True)
