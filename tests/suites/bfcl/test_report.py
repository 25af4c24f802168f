"""The leaderboard's aggregates over what ran, and the tables."""

from __future__ import annotations

import pytest

from toolmark.stats.columns import Columns, columns
from toolmark.suites.bfcl import report
from toolmark.types import Call, Estimate, Label, Reply, Score, Step, Task, Trajectory, Verdict

WRONG = Label(cause="wrong_value", native="value_error:others", evidence="e", primary=True)


def made(**shares: tuple[int, int]) -> Columns:
    """Return columns with k of n right per category."""
    scores = []
    for category, (k, n) in shares.items():
        for i in range(n):
            right = i < k
            verdict = Verdict(
                outcome="correct" if right else "incorrect",
                value=float(right),
                labels=() if right else (WRONG,),
            )
            id_ = f"{category}_{i}"
            readings = {"official": verdict}
            scores.append(Score(task=id_, item=id_, category=category, readings=readings))
    return columns(scores, "official")


def measured(cols: Columns) -> dict[str, Estimate]:
    return {metric.name: metric.measure(cols) for metric in report.metrics(cols)}


def test_non_live_counts_categories_alike_and_live_counts_entries() -> None:
    found = measured(
        made(simple_python=(40, 40), multiple=(0, 10), live_simple=(10, 10), live_multiple=(0, 30))
    )
    assert next(iter(found)) == "accuracy"
    assert found["accuracy"].value == pytest.approx(50 / 90)
    assert found["non_live"].value == pytest.approx(0.5)
    assert found["live"].value == pytest.approx(0.25)
    assert found["multiple"].value == 0.0
    assert "irrelevance_detection" not in found


def test_an_aggregate_lies_within_its_interval_and_narrows_with_more_entries() -> None:
    widths = []
    for n in (10, 1000):
        even = measured(made(irrelevance=(n // 2, n), live_irrelevance=(n // 5, n)))
        part = even["irrelevance_detection"]
        assert part.value == pytest.approx(0.35)
        assert part.low is not None and part.high is not None
        assert 0 <= part.low < 0.35 < part.high <= 1
        assert part.n == 2 * n
        widths.append(part.high - part.low)
    assert widths[1] < widths[0] / 5


def test_nothing_run_has_no_value() -> None:
    cols = columns([Score(task="t", item="t", category="multiple", not_run="dead")], "official")
    assert measured(cols)["accuracy"].value is None
    assert report.even("x", []).value is None
    assert [type(table).__name__ for table in report.tables({"official": cols})] == ["Table"]


def test_tables_count_every_failure_once() -> None:
    accuracy, errors = report.tables({"official": made(multiple=(1, 3), irrelevance=(2, 4))})
    assert [row[0] for row in accuracy.rows] == ["accuracy", "multiple", "irrelevance"]  # type: ignore[union-attr]
    assert errors.rows == (("wrong_value", "value_error:others", 2, 2, 4),)  # type: ignore[union-attr]


def test_the_listing_shows_what_was_made_beside_what_is_accepted(tasks: dict[str, Task]) -> None:
    task = tasks["simple_python_0"]
    call = Call(name="calculate_triangle_area", arguments='{"base": 10, "hight": 5}')
    step = Step(reply=Reply(calls=(call,)))
    (table,) = report.views(task, Trajectory(task=task.id, steps=(step,)))
    cells = {row[2]: row[3:] for row in table.rows}
    assert cells["base"] == ("10", "10")
    assert cells["height"] == (None, "5")
    assert cells["hight"] == ("5", None)
    (empty,) = report.views(tasks["irrelevance_0"], Trajectory(task="irrelevance_0"))
    assert empty.rows == () and empty.note == "nothing was called"
