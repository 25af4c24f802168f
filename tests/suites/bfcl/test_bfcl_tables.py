"""The tables, and the listing of calls beside the truth."""

from __future__ import annotations

from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Call, Label, Reply, Score, Step, Table, Task, Trajectory, Verdict
from toolmark.official_bfcl import official_data
from toolmark.scoring.episode import Episode
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.bfcl import bfcl_tables

WRONG = Label(cause="wrong_value", suite_cause="value_error:others", evidence="e", primary=True)


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
            scores.append(Score(task=id_, item=id_, category=category, verdicts=readings))
    return gather_columns(scores, "official")


def test_nothing_run_has_no_value() -> None:
    cols = gather_columns(
        [Score(task="t", item="t", category="multiple", failure=NOT_REACHED)], "official"
    )
    accuracy, *_ = bfcl_tables.report_tables({"official": cols})
    assert isinstance(accuracy, Table) and accuracy.rows == ()
    assert [type(table).__name__ for table in bfcl_tables.report_tables({"official": cols})] == [
        "Table"
    ]


def test_tables_count_every_failure_once() -> None:
    accuracy, errors = bfcl_tables.report_tables(
        {"official": made(multiple=(1, 3), irrelevance=(2, 4))}
    )
    shown = [row[0] for row in accuracy.rows]  # type: ignore[union-attr]
    assert shown[:3] == ["accuracy", "multiple", "irrelevance"]
    assert shown[3:] == []
    assert isinstance(accuracy, Table)
    assert accuracy.note.endswith("No result: 20 of 22 categories.")
    assert errors.rows == (("wrong_value", "value_error:others", 2, 2, 4),)  # type: ignore[union-attr]


def test_only_whole_groups_have_a_number() -> None:
    live = {"live_simple": (1, 2), "live_multiple": (1, 2), "live_parallel": (1, 2)}
    whole, *_ = bfcl_tables.report_tables({"official": made(**live, live_parallel_multiple=(1, 2))})
    part, *_ = bfcl_tables.report_tables({"official": made(**live)})
    assert isinstance(whole, Table) and isinstance(part, Table)
    assert "live" in [row[0] for row in whole.rows]
    assert "live" not in [row[0] for row in part.rows]
    assert "Groups are weighted" in whole.note and "Groups are weighted" not in part.note


def test_few_missing_categories_are_named() -> None:
    ran = {
        name: (1, 2) for name in official_data.category_sizes() if not name.startswith("web_search")
    }
    accuracy, *_ = bfcl_tables.report_tables({"official": made(**ran)})
    assert isinstance(accuracy, Table)
    assert accuracy.note.endswith("No result: web_search_base, web_search_no_snippet.")


def test_the_listing_shows_what_was_made_next_to_what_is_accepted(tasks: dict[str, Task]) -> None:
    task = tasks["simple_python_0"]
    call = Call(name="calculate_triangle_area", arguments='{"base": 10, "hight": 5}')
    step = Step(reply=Reply(calls=(call,)))
    (table,) = bfcl_tables.episode_tables(Episode(task, Trajectory(task=task.id, steps=(step,))))
    cells = {row[2]: row[3:] for row in table.rows}
    assert cells["base"] == ("10", "10")
    assert cells["height"] == (None, "5")
    assert cells["hight"] == ("5", None)
    (empty,) = bfcl_tables.episode_tables(
        Episode(tasks["irrelevance_0"], Trajectory(task="irrelevance_0"))
    )
    assert empty.rows == () and empty.note == "nothing was called"
