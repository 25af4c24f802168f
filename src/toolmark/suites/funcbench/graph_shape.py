"""The shape of a task: which function needs which (arXiv 2509.26553, section 3).

Nodes are numbers. The core comes first and node 0 is the target's producer; connected
irrelevant nodes follow, then disconnected ones. Nothing here has a name or a value yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import Literal, TypeAlias

from msgspec import Struct

from toolmark.core import seeds
from toolmark.core.errors import UsageError

Surface: TypeAlias = Literal["random", "realistic"]
Link: TypeAlias = Literal["types", "names"]


class GraphSize(Struct, frozen=True, kw_only=True):
    """The size of one task; `types` and `max_inputs` of None mean the default and no limit.

    `branches` counts variables with two functions, of which a result names the right one, and
    `loops` core functions that return their output in pages. `surface` says what names look like,
    `link` what links a parameter to its variable: type and subtype, or its name.
    """

    core: int
    depth: int
    connected: int = 0
    disconnected: int = 0
    types: int | None = None
    max_inputs: int | None = None
    root_inputs: int = 1
    known_distractor_inputs: bool = True
    branches: int = 0
    loops: int = 0
    surface: Surface = "random"
    link: Link = "types"

    @property
    def n_functions(self) -> int:
        """The number of functions, without the alternatives of branches."""
        return self.core + self.connected + self.disconnected


class GraphShape(Struct, frozen=True):
    """Producers per node, in no meaningful order; `height` is the longest path to the target.

    `height` covers the core only.
    """

    parents: list[list[int]]
    height: list[int]


def check_size(size: GraphSize) -> None:
    """Raise UsageError with the bound if no graph can have these parameters."""
    minimums = {
        "core": 2, "depth": 1, "connected": 0, "disconnected": 0, "root_inputs": 1, "branches": 0,
        "loops": 0,
    }  # fmt: skip
    for name, low in minimums.items():
        if getattr(size, name) < low:
            raise UsageError(f"{name} must be at least {low}; got {getattr(size, name)}")
    n, d = size.core, size.depth
    if d > n - 1:
        raise UsageError(f"depth must be at most core - 1 = {n - 1}; got {d}")
    if size.branches > d - 1:
        raise UsageError(f"branches must be at most depth - 1 = {d - 1}; got {size.branches}")
    if size.loops > n:
        raise UsageError(f"loops must be at most core = {n}; got {size.loops}")
    if size.types is not None and not 1 <= size.types <= size.n_functions:
        raise UsageError(
            f"types must be from 1 to the number of functions = {size.n_functions};"
            f" got {size.types}"
        )
    if size.max_inputs is not None:
        _check_max_inputs(size, size.max_inputs)


def _check_max_inputs(size: GraphSize, max_inputs: int) -> None:
    if max_inputs < size.root_inputs:
        raise UsageError(
            f"max_inputs must be at least root_inputs = {size.root_inputs}; got {max_inputs}"
        )
    max_core = 1
    for _ in range(size.depth):
        if max_core >= size.core:
            return
        max_core = max_core * max_inputs + 1
    if max_core < size.core:
        raise UsageError(
            f"core must be at most {max_core} with depth {size.depth} and max_inputs {max_inputs};"
            f" got {size.core}"
        )


def draw_shape(size: GraphSize, rng: Random) -> GraphShape:
    """Draw a graph. The size must have passed `check_size`."""
    n = size.core
    max_inputs = size.n_functions if size.max_inputs is None else size.max_inputs
    parents, height = _draw_tree(n, size.depth, max_inputs, rng)
    _add_core_edges(parents, height, seeds.draw_below(rng, 2 * n + 1), max_inputs, rng)
    widest = min(3, n, max_inputs)
    for _ in range(size.connected):
        parents.append(seeds.sample_indices(rng, n, seeds.draw_between(rng, 1, widest)))
    _add_disconnected(parents, size.disconnected, max_inputs, rng)
    for producers in parents:
        # the order in which edges were drawn would reveal the spine
        seeds.shuffle_items(rng, producers)
    return GraphShape(parents, height)


def _draw_tree(
    n: int, depth: int, max_inputs: int, rng: Random
) -> tuple[list[list[int]], list[int]]:
    """Draw the spine, then add parents to nodes that can still take one."""
    parents: list[list[int]] = [[node + 1] for node in range(depth)]
    parents.append([])
    height = list(range(depth + 1))
    free = [node for node in range(depth) if max_inputs > 1]
    for node in range(depth + 1, n):
        at = seeds.draw_below(rng, len(free))
        child = free[at]
        parents[child].append(node)
        parents.append([])
        height.append(height[child] + 1)
        if len(parents[child]) == max_inputs:
            free[at] = free[-1]
            free.pop()
        if height[node] < depth:
            free.append(node)
    return parents, height


def _add_core_edges(
    parents: list[list[int]], height: list[int], k: int, max_inputs: int, rng: Random
) -> None:
    """Add min(k, all available) distinct edges, each uniform over the pairs still available.

    A pair is a core node and a higher one; a child that has `max_inputs` producers takes no more.
    Few pairs are listed and shuffled; otherwise pairs are drawn, and drawn again on a collision, so
    that the cost per edge does not depend on the size of the graph.
    """
    pairs = _CandidateEdges(parents, height, max_inputs)
    if 2 * k < pairs.total - (len(height) - 1):
        pairs.add_edges(k, rng)
        return
    waiting = list(pairs.available_edges())
    seeds.shuffle_items(rng, waiting)
    for parent, child in waiting:
        if k == 0:
            return
        if len(parents[child]) < max_inputs:
            parents[child].append(parent)
            k -= 1


class _CandidateEdges:
    """The pairs (parent, child) of core nodes with height(parent) > height(child)."""

    def __init__(self, parents: list[list[int]], height: list[int], max_inputs: int) -> None:
        self.parents = parents
        self.max_inputs = max_inputs
        self.n = n = len(height)
        self.nodes_by_height = sorted(range(n), key=height.__getitem__, reverse=True)
        levels: list[list[int]] = [[] for _ in range(max(height) + 1)]
        for node in range(n):
            levels[height[node]].append(node)
        below = accumulate(len(level) for level in levels)
        # the first above[h] nodes of `order` are those higher than h
        self.n_higher = [n - count for count in below]
        self.levels = levels
        self.total = sum(len(x) * y for x, y in zip(levels, self.n_higher, strict=True))
        self.taken = {parent * n + child for child in range(n) for parent in parents[child]}

    def available_edges(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs that are not edges yet."""
        for level, above in zip(self.levels, self.n_higher, strict=True):
            for child in level:
                for parent in self.nodes_by_height[:above]:
                    if parent * self.n + child not in self.taken:
                        yield parent, child

    def add_edges(self, k: int, rng: Random) -> None:
        """Add k edges, or as many as the children have room for."""
        full = min(self.max_inputs, self.n)
        self.levels = [
            [child for child in level if len(self.parents[child]) < min(full, above)]
            for level, above in zip(self.levels, self.n_higher, strict=True)
        ]
        bounds, live = self._pair_bounds()
        while k > 0 and live > 0:
            # full children leave holes, which cause redraws; new bounds remove the holes
            if 2 * live < bounds[-1]:
                bounds, live = self._pair_bounds()
            at = seeds.draw_below(rng, bounds[-1])
            level = bisect_right(bounds, at)
            above = self.n_higher[level]
            child_at, parent_at = divmod(at - (bounds[level - 1] if level else 0), above)
            if child_at >= len(self.levels[level]):
                continue
            child, parent = self.levels[level][child_at], self.nodes_by_height[parent_at]
            if parent * self.n + child in self.taken:
                continue
            self.taken.add(parent * self.n + child)
            self.parents[child].append(parent)
            k -= 1
            if len(self.parents[child]) == min(full, above):
                self.levels[level][child_at] = self.levels[level][-1]
                self.levels[level].pop()
                live -= above

    def _pair_bounds(self) -> tuple[list[int], int]:
        bounds = list(
            accumulate(len(x) * y for x, y in zip(self.levels, self.n_higher, strict=True))
        )
        return bounds, bounds[-1]


def _add_disconnected(parents: list[list[int]], m: int, max_inputs: int, rng: Random) -> None:
    """Add the disconnected nodes and at most m/2 edges among them, earlier to later."""
    first = len(parents)
    parents.extend([] for _ in range(m))
    k = seeds.draw_below(rng, m // 2 + 1)
    taken: set[tuple[int, int]] = set()
    while k > 0:
        a, b = seeds.sample_indices(rng, m, 2)
        edge = (min(a, b), max(a, b))
        child = parents[first + edge[1]]
        if edge in taken or len(child) == max_inputs:
            continue
        taken.add(edge)
        child.append(first + edge[0])
        k -= 1
