"""The oracle passes, the null agent does not, and a fault is found under its own name."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from math import sqrt

import pytest

from toolmark.baselines.lexical_matcher import LexicalMatcher
from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Reply, Request, Task, Verdict
from toolmark.official_bfcl import bfcl_controls, errata, official_data
from toolmark.runs.suite import Suite

Judge = Callable[..., Verdict]
ASKED = Request(messages=())


def play(suite: Suite, name: str, task: Task, options: Mapping[str, str]) -> Reply:
    model = suite.controls[name](task, 0, options)
    return asyncio.run(model(ASKED)) if options.get("loop") else _reply(model)


def _reply(model: object) -> Reply:
    assert isinstance(
        model, bfcl_controls.FixedReply
    )  # no event loop per task: there are thousands
    return model.reply


def rows(suite: Suite, judge: Judge, tool_format: str, **options: str) -> dict[str, Verdict]:
    name = "faulty" if options else "oracle"
    return {task.id: judge(task, play(suite, name, task, options), tool_format) for task in suite}


@pytest.mark.parametrize("tool_format", ["native", "prompt"])
def test_the_oracle_fails_only_where_nothing_can_pass(
    suite: Suite, judge: Judge, tool_format: str
) -> None:
    verdicts = rows(suite, judge, tool_format)
    failed = {id_ for id_, verdict in verdicts.items() if verdict.outcome == "incorrect"}
    if tool_format == "prompt":
        # written with Python's quotes, whose escapes the JavaScript reader keeps
        failed -= {"simple_javascript_5"}
    assert failed == set(errata.errata().unsatisfiable)
    assert len(verdicts) == 3641


def test_the_unnatural_answer_passes_and_the_natural_one_fails(
    tasks: dict[str, Task], judge: Judge
) -> None:
    for id_ in errata.errata().unreasonable:
        name, given = bfcl_controls.expected_calls(tasks[id_])[0]
        assert "" in given.values()
        natural = {key: value or "New York" for key, value in given.items()}
        call = bfcl_controls._make_call(name, natural)
        assert judge(tasks[id_], Reply(calls=(call,))).outcome == "incorrect"


@pytest.mark.parametrize("tool_format", ["native", "prompt"])
def test_a_null_agent_passes_irrelevance_alone(
    suite: Suite, judge: Judge, tool_format: str
) -> None:
    for task in suite:
        verdict = judge(task, Reply(), tool_format)
        assert (verdict.outcome == "correct") == ("irrelevance" in task.category)


def test_an_agent_that_always_calls_fails_all_irrelevance(suite: Suite, judge: Judge) -> None:
    call = Call(name="anything", arguments="{}")
    for task in suite:
        if task.data is None:
            verdict = judge(task, Reply(calls=(call,)))
            assert (verdict.outcome == "correct") == (task.category == "live_relevance")


@pytest.mark.parametrize("tool_format", ["native", "prompt"])
@pytest.mark.parametrize("fault", list(bfcl_controls.FAULT_MAKERS))
def test_an_injected_fault_is_labelled_as_itself(
    suite: Suite, judge: Judge, fault: str, tool_format: str
) -> None:
    verdicts = rows(suite, judge, tool_format, **{"class": fault, "rate": "1"})
    causes: Counter[str] = Counter()
    for id_, verdict in verdicts.items():
        foreign = (
            id_.startswith(official_data.NON_PYTHON) and tool_format == "prompt"
        )  # no Python text
        if id_ not in errata.errata().unsatisfiable and not foreign:
            assert sum(label.primary for label in verdict.labels) == len(verdict.labels)
            causes[verdict.labels[0].cause if verdict.labels else "none"] += 1
    assert set(causes) <= {fault, "none"}
    assert causes[fault] > 2_000


def test_the_rate_is_the_share_of_faults(suite: Suite, judge: Judge) -> None:
    verdicts = rows(suite, judge, "native", **{"class": "wrong_value", "rate": "0.2"})
    possible = rows(suite, judge, "native", **{"class": "wrong_value", "rate": "1"})
    capable = [
        id_
        for id_, verdict in possible.items()
        if verdict.outcome == "incorrect" and id_ not in errata.errata().unsatisfiable
    ]
    share = sum(verdicts[id_].outcome == "incorrect" for id_ in capable) / len(capable)
    assert abs(share - 0.2) < 2.6 * sqrt(0.2 * 0.8 / len(capable))


@pytest.mark.parametrize(
    ("options", "named"),
    [({}, "class"), ({"class": "wrong_valu"}, "'wrong_valu'"),
     ({"class": "format", "rate": "2"}, "rate"), ({"class": "format", "rate": "x"}, "rate")],
)  # fmt: skip
def test_unknown_faults_and_rates_are_refused(
    suite: Suite, tasks: dict[str, Task], options: dict[str, str], named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        suite.controls["faulty"](tasks["simple_python_0"], 0, options)


def test_a_control_is_a_model(suite: Suite, tasks: dict[str, Task]) -> None:
    reply = play(suite, "faulty", tasks["simple_python_0"], {"class": "format", "loop": "yes"})
    assert reply.calls


def test_the_lexical_baseline_is_a_floor_above_nothing(suite: Suite, judge: Judge) -> None:
    model = LexicalMatcher()

    async def share(*categories: str) -> float:
        asked = [task for task in suite if task.category in categories]
        right = 0
        for task in asked:
            reply = await model(Request(messages=task.turns[0].messages, tools=task.tools))
            right += judge(task, reply).outcome == "correct"
        return right / len(asked)

    assert 0.2 < asyncio.run(share("simple_python", "multiple")) < 0.9
    assert 0.7 < asyncio.run(share("irrelevance")) < 1.0
