"""Published figures beside one's own: one table, and its place among those of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from toolmark.types import Chart, Table

OWN = "this run"


def table(
    title: str,
    head: Sequence[str],
    own: Mapping[str, Sequence[float | None]],
    paper: Mapping[str, Sequence[float | None]],
    note: str,
    *,
    ranked: bool = False,
) -> list[Table]:
    """Return a row of shares per run and per published model; nothing where no run has a number.

    `head` names the shares. One's own come first; `ranked` puts the greatest first share first.
    """
    rows = [(name, *row) for name, row in own.items() if any(cell is not None for cell in row)]
    if not rows:
        return []
    rows += [(f"{model} (paper)", *row) for model, row in paper.items()]
    if ranked:
        rows = [row for row in rows if row[1] is not None]
        rows = sorted(rows, key=lambda row: row[1] or 0.0)[::-1]
    return [Table(title=title, head=("run", *head), rows=tuple(rows), note=note, heat=len(head))]


def placed(
    made: Sequence[Table | Chart], found: Sequence[Table], lacks: str, after: str = ""
) -> Sequence[Table | Chart]:
    """Put what was found after the table of that title, or after the first of a report.

    Where nothing was found that table's note says what is lacking.
    """
    named = after or next((each.title for each in made[:1]), "")
    told: list[Table | Chart] = []
    for each in made:
        if not isinstance(each, Table) or each.title != named:
            told.append(each)
        else:
            told += [each, *found] if found else [replace(each, note=f"{each.note} {lacks}")]
    return told
