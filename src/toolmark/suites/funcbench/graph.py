"""The shape of a task: which function needs which (arXiv 2509.26553, section 3).

Nodes are numbers. The core comes first and node 0 is the target's producer; connected
irrelevant nodes follow, then disconnected ones. Nothing here has a name or a value yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from random import Random

from msgspec import Struct

from toolmark import seeds
from toolmark.errors import UsageError


class Knobs(Struct, frozen=True, kw_only=True):
    """The size of one task; `types` and `max_inputs` of None mean the default and no limit."""

    core: int
    depth: int
    connected: int = 0
    disconnected: int = 0
    types: int | None = None
    max_inputs: int | None = None
    root_inputs: int = 1
    known_distractor_inputs: bool = True

    @property
    def functions(self) -> int:
        """The number of functions."""
        return self.core + self.connected + self.disconnected


class Shape(Struct, frozen=True):
    """Producers per node, in no meaningful order; `height` is the longest path to the target.

    `height` covers the core only.
    """

    parents: list[list[int]]
    height: list[int]


def check(knobs: Knobs) -> None:
    """Raise UsageError with the bound if no graph can have these knobs."""
    least = {"core": 2, "depth": 1, "connected": 0, "disconnected": 0, "root_inputs": 1}
    for name, low in least.items():
        if getattr(knobs, name) < low:
            raise UsageError(f"{name} must be at least {low}; got {getattr(knobs, name)}")
    n, d = knobs.core, knobs.depth
    if d > n - 1:
        raise UsageError(f"depth must be at most core - 1 = {n - 1}; got {d}")
    if knobs.types is not None and not 1 <= knobs.types <= knobs.functions:
        raise UsageError(
            f"types must be from 1 to the number of functions = {knobs.functions};"
            f" got {knobs.types}"
        )
    if knobs.max_inputs is not None:
        _check_inputs(knobs, knobs.max_inputs)


def _check_inputs(knobs: Knobs, most: int) -> None:
    if most < knobs.root_inputs:
        raise UsageError(
            f"max_inputs must be at least root_inputs = {knobs.root_inputs}; got {most}"
        )
    room = 1
    for _ in range(knobs.depth):
        if room >= knobs.core:
            return
        room = room * most + 1
    if room < knobs.core:
        raise UsageError(
            f"core must be at most {room} with depth {knobs.depth} and max_inputs {most};"
            f" got {knobs.core}"
        )


def draw(knobs: Knobs, rng: Random) -> Shape:
    """Draw a graph. The knobs must have passed `check`."""
    n = knobs.core
    most = knobs.functions if knobs.max_inputs is None else knobs.max_inputs
    parents, height = _tree(n, knobs.depth, most, rng)
    _extra(parents, height, seeds.below(rng, 2 * n + 1), most, rng)
    widest = min(3, n, most)
    for _ in range(knobs.connected):
        parents.append(seeds.sample(rng, n, seeds.between(rng, 1, widest)))
    _loose(parents, knobs.disconnected, most, rng)
    for producers in parents:
        # the order in which edges were drawn would give the spine away
        seeds.shuffle(rng, producers)
    return Shape(parents, height)


def _tree(n: int, depth: int, most: int, rng: Random) -> tuple[list[list[int]], list[int]]:
    """Draw the spine, then add parents to nodes that can still take one."""
    parents: list[list[int]] = [[node + 1] for node in range(depth)]
    parents.append([])
    height = list(range(depth + 1))
    free = [node for node in range(depth) if most > 1]
    for node in range(depth + 1, n):
        at = seeds.below(rng, len(free))
        child = free[at]
        parents[child].append(node)
        parents.append([])
        height.append(height[child] + 1)
        if len(parents[child]) == most:
            free[at] = free[-1]
            free.pop()
        if height[node] < depth:
            free.append(node)
    return parents, height


def _extra(parents: list[list[int]], height: list[int], k: int, most: int, rng: Random) -> None:
    """Add min(k, all available) distinct edges, each uniform over the pairs still available.

    A pair is a core node and a higher one; a child that has `most` producers takes no more.
    Where the pairs are few they are listed and shuffled, else drawn and redrawn, so that the
    cost per edge does not depend on the size of the graph.
    """
    pairs = _Pairs(parents, height, most)
    if 2 * k < pairs.total - (len(height) - 1):
        pairs.sample(k, rng)
        return
    waiting = list(pairs.all())
    seeds.shuffle(rng, waiting)
    for parent, child in waiting:
        if k == 0:
            return
        if len(parents[child]) < most:
            parents[child].append(parent)
            k -= 1


class _Pairs:
    """The pairs (parent, child) of core nodes with height(parent) > height(child)."""

    def __init__(self, parents: list[list[int]], height: list[int], most: int) -> None:
        self.parents = parents
        self.most = most
        self.n = n = len(height)
        self.order = sorted(range(n), key=height.__getitem__, reverse=True)
        levels: list[list[int]] = [[] for _ in range(max(height) + 1)]
        for node in range(n):
            levels[height[node]].append(node)
        below = accumulate(len(level) for level in levels)
        # the first above[h] nodes of `order` are those higher than h
        self.above = [n - count for count in below]
        self.levels = levels
        self.total = sum(len(x) * y for x, y in zip(levels, self.above, strict=True))
        self.taken = {parent * n + child for child in range(n) for parent in parents[child]}

    def all(self) -> Iterator[tuple[int, int]]:
        """Go through the pairs that are no edge yet."""
        for level, above in zip(self.levels, self.above, strict=True):
            for child in level:
                for parent in self.order[:above]:
                    if parent * self.n + child not in self.taken:
                        yield parent, child

    def sample(self, k: int, rng: Random) -> None:
        """Add k edges, or as many as the children have room for."""
        full = min(self.most, self.n)
        self.levels = [
            [child for child in level if len(self.parents[child]) < min(full, above)]
            for level, above in zip(self.levels, self.above, strict=True)
        ]
        bounds, live = self._bounds()
        while k > 0 and live > 0:
            # full children leave holes; few enough of them keep the number of redraws small
            if 2 * live < bounds[-1]:
                bounds, live = self._bounds()
            at = seeds.below(rng, bounds[-1])
            level = bisect_right(bounds, at)
            above = self.above[level]
            child_at, parent_at = divmod(at - (bounds[level - 1] if level else 0), above)
            if child_at >= len(self.levels[level]):
                continue
            child, parent = self.levels[level][child_at], self.order[parent_at]
            if parent * self.n + child in self.taken:
                continue
            self.taken.add(parent * self.n + child)
            self.parents[child].append(parent)
            k -= 1
            if len(self.parents[child]) == min(full, above):
                self.levels[level][child_at] = self.levels[level][-1]
                self.levels[level].pop()
                live -= above

    def _bounds(self) -> tuple[list[int], int]:
        bounds = list(accumulate(len(x) * y for x, y in zip(self.levels, self.above, strict=True)))
        return bounds, bounds[-1]


def _loose(parents: list[list[int]], m: int, most: int, rng: Random) -> None:
    """Add the disconnected nodes and at most m/2 edges among them, earlier to later."""
    first = len(parents)
    parents.extend([] for _ in range(m))
    k = seeds.below(rng, m // 2 + 1)
    taken: set[tuple[int, int]] = set()
    while k > 0:
        a, b = seeds.sample(rng, m, 2)
        edge = (min(a, b), max(a, b))
        child = parents[first + edge[1]]
        if edge in taken or len(child) == most:
            continue
        taken.add(edge)
        child.append(first + edge[0])
        k -= 1
