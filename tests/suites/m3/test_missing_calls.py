"""What was never done is worth nothing where a reading says so, and nothing else counts unrun."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from toolmark.core.errors import DataError
from toolmark.core.records import (
    Attempt,
    Call,
    Reply,
    Result,
    Score,
    Step,
    Task,
    Text,
    Trajectory,
    Usage,
)
from toolmark.scoring import alignment
from toolmark.scoring.episode import Episode
from toolmark.statistics.score_columns import gather_columns
from toolmark.suites.m3 import m3_scoring, m3_tables

LACKS = Attempt(task="t", repeat=0, failure=m3_scoring.NO_PREDICTION)
OK = Result(parts=(Text("fine"),))
RIGHT = ({"name": "a/get", "arguments": {"x": 1}}, {"name": "b/put", "arguments": {"y": 2}})
WRONG = {"name": "a/get", "arguments": {"x": 7}}


def task(**more: Any) -> Task:
    steps = [{"calls": [call]} for call in RIGHT]
    reference = {"steps": steps, "answer": "", "similarity": "exact", **more}
    return Task(id="t", suite="m3", turns=(), data=reference)


def played(*steps: Sequence[dict[str, Any]], answer: str = "", **more: Any) -> Trajectory:
    made = [
        Step(
            reply=Reply(),
            calls=tuple(
                Call(name=call["name"], arguments=json.dumps(call["arguments"])) for call in calls
            ),
            results=(OK,) * len(calls),
        )
        for calls in steps
    ]
    return Trajectory(task="t", steps=tuple(made), answer=answer, **more)


def test_a_reference_without_calls_is_not_judged() -> None:
    with pytest.raises(DataError, match="'t'"):
        m3_scoring.score_episode(Episode(task(steps=[]), played()))
    m3_scoring.score_episode(Episode(task(steps=[], answers=["yes"]), played(answer="yes")))


def test_only_what_was_counted_is_reported() -> None:
    bare = m3_scoring.score_episode(Episode(task(), played(RIGHT)))["official"].parts
    assert not {"tokens_in", "tokens_out", "latency_s"} & bare.keys()
    usage = Usage(input=7)
    counted = m3_scoring.score_episode(Episode(task(), played(RIGHT, usage=usage, latency_s=2.5)))[
        "official"
    ].parts
    assert [counted[name] for name in ("tokens_in", "tokens_out", "latency_s")] == [7, 0, 2.5]


def test_only_a_prediction_that_a_file_lacks_counts_without_having_been_run() -> None:
    (verdict,) = m3_scoring.score_missing_prediction(task(), LACKS).values()
    assert (verdict.outcome, verdict.value, verdict.parts["n_truth"]) == ("incorrect", 0, 2)
    for change in ({"stage": "model"}, {"kind": "torn"}):
        failure = structs.replace(m3_scoring.NO_PREDICTION, **change)
        assert not m3_scoring.score_missing_prediction(
            task(), structs.replace(LACKS, failure=failure)
        )
    silent = structs.replace(LACKS, failure=m3_scoring.NO_PREDICTION.cause)
    assert m3_scoring.score_missing_prediction(
        task(), silent
    ) == m3_scoring.score_missing_prediction(task(), LACKS)


EPISODES = st.lists(
    st.none() | st.lists(st.lists(st.sampled_from([*RIGHT, WRONG]), max_size=3), max_size=3),
    min_size=1,
    max_size=4,
)


@given(EPISODES)
def test_tables_pool_as_the_alignment_does(
    episodes: list[list[list[dict[str, Any]]] | None],
) -> None:
    """A run without any call has a precision of 0, not none; None is a missing prediction."""
    rows = []
    for number, steps in enumerate(episodes):
        lost, name = steps is None, str(number)
        found = (
            m3_scoring.score_missing_prediction(task(), LACKS)
            if lost
            else m3_scoring.score_episode(Episode(task(), played(*steps or ())))
        )
        rows.append(
            Score(task=name, item=name, verdicts=found, failure=LACKS.failure if lost else None)
        )
    for reading in m3_scoring.GRADING_RULES:
        samples = [
            alignment.align_trajectory(
                task().data["steps"],
                None if steps is None else m3_scoring.executed_calls(played(*steps), ()).steps,
                alignment.exact_similarity(),
                rule=reading,
            )
            for steps in episodes
        ]
        pooled, table = alignment.aggregate_alignments(samples), gather_columns(rows, reading)
        if table.run.any():
            reported = {
                name: m3_tables.pooled_measure(table, name).value
                for name in m3_tables.ALIGNMENT_MEASURES
            }
            assert reported == {
                name: pytest.approx(pooled[name]) for name in m3_tables.ALIGNMENT_MEASURES
            }
            mean = sum(pooled[name] for name in m3_tables.ALIGNMENT_MEASURES) / len(
                m3_tables.ALIGNMENT_MEASURES
            )
            assert m3_tables.pooled_measure(table, "avg6").value == pytest.approx(mean)


def test_a_missing_prediction_is_worth_nothing_to_judges_either() -> None:
    found = {
        name: structs.replace(verdict, parts={**verdict.parts, "information_grounding": 1.0})
        for name, verdict in m3_scoring.score_episode(Episode(task(), played(RIGHT))).items()
    }
    rows = [
        Score(task="1", item="1", verdicts=found),
        Score(
            task="2",
            item="2",
            verdicts=m3_scoring.score_missing_prediction(task(), LACKS),
            failure=LACKS.failure,
        ),
    ]
    reported = {
        name: m3_tables.pooled_measure(gather_columns(rows, name), "information_grounding").value
        for name in m3_scoring.GRADING_RULES
    }
    assert reported == {"official": 1, "paper": 1, "fair": 0.5}
