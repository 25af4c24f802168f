"""A plan as text: the numbers, its curve, and where the error comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator

from toolmark.core.number_format import (
    DASH,
    format_count,
    format_decimal,
    format_fixed,
    format_percent,
    format_usd,
    pluralize,
)
from toolmark.core.records import Table
from toolmark.reports.table_format import render_text
from toolmark.runs.planning.study_planning import CurvePoint, StudyForecast, component_shares
from toolmark.statistics.variance_components import ASSURANCE

_COMPONENT_NAMES = {
    "group": "between groups of items",
    "item": "between items",
    "variant": "between tasks of an item (format, condition)",
    "repeat": "between repeats of a task",
}


def describe_forecast(forecast: StudyForecast, cost_note: str) -> Iterator[str]:
    """Yield the parts of the text: what is planned, the curve, the components, warnings."""
    yield "\n".join(_head_lines(forecast, cost_note))
    yield render_text(_curve_table(forecast))
    yield render_text(_component_table(forecast))
    yield from (f"note: {each}" for each in forecast.warnings)


def _head_lines(forecast: StudyForecast, cost_note: str) -> Iterator[str]:
    plan, goal = forecast.plan, forecast.plan.goal
    unit = _size_text(goal.half_width or goal.difference, forecast)
    if goal.half_width is not None:
        wanted = f"{forecast.metric} with an interval of ± {unit}"
        if plan.pilots:
            wanted += (
                f", in at least {format_fixed(ASSURANCE * 100, 0)} of 100 pilots like this one"
            )
    else:
        wanted = (
            f"a difference of {unit} in {forecast.metric}, "
            f"found in {format_fixed(goal.power * 100, 0)} of 100 comparisons"
        )
        wanted += " at the pilot's upper bound" if plan.pilots else ""
    yield f"{plan.suite}: {wanted}"
    items = pluralize(plan.n_items, "item")
    times = "once" if plan.repeats == 1 else pluralize(plan.repeats, "time")
    left_out = ""
    if plan.excluded_items:
        left_out = f", without {format_count(len(plan.excluded_items))} of the pilot"
    if not plan.is_reached:
        yield (
            f"  not reached: the suite has {format_count(plan.n_available)} items{left_out}; with "
            f"all of them {_reach_text(forecast)}"
        )
    yield (
        f"  {items} of {format_count(plan.n_available)}{left_out}, each task asked {times}: "
        f"{pluralize(plan.n_episodes, 'episode')}"
    )
    usd = "" if plan.cost_usd is None else f"{format_usd(plan.cost_usd)}: "
    of = " of a run" if goal.difference is not None and len(plan.pilots) < 2 else ""
    yield f"  cost{of} {usd}{cost_note}"


def _reach_text(forecast: StudyForecast) -> str:
    plan = forecast.plan
    if plan.goal.half_width is not None:
        return f"the interval is ± {_size_text(plan.half_width, forecast)}"
    if plan.detectable is None:
        return "no difference is found so often"
    return f"a difference of {_size_text(plan.detectable, forecast)} is found so often"


def _size_text(size: float | None, forecast: StudyForecast) -> str:
    """Return a half-width or a difference: in points for a share, else as it is."""
    if size is None or not math.isfinite(size):
        return DASH
    return f"{format_fixed(100 * size, 1)} points" if forecast.is_share else format_decimal(size)


def _curve_table(forecast: StudyForecast) -> Table:
    has_power = forecast.plan.goal.difference is not None
    has_cost = any(each.cost_usd is not None for each in forecast.curve)
    head = ["items", "repeats", "episodes", "half-width"]
    head += ["power"] if has_power else []
    head += [f"found in {format_fixed(forecast.plan.goal.power * 100, 0)} %"]
    head += ["cost"] if has_cost else []

    def row(point: CurvePoint) -> tuple[str | int, ...]:
        cells: list[str | int] = [
            point.n_items, point.repeats, point.n_episodes, _size_text(point.half_width, forecast),
        ]  # fmt: skip
        cells += [format_percent(point.power or 0.0, 0)] if has_power else []
        cells += [_size_text(point.detectable, forecast)]
        cells += (
            [DASH if point.cost_usd is None else format_usd(point.cost_usd)] if has_cost else []
        )
        return tuple(cells)

    return Table(
        title="What other sizes show",
        head=tuple(head),
        rows=tuple(row(each) for each in forecast.curve),
        note="The last columns are of a paired comparison of two runs of this size.",
    )


def _component_table(forecast: StudyForecast) -> Table:
    components = forecast.plan.components
    of = "one run" if forecast.plan.goal.half_width is not None else "a difference of two runs"
    rows = [
        (_COMPONENT_NAMES[name], format_percent(share, 0))
        for name, share in component_shares(components).items()
        if share > 0
    ]
    note = (
        f"Of {of}; the variance of one answer is {format_decimal(components.total)}, by the method "
        "of moments (Koch 1967). What the pilot cannot separate is in the line above it."
        if forecast.plan.pilots
        else f"Of {of}; the variance follows from the expected score."
    )
    return Table(
        title="Where the error comes from", head=("component", "share"), rows=tuple(rows), note=note
    )
