"""Gates on a score and on a comparison: which numbers pass, and what the one line says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.made_runs import Maker

from toolmark.core.errors import UsageError
from toolmark.core.records import Estimate
from toolmark.reports import gates, run_comparison
from toolmark.reports.comparison_report import Comparison
from toolmark.reports.gates import ScoreLimits
from toolmark.statistics.paired_comparison import PairedComparison


def headline(value: float | None, low: float | None = None, **more: Any) -> dict[str, Any]:
    high = None if value is None or low is None else min(1.0, 2 * value - low)
    return {"name": "s", "value": value, "low": low, "high": high, "n": 20, **more}


@pytest.mark.parametrize(
    ("text", "share"),
    [("0.85", 0.85), ("85%", 0.85), (" 85 % ", 0.85), ("1", 1.0), ("100%", 1.0), ("0", 0.0)],
)
def test_a_share_is_written_as_a_number_or_in_per_cent(text: str, share: float) -> None:
    assert gates.parse_share("fail-under", text) == share


@pytest.mark.parametrize("text", ["85", "1.01", "-0.1", "101%", "", "%", "85%%", "nan", "inf", "x"])
def test_anything_else_is_refused_by_the_name_of_its_flag(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--fail-under-low "):
        gates.parse_share("fail-under-low", text)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_value_passes_exactly_from_its_limit_on(value: float, limit: float) -> None:
    (gate,) = gates.check_score_limits(ScoreLimits(value=limit), headline(value, 0.0))
    assert gate.passed == (value >= limit) == (not gate.reason)


def test_each_limit_is_compared_with_its_own_number() -> None:
    found = gates.check_score_limits(ScoreLimits(value=0.8, low=0.8), headline(0.9, 0.7))
    assert [(gate.name, gate.passed) for gate in found] == [
        ("fail-under", True), ("fail-under-low", False)
    ]  # fmt: skip
    assert "70.0 %" in found[1].summary and "80 %" in found[1].summary
    assert gates.failed_gates_text(found) == found[1].summary


@pytest.mark.parametrize(
    "head",
    [headline(None), headline(0.9, 0.85, partial="1 of 3 categories run"), headline(0.9)],
    ids=["no score", "partial", "no interval"],
)
def test_what_is_no_number_passes_no_gate(head: dict[str, Any]) -> None:
    assert not gates.check_score_limits(ScoreLimits(low=0.0), head)[0].passed
    assert gates.check_score_limits(ScoreLimits(), head) == ()


@given(st.integers(1, 1000), st.floats(1e-9, 1))
def test_a_number_that_is_too_low_is_printed_as_one_that_is(thousandths: int, less: float) -> None:
    limit = thousandths / 1000
    value = max(0.0, limit - less)
    (gate,) = gates.check_score_limits(ScoreLimits(value=limit), headline(value))
    *_, shown = re.findall(r"([\d.]+) %", gate.reason)
    assert float(shown) < float(gate.limit.removesuffix(" %")) == pytest.approx(100 * limit)


def compared(
    value: float | None, low: float, high: float, p: float | None, **more: Any
) -> Comparison:
    estimate = Estimate(name="A - B", value=value, low=low, high=high)
    paired = PairedComparison(difference=estimate, p=p, value_a=0.9, value_b=0.8)
    score = Estimate(name="s", value=0.9)
    return Comparison(a="a", b="b", rule="r", score_a=score, score_b=score, paired=paired, **more)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (compared(0.1, 0.02, 0.18, 0.01), "worse"),
        (compared(-0.1, -0.18, -0.02, 0.01), "better"),
        (compared(0.0, -0.015, 0.015, 0.9), "equal"),
        (compared(0.0, -0.015, 0.03, 0.9), "undecided"),
        (compared(0.1, -0.02, 0.22, 0.06), "undecided"),
        (compared(0.1, 0.02, 0.18, None), "undecided"),
        (compared(None, 0.0, 0.0, None), "undecided"),
        (compared(0.1, 0.02, 0.18, 0.01, p_adjusted=0.2, n_compared=20), "undecided"),
    ],
)
def test_a_comparison_has_one_outcome(found: Comparison, outcome: str) -> None:
    assert gates.comparison_outcome(found, 0.02) == outcome
    failing = {
        "worse": {"worse", "changed"}, "better": {"changed"}, "equal": set(),
        "undecided": {"undecided"},
    }  # fmt: skip
    for condition in ("worse", "changed", "undecided"):
        gate = gates.check_comparison(found, gates.parse_conditions(condition), 0.02)
        assert gate.passed == (condition not in failing[outcome])
        assert "\n" not in gate.summary


def test_a_wider_margin_decides_more() -> None:
    found = compared(0.0, -0.04, 0.05, 0.9)
    assert [gates.comparison_outcome(found, margin) for margin in (0.0, 0.04, 0.05)] == [
        "undecided", "undecided", "equal"
    ]  # fmt: skip


def test_swapped_runs_have_the_opposite_outcome(make_run: Maker) -> None:
    a, b = make_run(n=60, luck=90), make_run(n=60, luck=20, model="test/other")
    there, back = run_comparison.compare_runs(a, b), run_comparison.compare_runs(b, a)
    assert gates.comparison_outcome(there) == "worse"
    assert gates.comparison_outcome(back) == "better"


@pytest.mark.parametrize("text", ["", ",", "better", "worse,changd"])
def test_only_known_conditions_are_taken(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-if"):
        gates.parse_conditions(text)


def test_conditions_are_a_set() -> None:
    assert gates.parse_conditions("undecided, worse,worse") == ("worse", "undecided")
