"""Make a task from a graph: names, types, values, schemas and the question.

Everything is drawn from the task's own random stream, so nothing can have been memorised.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from random import Random
from string import ascii_lowercase

import msgspec
from msgspec import Struct

from toolmark.core import seeds
from toolmark.core.records import Limits, Message, Sampling, Task, Text, Tool, Turn
from toolmark.environments.function_graph import (
    MAX_VALUE,
    MIN_VALUE,
    FunctionKind,
    Graph,
    GraphTaskData,
    Input,
    Node,
    Output,
)
from toolmark.suites.funcbench.graph_shape import GraphShape, GraphSize, draw_shape

SUITE_NAME = "funcbench"
SYSTEM_PROMPT = """\
You find the value of a variable by calling functions.

Every variable has a name, a type, a subtype and an integer value. Every function computes one \
variable from its parameters; its description says the type and subtype of each parameter and \
of the result. Pass a parameter the value of the variable that has the same type and the same \
subtype, or the given value where a variable with the parameter's own name is given. Otherwise \
names do not link anything. A function returns the true value only if every value passed to it \
is the right one, and it does not tell you when one is wrong. You may make several calls at \
once. Some functions may not be needed."""
QUESTION_TEMPLATE = (
    "The functions suffice to compute `{target}`. What is its value?\n\nGiven:\n{given}"
)
ANSWER_TEMPLATE = (
    "Once you know the value, stop calling and reply with `{target} = ` and the value."
)
DESCRIPTION_TEMPLATE = "Computes `{name}` {tag}. Takes {inputs}."
TYPE_TEMPLATE = "of type {type} and subtype {subtype}"
PROMPT_TEXTS = (
    SYSTEM_PROMPT,
    QUESTION_TEMPLATE,
    ANSWER_TEMPLATE,
    DESCRIPTION_TEMPLATE,
    TYPE_TEMPLATE,
)
_PROMPT_LOWERCASE = " ".join(PROMPT_TEXTS).lower()
_INTEGER_SCHEMA = {"type": "integer"}
_NAMES_PER_DRAW = 16  # possible names per drawn name, so that a name is rarely drawn twice
_CHUNK_LETTERS = 3


class Variant(Struct, frozen=True, kw_only=True):
    """How one item is asked: one field per axis, "" for an axis that does not apply."""

    effort: str = ""
    protocol: str = ""

    @property
    def axes(self) -> dict[str, str]:
        """The axes that apply."""
        levels = {"effort": self.effort, "protocol": self.protocol}
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
    limit_calls: bool = True,
) -> Iterator[Task]:
    """Make one item, once per variant: the same graph, names and question."""
    item = item_name(size, graph)
    shape = draw_shape(size, seeds.make_rng(seed, item, 0, "graph"))
    nodes, given = _make_nodes(
        size, shape, _draw_names(size, shape, seeds.make_rng(seed, item, 0, "names"))
    )
    target = nodes[0].output.name
    tools = [_make_tool(node) for node in nodes]
    seeds.shuffle_items(seeds.make_rng(seed, item, 0, "order"), tools)
    fixed = {
        "core": str(size.core),
        "depth": str(size.depth),
        "irrelevant": str(size.connected + size.disconnected),
        "kind": irrelevant_kind(size),
    }
    turn = Turn(messages=_make_messages(target, given))
    stored = GraphTaskData(Graph(target=target, nodes=nodes, known_values=given))
    data = msgspec.to_builtins(stored)
    calls = 2 * size.core
    steps = calls if limit_calls else 2 * size.n_functions
    for variant in variants:
        yield Task(
            id="+".join([item, *(f"{axis}={x}" for axis, x in sorted(variant.axes.items()))]),
            suite=SUITE_NAME,
            item=item,
            category=f"core {size.core}",
            turns=(turn,),
            tools=tuple(tools),
            data=data,
            axes=fixed | variant.axes,
            # one more than the number of allowed calls: the last one is the answer
            limits=Limits(steps=steps + 1, calls=calls if limit_calls else None),
            sampling=Sampling(reasoning_effort=variant.effort or None),
            seed=seed,
        )


def _make_messages(target: str, known_values: dict[str, int]) -> tuple[Message, ...]:
    listed = "\n".join(
        f"{variable} = {known_values[variable]}" for variable in sorted(known_values)
    )
    question = QUESTION_TEMPLATE.format(target=target, given=listed)
    prompt = f"{question}\n\n{ANSWER_TEMPLATE.format(target=target)}"
    return (
        Message(role="system", parts=(Text(SYSTEM_PROMPT),)),
        Message(role="user", parts=(Text(prompt),)),
    )


def _make_tool(node: Node) -> Tool:
    names = [x.parameter for x in node.inputs]
    inputs = ", ".join(
        f"`{x.parameter}` {TYPE_TEMPLATE.format(type=x.type, subtype=x.subtype)}"
        for x in node.inputs
    )
    output = node.output
    tag = TYPE_TEMPLATE.format(type=output.type, subtype=output.subtype)
    return Tool(
        name=node.function,
        description=DESCRIPTION_TEMPLATE.format(name=output.name, tag=tag, inputs=inputs),
        parameters={
            "type": "object",
            "properties": dict.fromkeys(names, _INTEGER_SCHEMA),
            "required": names,
            "additionalProperties": False,
        },
    )


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
    n = size.n_functions
    roots = sum(not producers for producers in shape.parents)
    edges = sum(map(len, shape.parents))
    total = n + size.root_inputs * roots
    types = size.types or -(-total // 4)
    functions = _draw_words(rng, n, _word_length(n, 3), "func_")
    count = 2 * total + types + edges
    drawn_words = iter(_draw_words(rng, count, _word_length(count, 6)))
    return _DrawnNames(
        functions=functions,
        variables=list(islice(drawn_words, total)),
        subtypes=list(islice(drawn_words, total)),
        types=_assign_types(rng, list(islice(drawn_words, types)), total),
        values=_draw_values(rng, total),
        parameters=list(drawn_words),
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
        inputs = [_make_input(names, p, next(parameters), names.functions[p]) for p in producers]
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


def _word_length(count: int, least: int) -> int:
    letters = least
    while 26**letters < _NAMES_PER_DRAW * count:
        letters += 1
    return letters


def _draw_words(rng: Random, count: int, letters: int, prefix: str = "") -> list[str]:
    """Draw distinct words of random letters; none occurs in our own prompt texts."""
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        word = prefix + _spell_number(seeds.draw_below(rng, 26**letters), letters)
        if word not in _PROMPT_LOWERCASE:
            drawn[word] = None
    return list(drawn)


def _spell_number(number: int, letters: int) -> str:
    """Write a number in base 26, three letters at a time."""
    chunks = _letter_chunks()
    word = ""
    for _ in range(0, letters, _CHUNK_LETTERS):
        number, at = divmod(number, len(chunks))
        word = chunks[at] + word
    return word[-letters:]


@cache
def _letter_chunks() -> list[str]:
    return ["".join(chunk) for chunk in product(ascii_lowercase, repeat=_CHUNK_LETTERS)]
