"""Rows by level, tables by group, and comparisons with published figures."""

from __future__ import annotations

import numpy as np
import pytest

from toolmark.core.records import Score, Table, Verdict
from toolmark.statistics import group_tables, published_figures
from toolmark.statistics.score_columns import Columns, gather_columns, split_rows


def _columns(*rows: tuple[str, float | None]) -> Columns:
    scores = [
        Score(
            task=f"{i}",
            item=f"{i}",
            category=level,
            repeat=0,
            verdicts={
                "fair": Verdict(
                    outcome="correct", value=1.0, parts={} if part is None else {"steps": part}
                )
            },
        )
        for i, (level, part) in enumerate(rows)
    ]
    return gather_columns(scores, "fair")


def test_levels_are_split_in_the_known_order_and_rows_without_one_are_in_none() -> None:
    columns = _columns(("b", 1.0), ("c", 2.0), ("", 3.0), ("a", 4.0), ("c", 5.0))
    parts = split_rows(columns, columns.category, ("c", "unknown"))
    assert {name: part.part("steps").tolist() for name, part in parts.items()} == {
        "c": [2.0, 5.0], "a": [4.0], "b": [1.0],
    }  # fmt: skip
    assert list(parts) == ["c", "a", "b"]


def test_a_row_has_the_names_of_its_group_and_a_cell_for_each_head() -> None:
    columns = _columns(("a", 2.0), ("a", None), ("b", None))
    parts = split_rows(columns, columns.category)
    table = group_tables.group_table(
        "Steps",
        ("level", "number"),
        (((name, i), rows) for i, (name, rows) in enumerate(parts.items())),
        {"n": group_tables.count_run, "steps": group_tables.part_mean("steps")},
        "a note",
        n_shaded_columns=1,
    )
    assert table == Table(
        title="Steps",
        head=("level", "number", "n", "steps"),
        rows=(("a", 0, 2, 2.0), ("b", 1, 1, None)),
        note="a note",
        n_shaded_columns=1,
    )


def _comparison(*, ranked: bool) -> published_figures.PublishedComparison:
    return published_figures.PublishedComparison(
        title="Published",
        head=("steps",),
        measure_run=lambda columns: (group_tables.part_mean("steps")(columns),),
        read_published=lambda: {"low": (1.0,), "high": (9.0,)},
        note="",
        missing_note="No figures.",
        ranked=ranked,
    )


@pytest.mark.parametrize(
    "ranked, names",
    [
        (False, ["mine", "low (paper)", "high (paper)"]),
        (True, ["high (paper)", "mine", "low (paper)"]),
    ],
)
def test_runs_come_first_unless_rows_are_ranked(ranked: bool, names: list[str]) -> None:
    runs = {"mine": _columns(("a", 2.0)), "empty": _columns(("a", None))}
    (table,) = published_figures.compare_runs(_comparison(ranked=ranked), runs)
    assert [row[0] for row in table.rows] == names and table.n_shaded_columns == 1


def test_a_comparison_follows_the_first_table_or_leaves_its_note_there() -> None:
    first, last = (Table(title=name, head=("x",), rows=(), note="As run.") for name in "ab")
    comparison = _comparison(ranked=False)
    insert = published_figures.insert_comparison
    runs = {"mine": _columns(("a", 2.0))}
    titles = [each.title for each in insert(comparison, [first, last], runs)]
    assert titles == ["a", "Published", "b"]
    titles = [each.title for each in insert(comparison, [first, last], runs, "b")]
    assert titles == ["a", "b", "Published"]
    noted, other = insert(comparison, [first, last], {"mine": _columns(("a", None))})
    assert isinstance(noted, Table) and noted.note == "As run. No figures." and other == last
    assert insert(comparison, [], runs) == []
    assert np.isnan(_columns(("a", None)).part("steps")).all()
