"""Figure 1 of the V4 article: how well the published 200 entries stand for all 2,351."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.suites.bfcl import formats
from toolmark.types import Chart, Estimate, Series, Table

Cell: TypeAlias = str | float | int | None
Vector: TypeAlias = NDArray[np.float64]


def one(reading: str, columns: Columns) -> Iterator[Table | Chart]:
    """Show how well the published subset stands for all entries; needs `entries=all`."""
    names, x, y = _pairs(columns)
    if not names:
        return
    title = f"Subset against all entries ({reading})"
    yield _scatter(title, {"formats": (x, y)}, "A point per prompt format.")
    rows: list[tuple[Cell, ...]] = [
        (formats.short(name), float(a), float(b), 100 * float(b - a))
        for name, a, b in zip(names, x, y, strict=True)
    ]
    yield Table(
        title=f"Subset against all entries by prompt format ({reading})",
        head=("format", "all entries", "subset", "difference in points"),
        rows=tuple(rows),
        note=_correlation(x, y),
    )


def several(reading: str, runs: Mapping[str, Columns]) -> Iterator[Table | Chart]:
    """Show the same for several runs together; nothing where fewer than two asked all entries."""
    found = {name: _pairs(columns)[1:] for name, columns in runs.items()}
    found = {name: (x, y) for name, (x, y) in found.items() if len(x)}
    if len(found) < 2:
        return
    title = f"Subset against all entries, run by run ({reading})"
    yield _scatter(title, found, "A point per run and prompt format.")
    every = np.concatenate(list(found.values()), axis=1)
    lines = [*found.items(), ("all runs", (every[0], every[1]))]
    rows = tuple((name, len(x), _pearson(x, y), *_apart(x, y)) for name, (x, y) in lines)
    yield Table(
        title=f"How well the subset stands for all entries, run by run ({reading})",
        head=("", "formats", "r", "subset less all, points", "largest distance, points"),
        rows=rows,
        note="r: Pearson's correlation over formats of accuracy on all entries and on the subset; "
        "none for fewer than three formats, or for formats that are all alike. Over all runs it "
        "also counts how far the runs lie apart.",
    )


def _apart(x: Vector, y: Vector) -> tuple[str, float]:
    """Return how far y lies above x on average, and at most in either way, in points."""
    mean = Estimate(name="", value=float((y - x).mean()))
    return figures.points(mean), round(100 * float(abs(y - x).max()), 1)


def _pairs(columns: Columns) -> tuple[list[str], Vector, Vector]:
    """Return the formats, and in each the accuracy on all entries and on the published subset.

    Nothing where only the subset was asked, or none of it.
    """
    inside = columns.axis("subset") == "yes"
    if not inside.any() or inside.all():
        return [], np.empty(0), np.empty(0)
    whole = formats.accuracies(columns)
    part = formats.accuracies(columns.where(inside))
    names = [name for name in part if part[name].value is not None]
    x = np.array([whole[name].value for name in names], dtype=float)
    return names, x, np.array([part[name].value for name in names], dtype=float)


def _scatter(title: str, points: Mapping[str, tuple[Vector, Vector]], note: str) -> Chart:
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
    """Return the correlation; None for fewer than three points, or points alike in one of both."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _correlation(x: Vector, y: Vector) -> str:
    r = _pearson(x, y)
    if r is None:
        return "Too few formats, or formats too much alike, for a correlation."
    return f"Correlation over {len(x)} formats: r = {r:.3f} (Pearson)."
