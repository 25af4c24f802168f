"""Failed answers by their primary failure mode: counts, and the table of several groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.core.records import Cell, EpisodeFilter, Table
from toolmark.statistics.episode_filters import link_rows
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
    *,
    whole: Columns | None = None,
    failed_by_row: Mapping[str, Columns] | None = None,
) -> Table:
    """Return a row of counts per group; `labels` are the names of the modes in their order.

    With `whole`, all rows of the run, and the failed answers of each group the cells link to their
    episodes.
    """
    rows: list[tuple[Cell, ...]] = [
        (name, *(counts[mode] for mode in labels), sum(counts.values()))
        for name, counts in counts_by_row.items()
    ]
    table = Table(title=title, head=(by, *labels.values(), "all"), rows=tuple(rows), note=note)
    if whole is None or failed_by_row is None:
        return table
    by_mode = (*(EpisodeFilter(cause=("", mode)) for mode in labels), EpisodeFilter())
    return link_rows(table, whole, failed_by_row.values(), columns=by_mode)
