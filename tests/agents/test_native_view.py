"""A baseline knows no prompts: in a tool format with calls in the text its calls are written so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import mini

import toolmark as tm
from toolmark.agents.agent import Agent
from toolmark.agents.executor import Executor
from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request
from toolmark.formats.native_format import UNREAD_CALLS

TEXT_FORMATS = ("prompt", "hermes", "pythonic", "qwen3_coder", "kimi_k2")


def score_of(model: str, tool_format: str, folder: Path) -> float | None:
    suite = tm.load("funcbench", graphs=2, core=4, depth=2)
    done = tm.run(suite, model, tool_format=tool_format, log_dir=folder / tool_format)
    assert {each.tool_format for each in done.trajectories()} == {tool_format}
    value: float | None = done.summary()["score"]["value"]
    return value


@pytest.mark.parametrize("tool_format", TEXT_FORMATS)
def test_a_baseline_scores_in_every_format_what_it_scores_natively(
    tool_format: str, tmp_path: Path
) -> None:
    assert score_of("baseline/planner", "native", tmp_path) == 1.0
    assert score_of("baseline/planner", tool_format, tmp_path) == 1.0


@pytest.mark.parametrize("tool_format", TEXT_FORMATS)
def test_a_control_scores_in_every_format_what_it_scores_natively(
    tool_format: str, tmp_path: Path
) -> None:
    assert score_of("control/oracle", tool_format, tmp_path) == 1.0


class Caller(Model):
    """Makes native calls, whatever it is asked in."""

    name = "caller"

    async def __call__(self, request: Request, /) -> Reply:
        return Reply(calls=(Call(name="add", arguments="{}", id="c"),))


@pytest.mark.parametrize("tool_format", TEXT_FORMATS)
def test_native_calls_of_other_models_are_a_fault_of_format(
    tool_format: str, tmp_path: Path
) -> None:
    suite = tm.load("funcbench", graphs=1, core=4, depth=2)
    done = tm.run(suite, Caller(), tool_format=tool_format, log_dir=tmp_path)
    (trajectory,) = done.trajectories()
    assert [(step.calls, step.fault) for step in trajectory.steps] == [((), UNREAD_CALLS)]


def test_the_native_format_is_asked_as_ever(tmp_path: Path) -> None:
    done = tm.run(mini.load(n=1), Caller(), log_dir=tmp_path)
    assert all(step.fault == "" for each in done.trajectories() for step in each.steps)


class Executed(Agent):
    """An agent that reads calls as text of its own, as the executor does."""

    takes_native_models = False


def test_an_agent_that_reads_no_native_calls_refuses_a_baseline(tmp_path: Path) -> None:
    assert not Executor().takes_native_models
    suite = mini.load(n=1)
    asked = replace(suite, defaults=replace(suite.defaults, agent=Executed()))
    with pytest.raises(UsageError, match=r"^baseline/eager makes structured calls alone, "):
        tm.run(asked, "baseline/eager", log_dir=tmp_path)
    assert not [each for each in tmp_path.glob("*") if each.is_dir()]
