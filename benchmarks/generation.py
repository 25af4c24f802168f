"""How fast FuncBenchGen tasks are made, and whether the cost of a node grows with the graph.

    python benchmarks/generation.py

Prints tasks per second for core 20, depth 10 and 40 irrelevant functions (half connected), with
and without writing them as JSON, then microseconds per node from 100 to 100,000 nodes (depth 10,
half of them core, best of five). Exits 1 when the cost of a node varies more than threefold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

from toolmark.core import json_codec
from toolmark.core.records import Task
from toolmark.suites.funcbench.graph_shape import GraphSize
from toolmark.suites.funcbench.task_generation import Variant, make_tasks

SIZES = (100, 1_000, 10_000, 100_000)
ROUNDS = 5
BOUND = 3.0


def make(parameters: GraphSize, number: int) -> Task:
    """Make one task."""
    return next(make_tasks(parameters, number, (Variant(),), 0))


def best(work: Callable[[int], object]) -> float:
    """Return the least time in seconds that the work took."""
    times = []
    for number in range(ROUNDS):
        start = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - start)
    return min(times)


def rate() -> None:
    """Print tasks per second at the largest setting of the main experiment."""
    parameters = GraphSize(core=20, depth=10, connected=20, disconnected=20)
    batch = 200
    made = best(lambda at: [make(parameters, at * batch + n) for n in range(batch)])
    written = best(
        lambda at: [
            json_codec.encode_record(make(parameters, at * batch + n)) for n in range(batch)
        ]
    )
    print(f"core 20, depth 10, 40 irrelevant: {batch / made:,.0f} tasks/s")
    print(f"  the same, written as JSON:      {batch / written:,.0f} tasks/s")


def curve() -> float:
    """Print the cost per node by size and return the largest over the smallest."""
    costs = []
    print("\nnodes      us/node")
    for nodes in SIZES:
        core, rest = nodes // 2, nodes // 4
        parameters = GraphSize(core=core, depth=10, connected=rest, disconnected=rest)
        cost_us = 1e6 * best(partial(make, parameters)) / nodes
        costs.append(cost_us)
        print(f"{nodes:<9,}  {cost_us:.1f}")
    spread = max(costs) / min(costs)
    print(f"largest / smallest: {spread:.2f} (bar: {BOUND:g})")
    return spread


if __name__ == "__main__":
    rate()
    sys.exit(curve() > BOUND)
