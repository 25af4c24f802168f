"""What baselines see is what a model sees; planning finds the way, eagerness may not."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

import toolmark as tm
from toolmark.agents.tool_loop import run_tool_loop
from toolmark.baselines.backward_planner import BackwardPlanner
from toolmark.baselines.eager_caller import EagerCaller
from toolmark.core.model import Model
from toolmark.core.records import Message, Reply, Request, Sampling, Task, Text, Tool
from toolmark.environments.function_graph import FunctionGraphEnvironment
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench.funcbench_suite import SCORER


def outcome(task: Task, model: Model) -> tuple[bool, float]:
    blind = msgspec.structs.replace(task, data=None, axes={}, seed=0)
    assert blind.data is None
    trajectory = asyncio.run(
        run_tool_loop(blind, model, NATIVE_FORMAT, FunctionGraphEnvironment(task), Sampling())
    )
    verdict = SCORER.score(Episode(task, trajectory))["official"]
    return verdict.outcome == "correct", verdict.parts["calls"]


@pytest.mark.parametrize("restate", [False, True])
def test_the_planner_needs_exactly_the_core(restate: bool) -> None:
    tasks = tm.load(
        "funcbench",
        core=12,
        depth=4,
        connected=7,
        disconnected=7,
        graphs=20,
        restate=restate,
        seed=1,
    )
    assert {outcome(task, BackwardPlanner()) for task in tasks} == {(True, 12.0)}


def test_the_eager_one_calls_what_it_can() -> None:
    bare = tm.load("funcbench", core=12, depth=4, graphs=10, seed=1)
    assert {outcome(task, EagerCaller()) for task in bare} == {(True, 12.0)}
    crowd = tm.load("funcbench", core=5, depth=4, disconnected=40, graphs=10, seed=1)
    assert {outcome(task, EagerCaller()) for task in crowd} == {(False, 10.0)}
    apart = tm.load(
        "funcbench",
        core=5,
        depth=4,
        disconnected=40,
        graphs=10,
        known_distractor_inputs=False,
        seed=1,
    )
    assert {outcome(task, EagerCaller()) for task in apart} == {(True, 5.0)}


@pytest.mark.parametrize("model", [BackwardPlanner(), EagerCaller()])
def test_requests_that_are_not_understood_are_answered_in_words(model: Model) -> None:
    said = Message(role="user", parts=(Text("What is the weather in Oslo?"),))
    tool = Tool(name="weather", description="Weather of a city.", parameters={"type": "object"})
    reply = asyncio.run(model(Request(messages=(said,), tools=(tool,))))
    assert reply.calls == ()
    assert "cannot" in reply.text


@pytest.mark.parametrize("text", ["[", "[1]", '{"x": 1}', "{}", "null", '"abc"'])
def test_results_that_are_not_understood_are_not_believed(text: str) -> None:
    (task,) = tm.load("funcbench", core=2, depth=1, graphs=1, seed=1)
    history = task.turns[0].messages
    model = BackwardPlanner()

    async def twice() -> tuple[Reply, Reply]:
        first = await model(Request(messages=history, tools=task.tools))
        heard = Message(role="tool", parts=(Text(text),), call_id=first.calls[0].id)
        said = Message(role="assistant", calls=first.calls)
        return first, await model(Request(messages=(*history, said, heard), tools=task.tools))

    first, second = asyncio.run(twice())
    assert json.loads(first.calls[0].arguments)
    assert second.calls == ()
    assert "cannot" in second.text
