"""Charts like the paper's figures: success by core size, kind, depth, effort and wording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from toolmark.core.records import Chart, Estimate, Series
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.metric_formulas import Mean, MeanOverCategories, Metric
from toolmark.statistics.score_columns import Columns, runs_with_answers
from toolmark.suites.funcbench.column_slices import (
    core_sizes,
    numeric_levels,
    rows_by_variant,
    select_rows,
)

_SUCCESS_LABEL = "success rate"
_AVERAGED = Metric("success", MeanOverCategories(formula=Mean(), categories_label="core sizes"))
_AVERAGED_NOTE = "Each core size has the same weight."


def make_charts(columns: Columns) -> Iterator[Chart]:
    """Return charts of what varies in the run.

    Success by number of core functions (Fig. 6). Runs that ask tasks in several ways compare those
    (Figs. 7, 8, 16), others the kinds of irrelevant functions (Figs. 4, 15) and the depths (Figs.
    5, 13, 14).
    """
    by_variant = rows_by_variant(columns)
    lines = {label.removeprefix("this run, "): part for label, part in by_variant}
    yield from _core_charts(lines)
    if len(lines) == 1:
        yield from _averaged_kind_charts(columns)
    for core in core_sizes(columns):
        size = select_rows(columns, core=core)
        if len(lines) > 1:
            parts = [(label, select_rows(part, core=core)) for label, part in by_variant]
            yield from _variant_charts(core, size, parts)
            continue
        yield from _kind_charts(core, size)
        yield from _depth_charts(core, {"this run": size})


def tables_across_runs(columns_by_rule: Mapping[str, Mapping[str, Columns]]) -> Sequence[Chart]:
    """Return charts with a line for each run."""
    runs = runs_with_answers(columns_by_rule["official"])
    sizes = sorted({core for columns in runs.values() for core in core_sizes(columns)})
    charts = [*_core_charts(runs), *_irrelevant_charts(runs)]
    for core in sizes:
        charts += _depth_charts(
            core, {name: select_rows(columns, core=core) for name, columns in runs.items()}
        )
    return charts


def _core_charts(lines: Mapping[str, Columns]) -> Iterator[Chart]:
    if max(len(core_sizes(columns)) for columns in lines.values()) < 2:
        return
    series = [
        _make_series(
            name,
            [
                (float(core), estimate_mean(select_rows(columns, core=core), "success"))
                for core in core_sizes(columns)
            ],
        )
        for name, columns in lines.items()
    ]
    yield Chart(
        title="Success by number of core functions (paper: Fig. 6)",
        kind="line",
        series=tuple(series),
        x_label="core functions",
        y_label=_SUCCESS_LABEL,
        note="95 % intervals. Over all depths, numbers and kinds of irrelevant functions.",
    )


def _averaged_kind_charts(columns: Columns) -> Iterator[Chart]:
    """Return success by kind and number of irrelevant functions over all core sizes (Fig. 4)."""
    if len(core_sizes(columns)) < 2 or len(numeric_levels(columns, "irrelevant")) < 2:
        return
    kinds = sorted(set(columns.axis("kind")) - {"none", ""})
    yield Chart(
        title="Success by kind of irrelevant functions, all core sizes (paper: Fig. 4)",
        kind="line",
        series=tuple(_averaged_series(kind, _rows_of_kind(columns, kind)) for kind in kinds),
        x_label="irrelevant functions",
        y_label=_SUCCESS_LABEL,
        note=f"95 % intervals. {_AVERAGED_NOTE}",
    )


def _irrelevant_charts(runs: Mapping[str, Columns]) -> Iterator[Chart]:
    if max(len(numeric_levels(columns, "irrelevant")) for columns in runs.values()) < 2:
        return
    yield Chart(
        title="Success by number of irrelevant functions",
        kind="line",
        series=tuple(_averaged_series(name, columns) for name, columns in runs.items()),
        x_label="irrelevant functions",
        y_label=_SUCCESS_LABEL,
        note=f"95 % intervals. {_AVERAGED_NOTE}",
    )


def _averaged_series(name: str, columns: Columns) -> Series:
    points = [
        (float(n), _AVERAGED.measure(select_rows(columns, irrelevant=n)))
        for n in numeric_levels(columns, "irrelevant")
    ]
    return _make_series(name, points)


def _rows_of_kind(columns: Columns, kind: str) -> Columns:
    """Return the rows of a kind; without irrelevant functions there is none: they belong to all."""
    return columns.where((columns.axis("kind") == kind) | (columns.axis("kind") == "none"))


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
        part = _rows_of_kind(size, kind)
        series.append(_make_series(kind, [(float(x), _success_estimate(part, x)) for x in counts]))
    yield Chart(
        title=f"Success by kind of irrelevant functions, core {core} (paper: Figs. 4, 15)",
        kind="line",
        series=tuple(series),
        x_label="irrelevant functions",
        y_label=_SUCCESS_LABEL,
        note="95 % intervals.",
    )


def _depth_charts(core: int, lines: Mapping[str, Columns]) -> Iterator[Chart]:
    if max(len(numeric_levels(columns, "depth")) for columns in lines.values()) < 2:
        return
    series = [
        _make_series(
            name,
            [
                (float(depth), estimate_mean(select_rows(columns, depth=depth), "success"))
                for depth in numeric_levels(columns, "depth")
            ],
        )
        for name, columns in lines.items()
        if len(columns)
    ]
    yield Chart(
        title=f"Success by depth, core {core} (paper: Figs. 5, 13, 14)",
        kind="line",
        series=tuple(series),
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
