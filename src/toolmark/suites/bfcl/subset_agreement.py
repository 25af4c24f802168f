"""Figure 1 of the V4 article: how well the published 200 entries represent all 2,351."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, EpisodeFilter, Estimate, Series, Table
from toolmark.official_bfcl import prompt_formats
from toolmark.statistics.score_columns import Columns

Vector: TypeAlias = NDArray[np.float64]


def run_tables(rule: str, columns: Columns) -> Iterator[Table | Chart]:
    """Return how well the published subset represents all entries; needs `entries=all`."""
    names, x, y = _accuracy_pairs(columns)
    if not names:
        return
    title = f"Subset against all entries ({rule})"
    yield _scatter_chart(title, {"formats": (x, y)}, "A point per prompt format.")
    rows: list[tuple[Cell, ...]] = [
        (prompt_formats.short_label(name), float(a), float(b), 100 * float(b - a))
        for name, a, b in zip(names, x, y, strict=True)
    ]
    yield Table(
        title=f"Subset against all entries by prompt format ({rule})",
        head=("format", "all entries", "subset", "difference in points"),
        rows=tuple(rows),
        note=_correlation_note(x, y),
        row_episodes=tuple(EpisodeFilter(outcome="run", axes={"format": name}) for name in names),
        column_episodes=(
            None,
            EpisodeFilter(),
            EpisodeFilter(axes={"subset": "yes"}),
            EpisodeFilter(),
        ),
    )


def tables_across_runs(rule: str, runs: Mapping[str, Columns]) -> Iterator[Table | Chart]:
    """Return the same for several runs together; nothing where fewer than two have all entries."""
    found = {name: _accuracy_pairs(columns)[1:] for name, columns in runs.items()}
    found = {name: (x, y) for name, (x, y) in found.items() if len(x)}
    if len(found) < 2:
        return
    title = f"Subset against all entries, run by run ({rule})"
    yield _scatter_chart(title, found, "A point per run and prompt format.")
    all_points = np.concatenate(list(found.values()), axis=1)
    lines = [*found.items(), ("all runs", (all_points[0], all_points[1]))]
    rows = tuple((name, len(x), _pearson(x, y), *_distances(x, y)) for name, (x, y) in lines)
    yield Table(
        title=f"How well the subset stands for all entries, run by run ({rule})",
        head=("", "formats", "r", "subset less all, points", "largest distance, points"),
        rows=rows,
        note="r: Pearson's correlation over formats of accuracy on all entries and on the subset; "
        "none for fewer than three formats, or for formats that are all alike. Over all runs it "
        "also counts how far the runs lie apart.",
    )


def _distances(x: Vector, y: Vector) -> tuple[str, float]:
    """Return the mean signed and the largest absolute difference of y from x, in points."""
    mean = Estimate(name="", value=float((y - x).mean()))
    return number_format.format_points(mean), round(100 * float(abs(y - x).max()), 1)


def _accuracy_pairs(columns: Columns) -> tuple[list[str], Vector, Vector]:
    """Return the formats, and in each the accuracy on all entries and on the published subset.

    Nothing where only the subset was run, or none of it.
    """
    in_subset = columns.axis("subset") == "yes"
    if not in_subset.any() or in_subset.all():
        return [], np.empty(0), np.empty(0)
    on_all = prompt_formats.accuracy_by_format(columns)
    on_subset = prompt_formats.accuracy_by_format(columns.where(in_subset))
    names = [name for name in on_subset if on_subset[name].value is not None]
    x = np.array([on_all[name].value for name in names], dtype=float)
    return names, x, np.array([on_subset[name].value for name in names], dtype=float)


def _scatter_chart(title: str, points: Mapping[str, tuple[Vector, Vector]], note: str) -> Chart:
    return Chart(
        title=title,
        kind="scatter",
        series=tuple(
            Series(name=name, x=tuple(x.tolist()), y=tuple(y.tolist()))
            for name, (x, y) in points.items()
        ),
        x_label="accuracy on all entries",
        y_label="accuracy on the published subset",
        note=note,
    )


def _pearson(x: Vector, y: Vector) -> float | None:
    """Return the correlation; None for fewer than three points, or if one side is constant."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _correlation_note(x: Vector, y: Vector) -> str:
    r = _pearson(x, y)
    if r is None:
        return "Too few formats, or formats too much alike, for a correlation."
    return f"Correlation over {len(x)} formats: r = {number_format.format_fixed(r, 3)} (Pearson)."
