"""Make a task from a graph: names, types and values; `task_wording` writes its texts.

Everything is drawn from the task's own random stream, so nothing can have been memorised.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import msgspec
from msgspec import Struct

from toolmark.core import seeds
from toolmark.core.records import Limits, Sampling, Task, Turn
from toolmark.environments.function_graph import (
    MAX_VALUE,
    MIN_VALUE,
    FunctionKind,
    Graph,
    GraphIndex,
    GraphTaskData,
    Input,
    Node,
    Output,
)
from toolmark.suites.funcbench.call_cap import PAPER_CAP, CallCap
from toolmark.suites.funcbench.control_flow import add_control_flow
from toolmark.suites.funcbench.graph_shape import GraphShape, GraphSize, draw_shape
from toolmark.suites.funcbench.name_drawing import NameCounts, draw_names, further_names
from toolmark.suites.funcbench.task_wording import (
    DEFAULT_WORDING,
    load_wordings,
    write_messages,
    write_tool,
)

SUITE_NAME = "funcbench"


class Variant(Struct, frozen=True, kw_only=True):
    """How one item is asked: one field per axis, "" for an axis that does not apply."""

    effort: str = ""
    protocol: str = ""
    wording: str = DEFAULT_WORDING

    @property
    def axes(self) -> dict[str, str]:
        """The axes that apply."""
        levels = {"effort": self.effort, "protocol": self.protocol, "wording": self.wording}
        return {name: level for name, level in levels.items() if level}


def item_name(size: GraphSize, graph: int) -> str:
    """Return the name of an item; parameters that are not at their default are part of it."""
    parts = [
        SUITE_NAME,
        f"c{size.core}",
        f"d{size.depth}",
        f"k{size.connected}",
        f"m{size.disconnected}",
    ]
    if size.types is not None:
        parts.append(f"t{size.types}")
    if size.max_inputs is not None:
        parts.append(f"i{size.max_inputs}")
    if size.root_inputs != 1:
        parts.append(f"r{size.root_inputs}")
    if not size.known_distractor_inputs:
        parts.append("u")
    if size.branches:
        parts.append(f"b{size.branches}")
    if size.loops:
        parts.append(f"l{size.loops}")
    parts += [level for level in (size.surface, size.link) if level not in ("random", "types")]
    return "-".join([*parts, f"g{graph}"])


def irrelevant_kind(size: GraphSize) -> str:
    """Return the kind of irrelevant functions; in an equal split an odd one is connected."""
    match size.connected, size.disconnected:
        case 0, 0:
            return "none"
        case _, 0:
            return "connected"
        case 0, _:
            return "disconnected"
        case c, m if c - m in (0, 1):
            return "half"
        case _:
            return "mixed"


def make_tasks(
    size: GraphSize,
    graph: int,
    variants: tuple[Variant, ...],
    seed: int,
    *,
    cap: CallCap = PAPER_CAP,
) -> Iterator[Task]:
    """Make one item, once per variant: the same graph, names and values.

    The wording is part of the id where the variants differ in it.
    """
    item = item_name(size, graph)
    shape = draw_shape(size, seeds.make_rng(seed, item, 0, "graph"))
    names = _draw_names(size, shape, seeds.make_rng(seed, item, 0, "names"))
    nodes, given = _make_nodes(size, shape, names)
    if size.branches or size.loops:
        rng = seeds.make_rng(seed, item, 0, "control flow")
        taken = (*names.functions, *names.variables, *names.parameters)
        further = further_names(rng, size.surface, taken)
        nodes = add_control_flow(size, nodes, set(names.values), rng, *further)
    target = nodes[0].output.name
    order = list(nodes)
    seeds.shuffle_items(seeds.make_rng(seed, item, 0, "order"), order)
    fixed = {
        "core": str(size.core),
        "depth": str(size.depth),
        "irrelevant": str(size.connected + size.disconnected),
        "kind": irrelevant_kind(size),
        **_further_axes(size),
    }
    stored = GraphTaskData(Graph(target=target, nodes=nodes, known_values=given))
    data = msgspec.to_builtins(stored)
    minimum = GraphIndex(stored.graph).minimal_calls() if size.loops else size.core
    calls = cap.max_calls(minimum)
    steps = 2 * (len(nodes) + minimum - size.core) if calls is None else calls
    by_name = size.link == "names"
    has_one_wording = len({variant.wording for variant in variants}) == 1
    for variant in variants:
        wording = load_wordings()[variant.wording]
        named = {
            axis: level
            for axis, level in sorted(variant.axes.items())
            if not (axis == "wording" and has_one_wording)
        }
        yield Task(
            id="+".join([item, *(f"{axis}={level}" for axis, level in named.items())]),
            suite=SUITE_NAME,
            item=item,
            category=f"core {size.core}",
            turns=(Turn(messages=write_messages(wording, target, given, by_name=by_name)),),
            tools=tuple(write_tool(wording, node, by_name=by_name) for node in order),
            data=data,
            axes=fixed | variant.axes,
            # one more than the number of allowed calls: the last one is the answer
            limits=Limits(steps=steps + 1, calls=calls),
            sampling=Sampling(reasoning_effort=variant.effort or None),
            seed=seed,
        )


def _further_axes(size: GraphSize) -> dict[str, str]:
    """Return the axes of what the paper does not have, where a task has it."""
    counts = {"branches": size.branches, "loops": size.loops}
    found = {name: str(count) for name, count in counts.items() if count}
    if size.surface != "random":
        found["surface"] = size.surface
    if size.link != "types":
        found["link"] = size.link
    return found


class _DrawnNames(Struct, frozen=True):
    """The names and values of nodes and variables.

    Variables 0..N-1 are the outputs of the N functions, those after come from outside. `parameters`
    has one name for each edge.
    """

    functions: list[str]
    variables: list[str]
    types: list[str]
    subtypes: list[str]
    values: list[int]
    parameters: list[str]


def _draw_names(size: GraphSize, shape: GraphShape, rng: Random) -> _DrawnNames:
    roots = sum(not producers for producers in shape.parents)
    total = size.n_functions + size.root_inputs * roots
    counts = NameCounts(
        functions=size.n_functions,
        variables=total,
        types=size.types or -(-total // 4),
        parameters=sum(map(len, shape.parents)),
    )
    drawn = draw_names(rng, size.surface, counts)
    return _DrawnNames(
        functions=drawn.functions,
        variables=drawn.variables,
        subtypes=drawn.subtypes,
        types=_assign_types(rng, drawn.types, total),
        values=_draw_values(rng, total),
        parameters=drawn.parameters,
    )


def _make_nodes(
    size: GraphSize, shape: GraphShape, names: _DrawnNames
) -> tuple[list[Node], dict[str, int]]:
    """Return the functions, and the variables whose values are given."""
    given: dict[str, int] = {}
    nodes: list[Node] = []
    first_outside = size.n_functions
    parameters = iter(names.parameters)
    for index, producers in enumerate(shape.parents):
        own_names = [next(parameters) for _ in producers]
        if size.link == "names":
            own_names = [names.variables[p] for p in producers]
        inputs = [
            _make_input(names, p, name, names.functions[p])
            for p, name in zip(producers, own_names, strict=True)
        ]
        if not producers:
            new = range(first_outside, first_outside + size.root_inputs)
            first_outside = new.stop
            inputs = [_make_input(names, v, names.variables[v], names.variables[v]) for v in new]
            if index < size.core or size.known_distractor_inputs:
                given.update((names.variables[v], names.values[v]) for v in new)
        nodes.append(
            Node(
                function=names.functions[index],
                kind=_function_kind(size, index),
                inputs=inputs,
                output=Output(
                    name=names.variables[index],
                    type=names.types[index],
                    subtype=names.subtypes[index],
                    value=names.values[index],
                ),
            )
        )
    return nodes, given


def _make_input(names: _DrawnNames, variable: int, parameter: str, source: str) -> Input:
    return Input(
        parameter=parameter,
        type=names.types[variable],
        subtype=names.subtypes[variable],
        source=source,
    )


def _function_kind(size: GraphSize, index: int) -> FunctionKind:
    if index < size.core:
        return "core"
    return "connected" if index < size.core + size.connected else "disconnected"


def _assign_types(rng: Random, names: list[str], total: int) -> list[str]:
    """Return a type for each variable, at random but each type equally often (to within one)."""
    kinds = [names[i % len(names)] for i in range(total)]
    seeds.shuffle_items(rng, kinds)
    return kinds


def _draw_values(rng: Random, total: int) -> list[int]:
    """Draw three-digit values, distinct as long as there are enough of them."""
    n_values = MAX_VALUE - MIN_VALUE + 1
    if total <= n_values:
        return [MIN_VALUE + offset for offset in seeds.sample_indices(rng, n_values, total)]
    return [seeds.draw_between(rng, MIN_VALUE, MAX_VALUE) for _ in range(total)]
