"""The scorer of answers: what is correct, why not, and what its identity counts."""

from __future__ import annotations

from typing import Any

import pytest

from toolmark.core.errors import UsageError
from toolmark.core.records import Task, Trajectory, Verdict
from toolmark.scoring.answer_scorer import AnswerMatches
from toolmark.scoring.comparators import Number
from toolmark.scoring.episode import Episode


def _episode(answer: str, **data: Any) -> Episode:
    task = Task(id="t", suite="s", turns=(), data=data)
    return Episode(task, Trajectory(task="t", answer=answer))


def _judge(scorer: AnswerMatches, answer: str, **data: Any) -> Verdict:
    return scorer(_episode(answer, **data))


@pytest.mark.parametrize(
    ("expected", "right", "wrong", "kind"),
    [
        (15, "It is fifteen.", "It is 16.", "number"),
        (True, "Yes.", "No.", "bool"),
        ("Paris", "It is Paris.", "It is not Paris.", "text"),
        (["a", "b"], "b and a", "a", "set"),
    ],
)
def test_the_type_chooses_and_the_evidence_says_which(
    expected: Any, right: str, wrong: str, kind: str
) -> None:
    scorer = AnswerMatches()
    assert _judge(scorer, right, expected=expected).outcome == "correct"
    verdict = _judge(scorer, wrong, expected=expected)
    assert (verdict.outcome, verdict.value) == ("incorrect", 0.0)
    assert kind in verdict.labels[0].evidence


def test_a_comparator_is_given_by_name_or_as_an_object() -> None:
    for comparator in ({"number": {"tolerance": 1}}, Number(tolerance=1)):
        scorer = AnswerMatches("total", comparator)
        assert _judge(scorer, "16", total=15).outcome == "correct"
        assert _judge(scorer, "17", total=15).outcome == "incorrect"


def test_one_of_several_accepted_values_is_enough() -> None:
    scorer = AnswerMatches(any_of=True)
    assert _judge(scorer, "Rome", expected=["Paris", "Rome"]).outcome == "correct"
    assert _judge(scorer, "Bonn", expected=["Paris", "Rome"]).outcome == "incorrect"


def test_no_answer_differs_from_a_wrong_one() -> None:
    assert _judge(AnswerMatches(), "", expected=1).labels[0].cause == "no_answer"
    assert _judge(AnswerMatches(), "2", expected=1).labels[0].cause == "wrong_answer"


def test_a_missing_field_is_a_fault_of_the_suite() -> None:
    with pytest.raises(UsageError, match="expected"):
        _judge(AnswerMatches("expcted"), "1", expected=1)
    with pytest.raises(UsageError):
        _judge(AnswerMatches(any_of=True), "1", expected=1)


def test_settings_tell_two_scorers_apart() -> None:
    one, two = (
        AnswerMatches(comparator="number"),
        AnswerMatches(comparator={"number": {"unit": "m"}}),
    )
    assert one.settings() != two.settings()
    assert one.settings() == AnswerMatches(comparator=Number()).settings()
    assert [*one.called_code()] == [Number()]
