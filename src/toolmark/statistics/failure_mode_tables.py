"""Failed answers by their primary failure mode: counts, and the table of several groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.core.records import Cell, Table
from toolmark.statistics.score_columns import Columns

EACH_ONCE_NOTE = "Each failed answer once, under its primary mode."


def failed_answers(columns: Columns) -> Columns:
    """Return the answers that ran and are not correct."""
    return columns.where(columns.run & ~columns.correct)


def count_modes(failed: Columns, modes: Sequence[str]) -> dict[str, int]:
    """Count failed answers by primary mode; those of no listed mode count in the last one."""
    found = [str(native) for native in failed.suite_cause]
    *known, last = modes
    counts = {mode: found.count(mode) for mode in known}
    return counts | {last: len(found) - sum(counts.values())}


def failure_mode_table(
    title: str,
    by: str,
    labels: Mapping[str, str],
    counts_by_row: Mapping[str, Mapping[str, int]],
    note: str,
) -> Table:
    """Return a row of counts per group; `labels` are the names of the modes in their order."""
    rows: list[tuple[Cell, ...]] = [
        (name, *(counts[mode] for mode in labels), sum(counts.values()))
        for name, counts in counts_by_row.items()
    ]
    return Table(title=title, head=(by, *labels.values(), "all"), rows=tuple(rows), note=note)
