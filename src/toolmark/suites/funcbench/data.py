"""From a graph to a task: names, types, values, schemas and the question.

Everything is drawn from the task's own random stream, so nothing can have been memorised.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from random import Random
from string import ascii_lowercase
from typing import Any

from msgspec import Struct

from toolmark import seeds
from toolmark.suites.funcbench.graph import Knobs, Shape, draw
from toolmark.types import Limits, Message, Sampling, Task, Text, Tool, Turn
from toolmark.worlds.dag import HIGH, LOW

SUITE = "funcbench"
SYSTEM = """\
You find the value of a variable by calling functions.

Every variable has a name, a type, a subtype and an integer value. Every function computes one \
variable from its parameters; its description says the type and subtype of each parameter and \
of the result. Pass a parameter the value of the variable that has the same type and the same \
subtype, or the given value where a variable with the parameter's own name is given. Otherwise \
names do not link anything. A function returns the true value only if every value passed to it \
is the right one, and it does not tell you when one is wrong. You may make several calls at \
once. Some functions may not be needed."""
ASK = "The functions suffice to compute `{target}`. What is its value?\n\nGiven:\n{given}"
ANSWER = "Once you know the value, stop calling and reply with `{target} = ` and the value."
DESCRIBE = "Computes `{name}` {tag}. Takes {inputs}."
TAG = "of type {type} and subtype {subtype}"
WORDING = (SYSTEM, ASK, ANSWER, DESCRIBE, TAG)
_WORDING = " ".join(WORDING).lower()
_INTEGER = {"type": "integer"}
_SPARE = 16  # possible names per name drawn, so that a name is rarely drawn twice
_CHUNK = 3


class Variant(Struct, frozen=True, kw_only=True):
    """How one item is asked: an axis each, "" for one that does not apply."""

    effort: str = ""
    protocol: str = ""

    @property
    def axes(self) -> dict[str, str]:
        """The axes that apply."""
        named = {"effort": self.effort, "protocol": self.protocol}
        return {name: level for name, level in named.items() if level}


def name(knobs: Knobs, graph: int) -> str:
    """Return the name of an item; knobs that are not at their default are part of it."""
    parts = [
        SUITE,
        f"c{knobs.core}",
        f"d{knobs.depth}",
        f"k{knobs.connected}",
        f"m{knobs.disconnected}",
    ]
    if knobs.types is not None:
        parts.append(f"t{knobs.types}")
    if knobs.max_inputs is not None:
        parts.append(f"i{knobs.max_inputs}")
    if knobs.root_inputs != 1:
        parts.append(f"r{knobs.root_inputs}")
    if not knobs.known_distractor_inputs:
        parts.append("u")
    return "-".join([*parts, f"g{graph}"])


def kind(knobs: Knobs) -> str:
    """Return the kind of irrelevant functions; half and half gives an odd one to connected."""
    match knobs.connected, knobs.disconnected:
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


def tasks(
    knobs: Knobs, graph: int, variants: tuple[Variant, ...], seed: int, *, cap: bool = True
) -> Iterator[Task]:
    """Make one item, once per variant: the same graph, names and question."""
    item = name(knobs, graph)
    shape = draw(knobs, seeds.of(seed, item, 0, "graph"))
    nodes, given = _nodes(knobs, shape, _cast(knobs, shape, seeds.of(seed, item, 0, "names")))
    target: str = nodes[0]["output"]["name"]
    tools = [_tool(node) for node in nodes]
    seeds.shuffle(seeds.of(seed, item, 0, "order"), tools)
    fixed = {
        "core": str(knobs.core),
        "depth": str(knobs.depth),
        "irrelevant": str(knobs.connected + knobs.disconnected),
        "kind": kind(knobs),
    }
    turn = Turn(messages=_messages(target, given))
    reference = {"graph": {"target": target, "nodes": nodes, "given": given}}
    calls = 2 * knobs.core
    steps = calls if cap else 2 * knobs.functions
    for variant in variants:
        yield Task(
            id="+".join([item, *(f"{axis}={x}" for axis, x in sorted(variant.axes.items()))]),
            suite=SUITE,
            item=item,
            category=f"core {knobs.core}",
            turns=(turn,),
            tools=tuple(tools),
            reference=reference,
            axes=fixed | variant.axes,
            # one more than there may be calls: the last one is the answer
            limits=Limits(steps=steps + 1, calls=calls if cap else None),
            sampling=Sampling(reasoning_effort=variant.effort or None),
            seed=seed,
        )


def _messages(target: str, given: dict[str, int]) -> tuple[Message, ...]:
    listed = "\n".join(f"{variable} = {given[variable]}" for variable in sorted(given))
    ask = f"{ASK.format(target=target, given=listed)}\n\n{ANSWER.format(target=target)}"
    return (
        Message(role="system", parts=(Text(SYSTEM),)),
        Message(role="user", parts=(Text(ask),)),
    )


