"""At which depth, core size or number of irrelevant functions success falls to 50 %."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, EpisodeFilter, Table
from toolmark.statistics.episode_filters import FilterFinder
from toolmark.statistics.logistic_curve import LogisticCurve, fit_logistic
from toolmark.statistics.score_columns import Columns
from toolmark.suites.funcbench.column_slices import numeric_levels, rows_by_variant

_DIFFICULTIES = ("depth", "core", "irrelevant")
_MIN_LEVELS = 3


def make_difficulty_tables(columns: Columns) -> Iterator[Table]:
    """Yield the table of 50 % points where any difficulty has three levels or more."""
    ran = columns.where(columns.run)
    varying = [name for name in _DIFFICULTIES if len(numeric_levels(ran, name)) >= _MIN_LEVELS]
    rows: list[tuple[Cell, ...]] = []
    filters: list[EpisodeFilter | None] = []
    finder = FilterFinder(columns)
    for label, part in rows_by_variant(ran):
        curve = _fit_curve(part, varying)
        if curve is not None:
            filters += [finder.find_cover(part)] * len(varying)
            rows += [_curve_row(label, curve, at, name, part) for at, name in enumerate(varying)]
    if rows:
        yield Table(
            title="Where success falls to 50 %",
            head=("model", "difficulty", "50 % at", "95 % interval", "odds per unit", "where", "n"),
            rows=tuple(rows),
            note=f"Logistic curve over {', '.join(varying)} together (Firth; Fieller's interval);"
            " the others are at their means. Odds per unit: the factor by which one more changes"
            " the odds of success, with its interval.",
            row_episodes=tuple(filters),
            column_episodes=(None, None, *(EpisodeFilter() for _ in range(5))),
        )


def _fit_curve(columns: Columns, names: list[str]) -> LogisticCurve | None:
    if not names or not len(columns):
        return None
    levels = np.column_stack([columns.axis(name).astype(float) for name in names])
    return fit_logistic(levels, columns.correct.astype(float), columns.item)


def _curve_row(
    label: str, curve: LogisticCurve, at: int, name: str, columns: Columns
) -> tuple[Cell, ...]:
    point = curve.half_point(at)
    odds = [number_format.format_short(math.exp(min(x, 50.0))) for x in curve.slope_interval(at)]
    value, low, high = point or (math.nan, -math.inf, math.inf)
    return (
        label,
        name,
        number_format.format_fixed(value, 1) if math.isfinite(value) else None,
        f"[{_format_end(low)}, {_format_end(high)}]",
        f"{odds[0]} [{odds[1]}, {odds[2]}]",
        _place_text(value, numeric_levels(columns, name)),
        len(columns),
    )


def _format_end(end: float) -> str:
    if math.isinf(end):
        return "-\u221e" if end < 0 else "\u221e"
    return number_format.format_fixed(end, 1)


def _place_text(value: float, levels: list[int]) -> str:
    """Return whether a point lies within the levels that were run."""
    if not math.isfinite(value):
        return "nowhere"
    if levels[0] <= value <= levels[-1]:
        return "within what was run"
    return f"outside {levels[0]} to {levels[-1]}: extrapolated"
