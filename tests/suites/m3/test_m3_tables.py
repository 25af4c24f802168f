"""The tables of a run: what is pooled, by kind, by tool, and how wide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from toolmark.core.records import Score, Table, Verdict
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.m3 import m3_tables
from toolmark.suites.m3.call_outcomes import OUTCOME_DESCRIPTIONS
from toolmark.suites.m3.m3_tables import ALIGNMENT_MEASURES, AVERAGE_LABELS, TOOL_PREFIX


def scored(kind: str, value: float, **more: float) -> Verdict:
    six = dict.fromkeys(ALIGNMENT_MEASURES, value)
    parts = {**six, "avg6": value, "alignment": value, "n_truth": 2.0, "n_made": 2.0,
             "n_matched": 2 * value, "outcome:success": 2.0, **more}  # fmt: skip
    return Verdict(outcome="correct" if value == 1 else "incorrect", value=value, parts=parts)


def rows(given: Sequence[tuple[str, Verdict]]) -> Columns:
    return gather_columns(
        [
            Score(task=f"{kind}-{i}", item=f"{kind}-{i}", category=kind,
                  verdicts={"official": verdict}, axes={"hops": str(1 + i % 2)})
            for i, (kind, verdict) in enumerate(given)
        ],
        "official",
    )  # fmt: skip


def tabled(found: Columns) -> dict[str, Table]:
    made = m3_tables.make_tables({"official": found})
    return {table.title: table for table in made if isinstance(table, Table)}


WITH_STATE: tuple[tuple[str, Verdict], ...] = (
    ("ledger", scored("ledger", 1.0, success=1.0)),
    ("ledger", scored("ledger", 0.0, success=0.0)),
    ("clock", scored("clock", 1.0, success=1.0)),
)


def test_success_is_reported_by_kind_of_task() -> None:
    found = rows(WITH_STATE)
    measured = {metric.name: metric for metric in m3_tables.list_metrics(found)}
    assert measured["success/ledger"].measure(found).value == 0.5
    assert measured["success/clock"].measure(found).value == 1.0
    assert measured["success/clock"].title == "success, clock"
    table = tabled(found)["Success by kind of task"]
    assert table.head[:3] == ("kind of task", "episodes", "success [95 % interval]")
    assert [row[:2] for row in table.rows] == [("ledger", 2), ("clock", 1)]
    assert str(table.rows[0][2]).startswith("50.0")


def test_without_a_state_alignment_is_reported_by_kind_and_no_success() -> None:
    found = rows([("a", scored("a", 0.5)), ("b", scored("b", 1.0))])
    assert not any("success" in metric.name for metric in m3_tables.list_metrics(found))
    assert "Alignment by kind of task" in tabled(found)


def test_calls_are_reported_by_server_and_tool() -> None:
    found = rows([
        ("a", scored("a", 1.0, **{f"{TOOL_PREFIX}success:ocr/read": 2.0})),
        ("a", scored("a", 0.0, **{f"{TOOL_PREFIX}success:ocr/read": 1.0,
                                  f"{TOOL_PREFIX}not_found:db/get:x": 1.0})),
    ])  # fmt: skip
    table = tabled(found)["Calls by server and tool"]
    assert table.head == ("server", "tool", "calls", "not found", "success")
    assert table.rows == (("db", "get:x", 1, 1, 0), ("ocr", "read", 3, 0, 3))
    assert "Calls by server and tool" not in tabled(rows([("a", scored("a", 1.0))]))


def test_measures_have_plain_names_and_say_what_they_count() -> None:
    parts = m3_tables.list_metrics(rows(WITH_STATE))
    assert all(metric.title for metric in parts[1:]) and all(metric.unit for metric in parts)
    units = {metric.name: metric.unit for metric in parts}
    assert (units["recall"], units["precision"]) == ("reference calls", "calls made")
    assert {metric.name for metric in parts} >= {*ALIGNMENT_MEASURES, "avg6"}, (
        "files keep their names"
    )


def test_the_numbers_of_the_headline_are_on_a_page_once() -> None:
    found = rows(WITH_STATE)
    own = tabled(found)["Alignment with the reference trajectories"]
    known = {(m.title, x.value, x.low, x.high)
             for m in m3_tables.list_metrics(found) for x in [m.measure(found)]}  # fmt: skip
    assert own.head[2:4] == ("low", "high"), "what a page takes for a repetition"
    assert {row[:4] for row in own.rows} <= known


@pytest.mark.parametrize("n", [1, 2, 5])
def test_outcomes_take_one_column_for_each_run(n: int) -> None:
    runs: dict[str, Any] = {f"run {i}": rows(WITH_STATE) for i in range(n)}
    table = m3_tables._outcome_table(runs)
    assert len(table.head) == 1 + n
    reported = dict((row[0], row[1]) for row in table.rows)
    assert reported[OUTCOME_DESCRIPTIONS["success"]] == "6 (100.0\u00a0%)"


def test_averages_stand_only_where_they_are_known() -> None:
    found = rows(WITH_STATE)
    assert "avg7" not in {metric.name for metric in m3_tables.list_metrics(found)}
    judged = rows([("a", scored("a", 0.5, information_grounding=0.9, avg7=0.55))])
    value = m3_tables.pooled_measure(judged, "avg7").value
    assert value is not None and math.isclose(value, (6 * 0.5 + 0.9) / 7)
    assert {m.title for m in m3_tables.list_metrics(judged)} >= {AVERAGE_LABELS["avg7"]}
