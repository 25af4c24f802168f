"""Place each function in the drawing: the core in layers by height, the others to its side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from toolmark.environments.function_graph import GraphIndex, Node

MAX_CORE_COLUMNS = 8  # core functions per row; wider layers are wrapped
MAX_SIDE_COLUMNS = 4  # columns of irrelevant functions
MIN_SIDE_ROWS = 6  # rows that the irrelevant functions may fill before they get another column


class GridCell(Struct, frozen=True):
    """A cell of the grid; `column` may be fractional, row 0 is at the top."""

    column: float
    row: int


class GraphLayout(Struct, frozen=True):
    """The places by function, and the size of the grid. The core's part comes first."""

    places: dict[str, GridCell]
    columns: int
    core_columns: int
    rows: int


def lay_out_graph(truth: GraphIndex, called: Sequence[str]) -> GraphLayout:
    """Return a place for every function; irrelevant ones that were called come first."""
    layers = _core_layers(truth)
    widest = max(1, *(min(len(layer), MAX_CORE_COLUMNS) for layer in layers))
    places: dict[str, GridCell] = {}
    row = 0
    for layer in reversed(_order_layers(layers)):
        for line in _wrap_layer(layer):
            shift = (widest - len(line)) / 2
            places.update((name, GridCell(at + shift, row)) for at, name in enumerate(line))
            row += 1
    irrelevant = [node.function for node in truth.graph.nodes if node.function not in places]
    irrelevant.sort(key=lambda name: name not in called)
    side_rows = max(row, MIN_SIDE_ROWS)
    side_columns = min(MAX_SIDE_COLUMNS, -(-len(irrelevant) // side_rows))
    for at, name in enumerate(irrelevant):
        places[name] = GridCell(widest + at % side_columns, at // side_columns)
    rows = max(row, -(-len(irrelevant) // side_columns) if irrelevant else 0)
    return GraphLayout(places, widest + side_columns, widest, rows)


def _core_layers(truth: GraphIndex) -> list[list[Node]]:
    """Return the core by height, the longest path to the target, whose producer comes first.

    A graph from elsewhere may have no path to its target: then the core is one layer.
    """
    height: dict[str, int] = {}
    needed = [node for level in truth.levels() for node in level]
    for node in reversed(needed):
        node_height = height.setdefault(node.function, 0)
        for x in node.inputs:
            if x.source in truth.nodes:
                height[x.source] = max(height.get(x.source, 0), node_height + 1)
    if not needed:
        return [[node for node in truth.graph.nodes if node.kind == "core"]]
    layers: list[list[Node]] = [[] for _ in range(max(height.values()) + 1)]
    for node in needed:
        layers[height[node.function]].append(node)
    return layers


def _order_layers(layers: list[list[Node]]) -> list[list[str]]:
    """Order each layer by the places of its consumers, from the target up: fewer lines cross."""
    at: dict[str, float] = {}
    sums: dict[str, list[float]] = {}
    ordered: list[list[str]] = []
    for layer in layers:
        wanted = {node.function: _mean_or_half(sums.get(node.function, [])) for node in layer}
        line = sorted(layer, key=lambda node: wanted[node.function])
        for index, node in enumerate(line):
            at[node.function] = (index + 0.5) / len(line)
            for x in node.inputs:
                sums.setdefault(x.source, []).append(at[node.function])
        ordered.append([node.function for node in line])
    return ordered


def _mean_or_half(found: list[float]) -> float:
    return sum(found) / len(found) if found else 0.5


def _wrap_layer(layer: list[str]) -> Iterator[list[str]]:
    """Return a layer cut into rows of nearly equal length."""
    rows = -(-len(layer) // MAX_CORE_COLUMNS)
    for row in range(rows):
        # every `rows`-th, so that each row spans the whole width
        yield layer[row::rows]
