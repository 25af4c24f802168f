"""Laws of calls against a row: order, alternatives, defaults, what is ignored, what is labelled."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Reply, Result, Step, Task, Tool, Trajectory, Verdict
from toolmark.scoring.episode import Episode
from toolmark.scoring.expected_calls import MatchCalls

NUMBER = {"type": "number"}
PAY = Tool(
    name="pay",
    parameters={
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "sum": NUMBER,
            "note": {"type": "string"},
            "urgent": {"type": "boolean", "default": False},
            "parts": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["to"],
    },
)
LOOK = Tool(name="look", parameters={"type": "object", "properties": {}}, read_only=True)
Made = tuple[str, dict[str, Any]]


def judge(made: list[Made], data: dict[str, Any], scorer: MatchCalls | None = None) -> Verdict:
    calls = tuple(Call(name=name, arguments=json.dumps(each)) for name, each in made)
    step = Step(reply=Reply(calls=calls), calls=calls, results=(Result(),) * len(calls))
    task = Task(id="t", turns=(), tools=(PAY, LOOK), data=data)
    return (scorer or MatchCalls())(Episode(task, Trajectory(task="t", steps=(step,))))


def wanted(*calls: Made, **further: Any) -> dict[str, Any]:
    return {"expected": [{"name": n, "arguments": a} for n, a in calls], **further}


def cause(verdict: Verdict) -> str:
    return next((label.cause for label in verdict.labels if label.primary), "")


payments = st.fixed_dictionaries(
    {"to": st.sampled_from(["Ann", "Bob", "Cy"])},
    optional={
        "sum": st.integers(0, 3) | st.sampled_from([0.5, 1.5]),
        "parts": st.lists(st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)), max_size=2),
    },
)
made_calls = st.lists(st.tuples(st.just("pay"), payments), max_size=4)


@given(made_calls)
def test_the_expected_calls_are_right_in_any_order_and_strictly_in_their_own(
    calls: list[Made],
) -> None:
    strict = MatchCalls(order="strict")
    assert judge(calls, wanted(*calls), strict).outcome == "correct"
    for order in permutations(calls):
        assert judge([*order], wanted(*calls)).outcome == "correct"


@given(made_calls, made_calls)
def test_free_order_accepts_what_strict_order_accepts(one: list[Made], other: list[Made]) -> None:
    if judge(one, wanted(*other), MatchCalls(order="strict")).outcome == "correct":
        assert judge(one, wanted(*other)).outcome == "correct"


@given(made_calls, made_calls)
def test_different_numbers_of_calls_never_match_and_say_so(
    one: list[Made], other: list[Made]
) -> None:
    found = judge(one, wanted(*other))
    if len(one) != len(other):
        assert found.outcome == "incorrect"
        assert cause(found) == ("missing_call" if len(one) < len(other) else "extra_call")


@given(made_calls, made_calls)
def test_an_alternative_is_as_right_as_the_expected_calls(
    one: list[Made], other: list[Made]
) -> None:
    row = wanted(*one) | {"alternatives": [wanted(*other)["expected"]]}
    assert judge(one, row).outcome == judge(other, row).outcome == "correct"


@pytest.mark.parametrize(
    ("made", "right", "expected"),
    [
        (("pay", {"to": "Ann"}), ("pay", {"to": "Bob"}), "wrong_value"),
        (("look", {}), ("pay", {"to": "Bob"}), "wrong_tool"),
        (("give", {}), ("pay", {"to": "Bob"}), "unknown_tool"),
        (("pay", {}), ("pay", {"to": "Bob"}), "missing_argument"),
        (("pay", {"to": "A", "sum": "3"}), ("pay", {"to": "A", "sum": 3}), "wrong_type"),
        (("pay", {"to": "A", "note": "x"}), ("pay", {"to": "A"}), "unexpected_argument"),
    ],
)
def test_what_is_wrong_is_the_cause(made: Made, right: Made, expected: str) -> None:
    assert cause(judge([made], wanted(right))) == expected


def test_a_default_may_be_given_or_left_out() -> None:
    row = wanted(("pay", {"to": "Ann"}))
    assert judge([("pay", {"to": "Ann", "urgent": False})], row).outcome == "correct"
    assert judge([("pay", {"to": "Ann", "urgent": True})], row).outcome == "incorrect"
    row = wanted(("pay", {"to": "Ann", "urgent": False}))
    assert judge([("pay", {"to": "Ann"})], row).outcome == "correct"


@pytest.mark.parametrize("name", ["note", "pay.note"])
def test_an_ignored_argument_never_counts(name: str) -> None:
    row = wanted(("pay", {"to": "Ann", "note": "rent"}), ignore=[name])
    for note in ({}, {"note": "other"}, {"note": "rent"}):
        assert judge([("pay", {"to": "Ann", **note})], row).outcome == "correct"
    plain = wanted(("pay", {"to": "Ann", "note": "rent"}))
    ignoring = MatchCalls(ignore=(name,))
    assert judge([("pay", {"to": "Ann", "note": "x"})], plain, ignoring).outcome == "correct"
    assert judge([("pay", {"to": "Ann", "note": "x"})], plain).outcome == "incorrect"


def test_accepted_values_are_each_right_and_the_empty_text_lets_an_argument_be_left_out() -> None:
    row = {"expected": [{"name": "pay", "accepted": {"to": ["Ann", "Anna"], "sum": [1, ""]}}]}
    for right in ({"to": "Ann"}, {"to": "anna", "sum": 1}):
        assert judge([("pay", right)], row).outcome == "correct"
    for wrong in ({"to": "Bob"}, {"to": "Ann", "sum": 2}):
        assert judge([("pay", wrong)], row).outcome == "incorrect"


def test_reads_pass_only_where_they_are_allowed() -> None:
    row = wanted(("pay", {"to": "Ann"}))
    made: list[Made] = [("look", {}), ("pay", {"to": "Ann"}), ("look", {})]
    assert cause(judge(made, row)) == "extra_call"
    assert judge(made, row, MatchCalls(extra_reads=True)).outcome == "correct"


@pytest.mark.parametrize(
    ("must_call", "made", "right"),
    [(True, [("look", {})], True), (True, [], False), (True, [("give", {})], False),
     (False, [], True), (False, [("look", {})], False)],
)  # fmt: skip
def test_whether_to_call_can_be_all_that_is_expected(
    must_call: bool, made: list[Made], right: bool
) -> None:
    assert (judge(made, {"must_call": must_call}).outcome == "correct") is right


def test_a_comparator_decides_for_its_argument_alone() -> None:
    row = wanted(("pay", {"to": "2026-03-05", "sum": 3}), compare={"to": "date"})
    assert judge([("pay", {"to": "5 March 2026", "sum": 3})], row).outcome == "correct"
    assert cause(judge([("pay", {"to": "6 March 2026", "sum": 3})], row)) == "wrong_value"
    assert cause(judge([("pay", {"to": "5 March 2026", "sum": 4})], row)) == "wrong_value"
    close = {"pay.sum": {"number": {"tolerance": 0.1}}}
    row = wanted(("pay", {"to": "Ann", "sum": 3}), compare=close)
    assert judge([("pay", {"to": "Ann", "sum": 3.05})], row).outcome == "correct"


def test_settings_are_part_of_the_identity_and_a_wrong_order_is_refused() -> None:
    assert MatchCalls().settings() != MatchCalls(order="strict").settings()
    assert MatchCalls().settings() != MatchCalls(ignore=("a",)).settings()
    wrong: Any = "any"
    with pytest.raises(UsageError):
        MatchCalls(order=wrong)
