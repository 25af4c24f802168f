"""The tables, and the listing of calls beside the truth."""

from __future__ import annotations

from toolmark.stats.columns import Columns, columns
from toolmark.suites.bfcl import report
from toolmark.types import Call, Label, Reply, Score, Step, Table, Task, Trajectory, Verdict

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


def test_nothing_run_has_no_value() -> None:
    cols = columns([Score(task="t", item="t", category="multiple", not_run="dead")], "official")
    accuracy, *_ = report.tables({"official": cols})
    assert isinstance(accuracy, Table) and accuracy.rows == ()
    assert [type(table).__name__ for table in report.tables({"official": cols})] == ["Table"]


def test_tables_count_every_failure_once() -> None:
    accuracy, errors = report.tables({"official": made(multiple=(1, 3), irrelevance=(2, 4))})
    shown = [row[0] for row in accuracy.rows]  # type: ignore[union-attr]
    assert shown[:3] == ["accuracy", "multiple", "irrelevance"]
    assert shown[3:] == ["non_live", "irrelevance_detection", "overall"]
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
