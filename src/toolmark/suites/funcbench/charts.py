"""The shapes of the paper's figures: success by kind, by depth, by effort, restated or plain."""

from __future__ import annotations

from collections.abc import Iterator

from toolmark.stats.columns import Columns
from toolmark.stats.summary import mean
from toolmark.suites.funcbench.slices import cores, numbers, only, variants
from toolmark.types import Chart, Estimate, Series

_SHARE = "success rate"


def charts(columns: Columns) -> Iterator[Chart]:
    """Draw, per core size, what varies within it.

    Runs that ask tasks in several ways compare those (Figs. 7, 8, 16), others the kinds of
    irrelevant functions (Figs. 4, 15) and the depths (Figs. 5, 6, 13, 14).
    """
    asked = variants(columns)
    for core in cores(columns):
        size = only(columns, core=core)
        if len(asked) > 1:
            parts = [(label, only(part, core=core)) for label, part in asked]
            yield from _asked(core, size, parts)
            continue
        yield from _kinds(core, size)
        yield from _depths(core, size)


def _asked(core: int, size: Columns, parts: list[tuple[str, Columns]]) -> Iterator[Chart]:
    counts = numbers(size, "irrelevant")
    series = [
        _series(
            label.removeprefix("this run, "),
            [(float(at), _success(part, count)) for at, count in enumerate(counts)],
        )
        for label, part in parts
    ]
    yield Chart(
        title=f"Success by number of irrelevant functions, core {core} (paper: Figs. 7, 8, 16)",
        kind="bar",
        series=tuple(series),
        x_label="irrelevant functions",
        y_label=_SHARE,
        ticks=tuple(str(count) for count in counts),
    )


def _success(columns: Columns, count: int) -> Estimate:
    return mean(only(columns, irrelevant=count), "success")


def _kinds(core: int, size: Columns) -> Iterator[Chart]:
    kinds = sorted(set(size.axis("kind")) - {"none", ""})
    counts = numbers(size, "irrelevant")
    if len(counts) < 2:
        return
    series = []
    for kind in kinds:
        # without irrelevant functions there is no kind: that point belongs to every line
        part = size.where((size.axis("kind") == kind) | (size.axis("kind") == "none"))
        series.append(_series(kind, [(float(x), _success(part, x)) for x in counts]))
    yield Chart(
        title=f"Success by kind of irrelevant functions, core {core} (paper: Figs. 4, 15)",
        kind="line",
        series=tuple(series),
        x_label="irrelevant functions",
        y_label=_SHARE,
        note="95 % intervals.",
    )


def _depths(core: int, size: Columns) -> Iterator[Chart]:
    depths = numbers(size, "depth")
    if len(depths) < 2:
        return
    points = [(float(x), mean(only(size, depth=x), "success")) for x in depths]
    yield Chart(
        title=f"Success by depth, core {core} (paper: Figs. 5, 6, 13, 14)",
        kind="line",
        series=(_series("this run", points),),
        x_label="depth of the graph",
        y_label=_SHARE,
        note="95 % intervals.",
    )


def _series(name: str, points: list[tuple[float, Estimate]]) -> Series:
    """Return the points that have a value."""
    told = [
        (x, found.value, found.low, found.high)
        for x, found in points
        if found.value is not None and found.low is not None and found.high is not None
    ]
    return Series(
        name=name,
        x=tuple(x for x, *_ in told),
        y=tuple(y for _, y, *_ in told),
        low=tuple(low for *_, low, _ in told),
        high=tuple(high for *_, high in told),
    )
