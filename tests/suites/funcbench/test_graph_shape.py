"""Laws of the graphs (arXiv 2509.26553, section 3) over random sizes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolmark.core import json_codec, seeds
from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Task, Trajectory
from toolmark.environments.function_graph import Graph, GraphIndex, read_graph
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench import funcbench_controls, graph_shape, task_generation
from toolmark.suites.funcbench.funcbench_suite import SCORER
from toolmark.suites.funcbench.graph_shape import GraphSize
from toolmark.suites.funcbench.task_generation import Variant

Play = Callable[[Iterable[Task], Callable[[Task], Model]], list[tuple[Task, Trajectory]]]
MANY = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def graph_sizes(draw: st.DrawFn) -> GraphSize:
    # small ones mostly: they find as much, and there is time for more of them
    core = draw(st.integers(2, 8) | st.integers(2, 8) | st.integers(2, 24))
    most = draw(st.sampled_from([3, 3, 12]))
    root_inputs = draw(st.sampled_from([1, 1, 2, 3]))
    drawn = GraphSize(
        core=core,
        depth=draw(st.integers(1, core - 1)),
        connected=draw(st.integers(0, most)),
        disconnected=draw(st.integers(0, most)),
        max_inputs=draw(st.none() | st.integers(root_inputs, 6)),
        root_inputs=root_inputs,
        known_distractor_inputs=draw(st.booleans()),
        types=draw(st.none() | st.integers(1, core)),
    )
    try:
        graph_shape.check_size(drawn)
    except UsageError:
        assume(False)
    return drawn


def make(parameters: GraphSize, seed: int) -> Task:
    return next(task_generation.make_tasks(parameters, 0, (Variant(),), seed))


def solvable(found: Graph, without: str = "") -> bool:
    """Compute everything that can be computed, one function taken away."""
    known = set(found.known_values)
    waiting = [node for node in found.nodes if node.function != without]
    while ready := [node for node in waiting if all(x.source in known for x in node.inputs)]:
        known |= {node.function for node in ready}
        waiting = [node for node in waiting if node.function not in known]
    target = next(node for node in found.nodes if node.output.name == found.target)
    return target.function in known


def below(found: Graph) -> dict[str, set[str]]:
    consumers: dict[str, set[str]] = defaultdict(set)
    for node in found.nodes:
        for x in node.inputs:
            consumers[x.source].add(node.function)
    return consumers


def reached(found: Graph, start: str) -> set[str]:
    consumers, seen, stack = below(found), set[str](), [start]
    while stack:
        name = stack.pop()
        stack += consumers[name] - seen
        seen |= consumers[name]
    return seen


def longest(truth: GraphIndex, name: str, heights: dict[str, int]) -> int:
    if name not in heights:
        nodes = truth.nodes.values()
        after = [node.function for node in nodes if any(x.source == name for x in node.inputs)]
        heights[name] = max((1 + longest(truth, x, heights) for x in after if x != name), default=0)
    return heights[name]


def the_core_reaches_the_target_and_nothing_else_does(found: Graph, parameters: GraphSize) -> None:
    kinds = Counter(node.kind for node in found.nodes)
    target = next(node for node in found.nodes if node.output.name == found.target)
    assert kinds["core"] == parameters.core
    assert kinds["connected"] == parameters.connected
    assert kinds["disconnected"] == parameters.disconnected
    assert target.kind == "core"
    for node in found.nodes:
        leads = node is target or target.function in reached(found, node.function)
        assert leads == (node.kind == "core")


def the_longest_path_to_the_target_is_the_depth(found: Graph, parameters: GraphSize) -> None:
    core = Graph(found.target, [x for x in found.nodes if x.kind == "core"], found.known_values)
    truth = GraphIndex(core)
    heights: dict[str, int] = {}
    assert max(longest(truth, node.function, heights) for node in core.nodes) == parameters.depth
    assert len(truth.levels()) == parameters.depth + 1


def every_core_function_is_needed_and_the_core_suffices(found: Graph, _: GraphSize) -> None:
    core = [node for node in found.nodes if node.kind == "core"]
    assert solvable(Graph(found.target, core, found.known_values))
    assert not any(solvable(found, without=node.function) for node in core)
    levels = GraphIndex(found).levels()
    # the fewest calls: every core function once, and each when its inputs are there
    assert sorted(x.function for level in levels for x in level) == sorted(x.function for x in core)


def irrelevant_functions_keep_to_themselves(found: Graph, parameters: GraphSize) -> None:
    kind: dict[str, str] = {node.function: node.kind for node in found.nodes}
    consumed = below(found)
    edges = 0
    for node in found.nodes:
        sources = [kind[x.source] for x in node.inputs if x.source in kind]
        match node.kind:
            case "core":
                assert set(sources) <= {"core"}
            case "connected":
                assert set(sources) == {"core"}
                assert len(sources) <= min(3, parameters.core)
                assert not consumed[node.function]
            case "disconnected":
                assert set(sources) <= {"disconnected"}
                assert not any(kind[x] != "disconnected" for x in consumed[node.function])
                edges += len(sources)
    assert edges <= parameters.disconnected // 2


def only_functions_without_a_producer_have_given_inputs(
    found: Graph, parameters: GraphSize
) -> None:
    functions = {node.function for node in found.nodes}
    used = Counter[str]()
    for node in found.nodes:
        outside = [x for x in node.inputs if x.source not in functions]
        assert len({x.source for x in node.inputs}) == len(node.inputs)
        assert len(outside) in (0, len(node.inputs))
        assert len(node.inputs) <= (
            parameters.max_inputs or len(functions) + parameters.root_inputs
        )
        assert not outside or len(outside) == parameters.root_inputs
        for x in outside:
            assert x.parameter == x.source
            known = node.kind == "core" or parameters.known_distractor_inputs
            assert (x.source in found.known_values) == known
        used.update(x.source for x in outside)
    assert set(found.known_values) <= set(used)
    assert set(used.values()) <= {1}


LAWS = (
    the_core_reaches_the_target_and_nothing_else_does,
    the_longest_path_to_the_target_is_the_depth,
    every_core_function_is_needed_and_the_core_suffices,
    irrelevant_functions_keep_to_themselves,
    only_functions_without_a_producer_have_given_inputs,
)


@MANY
@given(graph_sizes(), st.integers(0, 2**32))
def test_every_graph_obeys_every_law(play: Play, parameters: GraphSize, seed: int) -> None:
    task = make(parameters, seed)
    found = read_graph(task)
    for law in LAWS:
        law(found, parameters)
    # same seed, same bytes
    assert json_codec.encode_record(make(parameters, seed)) == json_codec.encode_record(task)
    assert json_codec.encode_record(make(parameters, seed + 1)) != json_codec.encode_record(task)
    # the oracle, which goes through the world, needs every core function once and nothing else
    ((_, trajectory),) = play([task], lambda task: funcbench_controls.make_oracle(task, 0, {}))
    verdict = SCORER.score(Episode(task, trajectory))["official"]
    assert verdict.outcome == "correct"
    assert verdict.parts["derived_from_known"] == 1
    assert verdict.parts["calls"] == verdict.parts["correct_core"] == parameters.core


@pytest.mark.parametrize("most", [9, 2])
def test_extra_edges_are_as_many_as_were_drawn_or_all(most: int) -> None:
    for seed in range(300):
        rng = seeds.make_rng(seed, "extra", 0, "test")
        n, depth = 9, (3 if most == 2 else 1) + seed % 5
        parents, height = graph_shape._draw_tree(n, depth, most, rng)
        before = sum(map(len, parents))
        pairs = [[b for b in range(n) if height[b] > height[child]] for child in range(n)]
        room = sum(min(most, len(higher)) for higher in pairs) - before
        k = seeds.draw_below(rng, 2 * n + 1)
        graph_shape._add_core_edges(parents, height, k, most, rng)
        assert sum(map(len, parents)) - before == min(k, room)
        for child, producers in enumerate(parents):
            assert len(set(producers)) == len(producers) <= most
            assert set(producers) <= set(pairs[child])


@pytest.mark.parametrize("k", [1, 5, 7])
def test_extra_edges_are_uniform_over_the_pairs(k: int) -> None:
    """Of 12 pairs up to five edges are drawn and redrawn, more are listed: both are uniform."""
    parents = [[1, 3, 4], [2, 5, 6], [], [7], [], [], [], []]
    height = [0, 1, 2, 1, 1, 2, 2, 2]
    pairs = {(b, a) for a, b in combinations(range(8), 2) if height[b] > height[a]}
    pairs |= {(a, b) for a, b in combinations(range(8), 2) if height[a] > height[b]}
    free = pairs - {(b, a) for a in range(8) for b in parents[a]}
    counts = Counter[Any]()
    draws = 6000
    for seed in range(draws):
        mine = [list(producers) for producers in parents]
        graph_shape._add_core_edges(mine, height, k, 8, seeds.make_rng(seed, "uniform", k, "test"))
        counts.update((b, a) for a in range(8) for b in mine[a][len(parents[a]) :])
    assert set(counts) == free
    expected = draws * k / len(free)
    spread = sum((count - expected) ** 2 / expected for count in counts.values())
    # chi-squared with len(free) - 1 degrees of freedom; 1e-4 quantile of 11 is 36
    assert len(free) == 12
    assert spread < 36


@pytest.mark.parametrize(
    ("wrong", "bound"),
    [
        ({"core": 1}, "core must be at least 2; got 1"),
        ({"core": 5, "depth": 5}, "depth must be at most core - 1 = 4; got 5"),
        ({"depth": 0}, "depth must be at least 1; got 0"),
        ({"connected": -1}, "connected must be at least 0; got -1"),
        ({"disconnected": -1}, "disconnected must be at least 0; got -1"),
        ({"root_inputs": 0}, "root_inputs must be at least 1; got 0"),
        ({"types": 6}, "types must be from 1 to the number of functions = 5; got 6"),
        ({"types": 0}, "types must be from 1 to the number of functions = 5; got 0"),
        ({"max_inputs": 1, "root_inputs": 2}, "max_inputs must be at least root_inputs = 2; got 1"),
        ({"max_inputs": 1}, "core must be at most 3 with depth 2 and max_inputs 1; got 5"),
        (
            {"core": 8, "max_inputs": 2},
            "core must be at most 7 with depth 2 and max_inputs 2; got 8",
        ),
    ],
)
def test_impossible_parameters_name_the_bound(wrong: dict[str, int], bound: str) -> None:
    with pytest.raises(UsageError, match=bound):
        graph_shape.check_size(msgspec.convert({"core": 5, "depth": 2} | wrong, GraphSize))


def test_the_largest_possible_core_is_filled() -> None:
    full = read_graph(make(GraphSize(core=15, depth=3, max_inputs=2), 0))
    assert len(full.nodes) == 15