def _tool(node: dict[str, Any]) -> Tool:
    names = [x["parameter"] for x in node["inputs"]]
    inputs = ", ".join(
        f"`{x['parameter']}` {TAG.format(type=x['type'], subtype=x['subtype'])}"
        for x in node["inputs"]
    )
    output = node["output"]
    tag = TAG.format(type=output["type"], subtype=output["subtype"])
    return Tool(
        name=node["function"],
        description=DESCRIBE.format(name=output["name"], tag=tag, inputs=inputs),
        parameters={
            "type": "object",
            "properties": dict.fromkeys(names, _INTEGER),
            "required": names,
            "additionalProperties": False,
        },
    )


class _Cast(Struct, frozen=True):
    """What the nodes and variables are called and worth.

    Variables 0..N-1 are the outputs of the N functions, those after come from outside.
    `parameters` has one name for each edge.
    """

    functions: list[str]
    variables: list[str]
    types: list[str]
    subtypes: list[str]
    values: list[int]
    parameters: list[str]


def _cast(knobs: Knobs, shape: Shape, rng: Random) -> _Cast:
    n = knobs.functions
    roots = sum(not producers for producers in shape.parents)
    edges = sum(map(len, shape.parents))
    total = n + knobs.root_inputs * roots
    types = knobs.types or -(-total // 4)
    functions = _words(rng, n, _letters(n, 3), "func_")
    count = 2 * total + types + edges
    words = iter(_words(rng, count, _letters(count, 6)))
    return _Cast(
        functions=functions,
        variables=list(islice(words, total)),
        subtypes=list(islice(words, total)),
        types=_types(rng, list(islice(words, types)), total),
        values=_values(rng, total),
        parameters=list(words),
    )


def _nodes(knobs: Knobs, shape: Shape, cast: _Cast) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Write the functions down, and the variables whose values are given."""
    given: dict[str, int] = {}
    nodes: list[dict[str, Any]] = []
    outside = knobs.functions
    parameters = iter(cast.parameters)
    for index, producers in enumerate(shape.parents):
        inputs = [_input(cast, p, next(parameters), cast.functions[p]) for p in producers]
        if not producers:
            new = range(outside, outside + knobs.root_inputs)
            outside = new.stop
            inputs = [_input(cast, v, cast.variables[v], cast.variables[v]) for v in new]
            if index < knobs.core or knobs.known_distractor_inputs:
                given.update((cast.variables[v], cast.values[v]) for v in new)
        nodes.append(
            {
                "function": cast.functions[index],
                "kind": _kind(knobs, index),
                "inputs": inputs,
                "output": {
                    "name": cast.variables[index],
                    "type": cast.types[index],
                    "subtype": cast.subtypes[index],
                    "value": cast.values[index],
                },
            }
        )
    return nodes, given


def _input(cast: _Cast, variable: int, parameter: str, source: str) -> dict[str, str]:
    return {
        "parameter": parameter,
        "type": cast.types[variable],
        "subtype": cast.subtypes[variable],
        "source": source,
    }


def _kind(knobs: Knobs, index: int) -> str:
    if index < knobs.core:
        return "core"
    return "connected" if index < knobs.core + knobs.connected else "disconnected"


def _types(rng: Random, names: list[str], total: int) -> list[str]:
    """Give each variable a type, at random but each type equally often (to within one)."""
    kinds = [names[i % len(names)] for i in range(total)]
    seeds.shuffle(rng, kinds)
    return kinds


def _values(rng: Random, total: int) -> list[int]:
    """Draw three-digit values, distinct as long as there are enough of them."""
    room = HIGH - LOW + 1
    if total <= room:
        return [LOW + offset for offset in seeds.sample(rng, room, total)]
    return [seeds.between(rng, LOW, HIGH) for _ in range(total)]


def _letters(count: int, least: int) -> int:
    letters = least
    while 26**letters < _SPARE * count:
        letters += 1
    return letters


def _words(rng: Random, count: int, letters: int, prefix: str = "") -> list[str]:
    """Draw distinct words of random letters; none occurs in our own wording."""
    words: dict[str, None] = {}
    while len(words) < count:
        word = prefix + _spell(seeds.below(rng, 26**letters), letters)
        if word not in _WORDING:
            words[word] = None
    return list(words)


def _spell(number: int, letters: int) -> str:
    """Write a number in base 26, three letters at a time."""
    chunks = _chunks()
    word = ""
    for _ in range(0, letters, _CHUNK):
        number, at = divmod(number, len(chunks))
        word = chunks[at] + word
    return word[-letters:]


@cache
def _chunks() -> list[str]:
    return ["".join(chunk) for chunk in product(ascii_lowercase, repeat=_CHUNK)]
