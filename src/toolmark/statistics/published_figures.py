"""Tables that compare your figures with published ones, and their place in a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from toolmark.core.records import Chart, Table

THIS_RUN = "this run"


def comparison_table(
    title: str,
    head: Sequence[str],
    run_rows: Mapping[str, Sequence[float | None]],
    published_rows: Mapping[str, Sequence[float | None]],
    note: str,
    *,
    ranked: bool = False,
) -> list[Table]:
    """Return a table with a row of shares per run and per published model.

    The list is empty where no run has a number. `head` names the shares. Your runs come first;
    `ranked` sorts all rows by their first share instead, the greatest first.
    """
    rows = [(name, *row) for name, row in run_rows.items() if any(cell is not None for cell in row)]
    if not rows:
        return []
    rows += [(f"{model} (paper)", *row) for model, row in published_rows.items()]
    if ranked:
        rows = [row for row in rows if row[1] is not None]
        rows = sorted(rows, key=lambda row: row[1] or 0.0)[::-1]
    return [
        Table(
            title=title,
            head=("run", *head),
            rows=tuple(rows),
            note=note,
            n_shaded_columns=len(head),
        )
    ]


def insert_after_table(
    report_parts: Sequence[Table | Chart],
    additions: Sequence[Table],
    missing_note: str,
    title: str = "",
) -> Sequence[Table | Chart]:
    """Insert `additions` after the table with that title, by default after a report's first part.

    Without additions `missing_note` is appended to the note of that table.
    """
    anchor_title = title or next((each.title for each in report_parts[:1]), "")
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
