"""Charts of estimates that several suites show: series with intervals, stacked bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from toolmark.core.records import Chart, Estimate, Series

K = TypeVar("K", bound=str)


def bar_positions(n: int) -> tuple[float, ...]:
    """Return the positions of n bars: 0, 1, ..."""
    return tuple(map(float, range(n)))


def estimate_series(
    name: str,
    estimates: Sequence[Estimate],
    x: Sequence[float] = (),
    *,
    scale: float = 1.0,
) -> Series:
    """Return estimates with their intervals as a series, each number times `scale`.

    Without `x` they are bars. A number that is None is nan and is not drawn.
    """

    def numbers(values: Iterable[float | None]) -> tuple[float, ...]:
        return tuple(math.nan if value is None else scale * value for value in values)

    return Series(
        name=name,
        x=tuple(x) or bar_positions(len(estimates)),
        y=numbers(each.value for each in estimates),
        low=numbers(each.low for each in estimates),
        high=numbers(each.high for each in estimates),
    )


def stacked_bars(
    title: str,
    labels: Mapping[K, str],
    heights_by_bar: Mapping[str, Mapping[K, float]],
    y_label: str,
) -> Chart:
    """Return a chart of stacked bars; `labels` are a bar's parts in their order, with names."""
    x = bar_positions(len(heights_by_bar))
    series = tuple(
        Series(name=label, x=x, y=tuple(heights[part] for heights in heights_by_bar.values()))
        for part, label in labels.items()
    )
    return Chart(
        title=title, kind="stack", series=series, ticks=tuple(heights_by_bar), y_label=y_label
    )
