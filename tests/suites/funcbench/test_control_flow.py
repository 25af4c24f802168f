"""Laws of branches, loops, realistic names and links by name, over many seeds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence

import pytest
from msgspec import structs
from tests.suites.funcbench.behaviours import Misbehaving, Plan, Script

import toolmark as tm
from toolmark.baselines.backward_planner import BackwardPlanner
from toolmark.baselines.eager_caller import EagerCaller
from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Call, Task, Trajectory, Verdict
from toolmark.environments.function_graph import GraphIndex, NeededCall, Node, read_graph
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench.funcbench_controls import make_oracle
from toolmark.suites.funcbench.funcbench_scoring import score_episode
from toolmark.suites.funcbench.graph_shape import GraphSize
from toolmark.suites.funcbench.name_drawing import load_words
from toolmark.suites.funcbench.task_generation import Variant, make_tasks

Play = Callable[[Iterable[Task], Callable[[Task], Model]], list[tuple[Task, Trajectory]]]
SIZES = [
    GraphSize(core=3, depth=2, branches=1),
    GraphSize(core=6, depth=3, connected=2, branches=2, loops=2),
    GraphSize(core=8, depth=4, disconnected=4, loops=8),
    GraphSize(core=12, depth=8, connected=4, branches=7, loops=3, root_inputs=2),
    GraphSize(core=7, depth=4, branches=3, loops=2, surface="realistic", connected=3),
    GraphSize(core=7, depth=4, branches=3, loops=2, link="names", disconnected=3),
    GraphSize(core=9, depth=4, surface="realistic", link="names", connected=3),
]
SEEDS = range(25)


def make(size: GraphSize, seed: int, wording: str = "plain") -> Task:
    return next(make_tasks(size, 0, (Variant(wording=wording),), seed))


@pytest.fixture(params=SIZES, ids=lambda size: f"b{size.branches}l{size.loops}")
def size(request: pytest.FixtureRequest) -> GraphSize:
    found: GraphSize = request.param
    return found


def judge(task: Task, trajectory: Trajectory) -> Verdict:
    return score_episode(Episode(task, trajectory))["official"]


def n_calls(trajectory: Trajectory) -> int:
    return sum(len(step.results) for step in trajectory.steps)


@pytest.mark.parametrize("wording", ["plain", "guided"])
def test_what_a_model_reads_suffices_and_takes_the_minimal_calls(
    play: Play, size: GraphSize, wording: str
) -> None:
    """The planner sees no graph: its solution proves the task solvable."""
    tasks = [make(size, seed, wording) for seed in SEEDS]
    for task, trajectory in play(tasks, lambda task: BackwardPlanner()):
        verdict = judge(task, trajectory)
        assert verdict.outcome == "correct"
        assert verdict.parts["derived_from_known"] == 1
        minimum = GraphIndex(read_graph(task)).minimal_calls()
        assert n_calls(trajectory) == minimum
        assert task.limits.calls == 2 * minimum
        assert verdict.parts["errors"] == verdict.parts["redundant"] == 0


def test_the_oracle_makes_the_minimal_calls_in_the_fewest_rounds(
    play: Play, size: GraphSize
) -> None:
    tasks = [make(size, seed) for seed in SEEDS]
    for task, trajectory in play(tasks, lambda task: make_oracle(task, 0, {})):
        truth = GraphIndex(read_graph(task))
        verdict = judge(task, trajectory)
        assert verdict.outcome == "correct" and n_calls(trajectory) == truth.minimal_calls()
        assert verdict.parts["steps_with_calls"] == verdict.parts["levels"]
        assert len(truth.schedule()) >= len(truth.levels())


def test_without_any_one_needed_call_the_target_is_not_computed(play: Play) -> None:
    """So the number of scheduled calls is minimal: none of them can be left out."""
    for size in SIZES[:4]:
        task = make(size, 3)
        calls = [x for calls in GraphIndex(read_graph(task)).schedule() for x in calls]
        for left_out in range(len(calls)):
            rest = [x for at, x in enumerate(calls) if at != left_out]

            def script(task: Task = task, rest: Sequence[NeededCall] = tuple(rest)) -> Script:
                plan = Plan(task)
                values: dict[str, int] = {}
                for needed in rest:
                    node = needed.node
                    known = {**plan.truth.graph.known_values, **values}
                    inputs = {x.parameter: known.get(x.source, 0) for x in node.inputs}
                    if node.cursor:
                        inputs[node.cursor] = values.get(f"{node.function} page", 0)
                    (value,) = yield [plan.call(node, inputs)]
                    values[node.function if needed.is_last else f"{node.function} page"] = value
                return plan.answer(values.get(plan.target.function, 0))

            ((_, trajectory),) = play([task], lambda task: Misbehaving(script()))
            assert judge(task, trajectory).parts["derived"] == 0


def test_there_are_as_many_branches_and_loops_as_asked(size: GraphSize) -> None:
    for seed in SEEDS:
        nodes = read_graph(make(size, seed)).nodes
        truth = {node.function: node for node in nodes}
        alternatives = [node for node in nodes if node.kind == "alternative"]
        choices = [(node, choice) for node in nodes for choice in node.choices]
        assert len(alternatives) == len(choices) == size.branches
        assert sum(node.kind == "core" and bool(node.cursor) for node in nodes) == size.loops
        assert all(1 <= len(x.page_tokens) <= 3 for x in nodes if x.cursor and not x.stands_for)
        for selector, choice in choices:
            chosen, other = truth[choice.chosen], truth[choice.alternative]
            assert other.stands_for == chosen.function and chosen.output == other.output
            assert [x.source for x in chosen.inputs] == [x.source for x in other.inputs]
            assert selector.function in {x.source for x in chosen.inputs}
            assert bool(chosen.cursor) == bool(other.cursor)


def test_tokens_and_values_never_coincide(size: GraphSize) -> None:
    for seed in SEEDS:
        graph = read_graph(make(size, seed))
        values = [node.output.value for node in graph.nodes if not node.stands_for]
        values += graph.known_values.values()
        values += [token for node in graph.nodes for token in node.page_tokens]
        assert len(set(values)) == len(values)


def test_two_functions_of_a_variable_look_alike(size: GraphSize) -> None:
    for seed in SEEDS:
        task = make(size, seed)
        tools = {tool.name: tool for tool in task.tools}
        for node in read_graph(task).nodes:
            if not node.stands_for:
                continue
            chosen = next(x for x in read_graph(task).nodes if x.function == node.stands_for)

            def shape(node: Node, tools: dict[str, tm.Tool] = tools) -> str:
                text = tools[node.function].description.split(" The result also names")[0]
                for at, name in enumerate(node.parameter_names):
                    text = text.replace(f"`{name}`", f"`{at}`")
                return text

            assert shape(node) == shape(chosen)


def test_the_other_branch_is_named_as_the_cause(play: Play) -> None:
    for seed in SEEDS:
        task = make(SIZES[0], seed)

        def script(task: Task = task) -> Script:
            plan = Plan(task)
            node = next(x for x in plan.truth.graph.nodes if x.stands_for)
            for each in plan.before(plan.truth.nodes[node.stands_for]):
                yield [plan.call(each)]
            (value,) = yield [plan.call(node, plan.truth.true_inputs(node))]
            inputs = plan.inputs(plan.target, **{node.stands_for: value})
            (value,) = yield [plan.call(plan.target, inputs)]
            return plan.answer(value)

        ((_, trajectory),) = play([task], lambda task: Misbehaving(script()))
        verdict = judge(task, trajectory)
        (label,) = (each for each in verdict.labels if each.primary)
        assert label.cause == "wrong_tool"
        assert verdict.parts["wrong_branch"] == 1
        assert verdict.traits["recovery"] == "none repaired"


def test_a_page_that_is_not_asked_for_leaves_the_value_unknown(play: Play) -> None:
    for seed in SEEDS:
        task = make(SIZES[2], seed)

        def script(task: Task = task) -> Script:
            plan = Plan(task)
            (token,) = yield [plan.call(plan.root, plan.truth.true_inputs(plan.root))]
            inputs = plan.truth.true_inputs(plan.consumer)
            name = next(x.parameter for x in plan.consumer.inputs if x.source == plan.root.function)
            (value,) = yield [plan.call(plan.consumer, {**inputs, name: token})]
            return plan.answer(value)

        ((_, trajectory),) = play([task], lambda task: Misbehaving(script()))
        (label,) = (x for x in judge(task, trajectory).labels if x.primary)
        assert label.cause == "value_not_known"
        assert label.suite_cause.endswith("value of another variable")


def test_an_agent_without_a_plan_needs_more_than_the_minimum(play: Play) -> None:
    size = GraphSize(core=5, depth=3, connected=4, disconnected=4, branches=1, loops=1)
    tasks = [make(size, seed) for seed in SEEDS]
    calls = [n_calls(x) for _, x in play(tasks, lambda task: EagerCaller())]
    minimum = [GraphIndex(read_graph(task)).minimal_calls() for task in tasks]
    assert sum(calls) > sum(minimum)


def test_realistic_names_are_words_and_none_is_part_of_another() -> None:
    words = load_words()
    lists = [words.verbs, words.things, words.measures, words.qualifiers]
    flat = list(itertools.chain.from_iterable(lists))
    assert len(set(flat)) == len(flat)
    for seed in SEEDS:
        task = make(SIZES[4], seed)
        nodes = read_graph(task).nodes
        for node in nodes:
            assert re.fullmatch("[a-z]+(_[a-z]+){3,4}", node.function)
        names = {node.output.name for node in nodes}
        names |= {x.parameter for node in nodes for x in node.inputs}
        assert not any(a != b and a in b for a in names for b in names)


def test_names_link_where_asked(size: GraphSize) -> None:
    for seed in SEEDS:
        task = make(size, seed)
        graph = read_graph(task)
        names = {node.function: node.output.name for node in graph.nodes}
        for node in graph.nodes:
            for x in node.inputs:
                is_linked = x.parameter == names.get(x.source, x.source)
                assert is_linked == (size.link == "names" or x.source not in names)
        if size.link == "names":
            assert not any("type" in tool.description for tool in task.tools)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"depth": 3, "branches": 3}, "branches must be at most depth - 1 = 2"),
        ({"core": 4, "depth": 2, "loops": 5}, "loops must be at most core = 4"),
    ],
)
def test_impossible_control_flow_is_refused(parameters: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tm.load("funcbench", **parameters)


def test_a_call_of_a_page_is_the_same_over_any_order(play: Play) -> None:
    """Wrong inputs give the same pages every time, and never a true value or token."""
    task = make(SIZES[2], 1)
    graph = read_graph(task)
    true = {node.output.value for node in graph.nodes}
    true |= {token for node in graph.nodes for token in node.page_tokens}
    plan = Plan(task)
    call = plan.wrong_call(plan.root)
    inputs = {x.parameter: 7 for x in plan.root.inputs}

    def script() -> Script:
        again: list[Call] = [plan.call(plan.root, {**inputs, plan.root.cursor: 0})] * 2
        first, second = yield again
        assert first == second and first not in true
        return plan.answer()

    assert call.name == plan.root.function
    free = structs.replace(task, limits=structs.replace(task.limits, calls=None))
    play([free], lambda task: Misbehaving(script()))
