"""Where each function stands in the drawing: the core in layers by height, the rest beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from toolmark.worlds.dag import Node, Truth

COLUMNS = 8  # core functions per row; wider layers are wrapped
SIDE = 4  # columns of irrelevant functions
LEAST = 6  # rows that the irrelevant functions may fill before they get another column


class Place(Struct, frozen=True):
    """A cell of the grid; `column` may be fractional, row 0 is at the top."""

    column: float
    row: int


class Plan(Struct, frozen=True):
    """The places by function, and the size of the grid. The core's part comes first."""

    places: dict[str, Place]
    columns: int
    core_columns: int
    rows: int


def plan(truth: Truth, called: Sequence[str]) -> Plan:
    """Place all functions; irrelevant ones that were called come before the others."""
    layers = _layers(truth)
    widest = max(1, *(min(len(layer), COLUMNS) for layer in layers))
    places: dict[str, Place] = {}
    row = 0
    for layer in reversed(_ordered(layers)):
        for line in _wrapped(layer):
            shift = (widest - len(line)) / 2
            places.update((name, Place(at + shift, row)) for at, name in enumerate(line))
            row += 1
    rest = [node.function for node in truth.graph.nodes if node.function not in places]
    rest.sort(key=lambda name: name not in called)
    deep = max(row, LEAST)
    across = min(SIDE, -(-len(rest) // deep))
    for at, name in enumerate(rest):
        places[name] = Place(widest + at % across, at // across)
    rows = max(row, -(-len(rest) // across) if rest else 0)
    return Plan(places, widest + across, widest, rows)


def _layers(truth: Truth) -> list[list[Node]]:
    """Return the core by height, the longest path to the target, whose producer comes first.

    A graph from elsewhere may have no way to its target: then the core is one layer.
    """
    height: dict[str, int] = {}
    needed = [node for level in truth.levels() for node in level]
    for node in reversed(needed):
        own = height.setdefault(node.function, 0)
        for x in node.inputs:
            if x.source in truth.nodes:
                height[x.source] = max(height.get(x.source, 0), own + 1)
    if not needed:
        return [[node for node in truth.graph.nodes if node.kind == "core"]]
    layers: list[list[Node]] = [[] for _ in range(max(height.values()) + 1)]
    for node in needed:
        layers[height[node.function]].append(node)
    return layers


def _ordered(layers: list[list[Node]]) -> list[list[str]]:
    """Order each layer by where its consumers stand, from the target up: fewer lines cross."""
    at: dict[str, float] = {}
    sums: dict[str, list[float]] = {}
    ordered: list[list[str]] = []
    for layer in layers:
        wanted = {node.function: _mean(sums.get(node.function, [])) for node in layer}
        line = sorted(layer, key=lambda node: wanted[node.function])
        for index, node in enumerate(line):
            at[node.function] = (index + 0.5) / len(line)
            for x in node.inputs:
                sums.setdefault(x.source, []).append(at[node.function])
        ordered.append([node.function for node in line])
    return ordered


def _mean(found: list[float]) -> float:
    return sum(found) / len(found) if found else 0.5


def _wrapped(layer: list[str]) -> Iterator[list[str]]:
    """Cut a layer into rows of nearly equal length."""
    rows = -(-len(layer) // COLUMNS)
    for row in range(rows):
        # every `rows`-th, so that each row spans the whole width
        yield layer[row::rows]
