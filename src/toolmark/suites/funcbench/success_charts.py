"""Charts like the paper's figures: success by kind, by depth, by effort, restated or plain."""

from __future__ import annotations

from collections.abc import Iterator

from toolmark.core.records import Chart, Estimate, Series
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import Columns
from toolmark.suites.funcbench.column_slices import (
    core_sizes,
    numeric_levels,
    rows_by_variant,
    select_rows,
)

_SUCCESS_LABEL = "success rate"


def make_charts(columns: Columns) -> Iterator[Chart]:
    """Return charts, per core size, of what varies within it.

    Runs that ask tasks in several ways compare those (Figs. 7, 8, 16), others the kinds of
    irrelevant functions (Figs. 4, 15) and the depths (Figs. 5, 6, 13, 14).
    """
    by_variant = rows_by_variant(columns)
    for core in core_sizes(columns):
        size = select_rows(columns, core=core)
        if len(by_variant) > 1:
            parts = [(label, select_rows(part, core=core)) for label, part in by_variant]
            yield from _variant_charts(core, size, parts)
            continue
        yield from _kind_charts(core, size)
        yield from _depth_charts(core, size)


def _variant_charts(core: int, size: Columns, parts: list[tuple[str, Columns]]) -> Iterator[Chart]:
    counts = numeric_levels(size, "irrelevant")
    series = [
        _make_series(
            label.removeprefix("this run, "),
            [(float(at), _success_estimate(part, count)) for at, count in enumerate(counts)],
        )
        for label, part in parts
    ]
    yield Chart(
        title=f"Success by number of irrelevant functions, core {core} (paper: Figs. 7, 8, 16)",
        kind="bar",
        series=tuple(series),
        x_label="irrelevant functions",
        y_label=_SUCCESS_LABEL,
        ticks=tuple(str(count) for count in counts),
    )


def _success_estimate(columns: Columns, count: int) -> Estimate:
    return estimate_mean(select_rows(columns, irrelevant=count), "success")


def _kind_charts(core: int, size: Columns) -> Iterator[Chart]:
    kinds = sorted(set(size.axis("kind")) - {"none", ""})
    counts = numeric_levels(size, "irrelevant")
    if len(counts) < 2:
        return
    series = []
    for kind in kinds:
        # without irrelevant functions there is no kind: that point belongs to every line
        part = size.where((size.axis("kind") == kind) | (size.axis("kind") == "none"))
        series.append(_make_series(kind, [(float(x), _success_estimate(part, x)) for x in counts]))
    yield Chart(
        title=f"Success by kind of irrelevant functions, core {core} (paper: Figs. 4, 15)",
        kind="line",
        series=tuple(series),
        x_label="irrelevant functions",
        y_label=_SUCCESS_LABEL,
        note="95 % intervals.",
    )


def _depth_charts(core: int, size: Columns) -> Iterator[Chart]:
    depths = numeric_levels(size, "depth")
    if len(depths) < 2:
        return
    points = [(float(x), estimate_mean(select_rows(size, depth=x), "success")) for x in depths]
    yield Chart(
        title=f"Success by depth, core {core} (paper: Figs. 5, 6, 13, 14)",
        kind="line",
        series=(_make_series("this run", points),),
        x_label="depth of the graph",
        y_label=_SUCCESS_LABEL,
        note="95 % intervals.",
    )


def _make_series(name: str, points: list[tuple[float, Estimate]]) -> Series:
    """Return a series of the points that have a value."""
    known = [
        (x, found.value, found.low, found.high)
        for x, found in points
        if found.value is not None and found.low is not None and found.high is not None
    ]
    return Series(
        name=name,
        x=tuple(x for x, *_ in known),
        y=tuple(y for _, y, *_ in known),
        low=tuple(low for *_, low, _ in known),
        high=tuple(high for *_, high in known),
    )
