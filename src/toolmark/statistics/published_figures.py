"""Tables that compare your figures with published ones, and their place in a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from toolmark.core.records import Chart, Table
from toolmark.statistics.score_columns import Columns

THIS_RUN = "this run"


@dataclass(frozen=True, slots=True)
class PublishedComparison:
    """A table with a row of shares per run and per published model.

    `measure_run` returns a run's shares under `head`, None where it has no such number;
    `read_published` returns those of the published models. Runs come first; `ranked` sorts all rows
    by their first share instead, the greatest first. `missing_note` is shown where no run has a
    number. With `stands_apart` the table has the published models alone: they were asked other
    tasks, so that no row of a run may stand next to theirs.
    """

    title: str
    head: tuple[str, ...]
    measure_run: Callable[[Columns], Sequence[float | None]]
    read_published: Callable[[], Mapping[str, Sequence[float | None]]]
    note: str
    missing_note: str
    ranked: bool = False
    stands_apart: bool = False


def compare_runs(comparison: PublishedComparison, runs: Mapping[str, Columns]) -> list[Table]:
    """Return the table of these runs and of the published models; none where no run has a number.

    The list has at most one table.
    """
    measured = {name: comparison.measure_run(columns) for name, columns in runs.items()}
    rows = [(name, *row) for name, row in measured.items() if any(cell is not None for cell in row)]
    if not rows:
        return []
    rows = [] if comparison.stands_apart else rows
    rows += [(f"{model} (paper)", *row) for model, row in comparison.read_published().items()]
    if comparison.ranked:
        rows = [row for row in rows if row[1] is not None]
        rows = sorted(rows, key=lambda row: row[1] or 0.0)[::-1]
    return [
        Table(
            title=comparison.title,
            head=("model" if comparison.stands_apart else "run", *comparison.head),
            rows=tuple(rows),
            note=comparison.note,
            n_shaded_columns=len(comparison.head),
        )
    ]


def insert_comparison(
    comparison: PublishedComparison,
    report_parts: Sequence[Table | Chart],
    runs: Mapping[str, Columns],
    after_title: str = "",
) -> Sequence[Table | Chart]:
    """Insert the comparison of these runs into a report, as `insert_after_table` does."""
    if not report_parts:
        return report_parts
    tables = compare_runs(comparison, runs)
    return insert_after_table(report_parts, tables, comparison.missing_note, after_title)


def insert_after_table(
    report_parts: Sequence[Table | Chart],
    additions: Sequence[Table],
    missing_note: str,
    after_title: str = "",
) -> Sequence[Table | Chart]:
    """Insert `additions` after the table `after_title`, by default after a report's first part.

    Without additions `missing_note` is appended to the note of that table.
    """
    anchor_title = after_title or next((each.title for each in report_parts[:1]), "")
    result: list[Table | Chart] = []
    for each in report_parts:
        if not isinstance(each, Table) or each.title != anchor_title:
            result.append(each)
        else:
            result += (
                [each, *additions]
                if additions
                else [replace(each, note=f"{each.note} {missing_note}")]
            )
    return result
