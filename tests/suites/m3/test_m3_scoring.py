"""The outcome decides where one is wanted, else the calls do; causes name what went wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from toolmark.core.records import Call, Reply, Result, Step, Task, Text, Tool, Trajectory
from toolmark.scoring.episode import Episode
from toolmark.suites.m3 import m3_scoring
from toolmark.suites.m3.m3_tables import TOOL_PREFIX, UNKNOWN_TOOL_LABEL

OK = Result(parts=(Text("fine"),))
BAD = Result(parts=(Text("Error: no such thing"),), is_error=True)
TOOLS = (Tool(name="a/get", parameters={"type": "object"}), Tool(name="b/put"))


def call(name: str, **given: Any) -> Call:
    return Call(name=name, arguments=json.dumps(given))


def task(**more: Any) -> Task:
    steps = [
        {"calls": [{"name": "a/get", "arguments": {"x": 1}}]},
        {"calls": [{"name": "b/put", "arguments": {"y": 2}}]},
    ]
    reference = {"steps": steps, "answer": "", "similarity": "exact", **more}
    return Task(id="t", item="t", suite="m3", turns=(), tools=TOOLS, data=reference)


RIGHT = ((call("a/get", x=1),), (call("b/put", y=2),))


def played(
    *steps: Sequence[Call], answer: str = "", results: Sequence[Result] = (), **more: Any
) -> Trajectory:
    given = iter(results)
    made = [
        Step(reply=Reply(), calls=tuple(calls), results=tuple(next(given, OK) for _ in calls))
        for calls in steps
    ]
    return Trajectory(
        task="t", steps=(*made, Step(reply=Reply(text=answer))), answer=answer, **more
    )


def causes(task: Task, trajectory: Trajectory, reading: str = "official") -> list[str]:
    verdict = m3_scoring.score_episode(Episode(task, trajectory))[reading]
    assert [label.primary for label in verdict.labels].count(True) == (
        verdict.outcome == "incorrect"
    )
    return [label.cause for label in verdict.labels]


def test_every_call_of_the_reference_makes_it_correct() -> None:
    for reading, verdict in m3_scoring.score_episode(Episode(task(), played(*RIGHT))).items():
        assert verdict.outcome == "correct" and not verdict.labels, reading
        assert verdict.value == pytest.approx(1)
        assert verdict.parts["n_matched"] == verdict.parts["n_truth"] == 2


def test_silence_is_wrong_by_every_rule_and_worth_nothing() -> None:
    for verdict in m3_scoring.score_episode(Episode(task(), played())).values():
        assert (verdict.outcome, verdict.value) == ("incorrect", 0)
        assert {label.cause for label in verdict.labels} == {"missing_call"}


def test_each_fault_has_its_cause() -> None:
    wrong = ((call("a/get", x=7),), RIGHT[1])
    assert causes(task(), played(*wrong)) == ["wrong_value"]
    unknown = played((call("a/gone", x=1),), RIGHT[1], results=(BAD,))
    assert causes(task(), unknown) == ["missing_call", "unknown_tool"]
    unread = structs.replace(
        played(*RIGHT[1:]), steps=(Step(reply=Reply(), fault="no JSON"), *played(RIGHT[1]).steps)
    )
    assert causes(task(), unread) == ["missing_call", "format"]
    assert causes(task(), played(*RIGHT[:1], ending="steps"))[0] == "over_limit"


def test_a_failed_call_matches_officially_and_not_fairly() -> None:
    found = m3_scoring.score_episode(Episode(task(), played(*RIGHT, results=(BAD, OK))))
    assert found["official"].outcome == "correct"
    assert found["fair"].outcome == "incorrect"
    assert found["fair"].parts["recall"] == 0.5


def test_calls_that_were_never_executed_are_no_calls() -> None:
    cut = Step(reply=Reply(), calls=(*RIGHT[0], *RIGHT[1]), results=(OK,))
    found = m3_scoring.score_episode(
        Episode(task(), Trajectory(task="t", steps=(cut,), ending="calls"))
    )["official"]
    assert (found.parts["n_made"], found.parts["outcome:not_executed"]) == (1, 1)


def test_state_and_answer_decide_where_they_are_wanted() -> None:
    wanted = task(expected_state={"a.txt": {"text": "hello"}}, answers=["forty-two"])
    state = {"a.txt": {"text": "hello"}}
    free = played((call("b/put", z=0),), answer="It is FORTY-TWO.", state=state)
    found = m3_scoring.score_episode(Episode(wanted, free))["official"]
    assert (found.outcome, found.value, found.parts["success"]) == ("correct", 1, 1)
    assert found.parts["recall"] == 0
    assert "state" in causes(wanted, played(*RIGHT, answer="forty-two", state={}))
    assert causes(wanted, played(*RIGHT, answer="no idea", state=state)) == ["wrong_answer"]
    part = task(answers=["42"])
    assert causes(part, played(*RIGHT, answer="It is 142 or 4.42.")) == ["wrong_answer"]
    assert causes(part, played(*RIGHT, answer="It is 42.")) == []
    assert causes(wanted, played(*RIGHT, state=state)) == ["no_answer"]


def test_what_decides_is_the_primary_cause() -> None:
    wanted = task(expected_state={"a.txt": {"text": "hello"}}, answers=["forty-two"])
    assert causes(wanted, played(answer="forty-two", state={}))[0] == "state"
    assert causes(wanted, played(state={"a.txt": {"text": "hello"}}))[0] == "no_answer"
    assert causes(wanted, played(ending="steps", state={}))[0] == "over_limit", "why it ended"


def test_calls_are_counted_by_tool_and_unknown_tools_together() -> None:
    made = played((call("a/get", x=1), call("b/put", x=9)), (call("a/get"), call("z/1")),
                  (call("z/2"),), results=(OK, OK, OK, BAD, BAD))  # fmt: skip
    parts = m3_scoring.score_episode(Episode(task(), made))["official"].parts
    assert {name: n for name, n in parts.items() if name.startswith(TOOL_PREFIX)} == {
        f"{TOOL_PREFIX}success:a/get": 2, f"{TOOL_PREFIX}success:b/put": 1,
        f"{TOOL_PREFIX}unknown_tool:{UNKNOWN_TOOL_LABEL}": 2,
    }  # fmt: skip


def test_similarity_is_what_the_encoder_says() -> None:
    def alike(one: Sequence[str], other: Sequence[str]) -> Any:
        return np.full((len(one), len(other)), 0.7)

    near = played((call("a/get", x=7),), (call("b/put", y=7),))
    found = m3_scoring.score_episode(Episode(task(), near), alike)["official"]
    assert found.outcome == "correct"
    assert found.parts["avg_sim_all_cov"] == pytest.approx(0.7, abs=1e-6)
