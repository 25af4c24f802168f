"""US$ per task and per success, with intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from toolmark.core.records import Estimate
from toolmark.runs.costs.run_costs import EpisodeCosts, round_usd
from toolmark.statistics.confidence_intervals import Vector, bootstrap_interval
from toolmark.statistics.metric_formulas import UnboundedMean
from toolmark.statistics.paired_comparison import PairedComparison, compare_paired
from toolmark.statistics.score_columns import Columns

_COST = "usd"


def estimate_costs(table: Columns, costs: EpisodeCosts) -> tuple[Estimate | None, Estimate | None]:
    """Return US$ per task and per success over the scored episodes whose cost is known.

    Both are ratios of sums, so their intervals resample items (`bootstrap_interval`). Without a
    success the second has no value. None where no cost is known.
    """
    usd = _cost_column(table, costs)
    known = table.run & ~np.isnan(usd)
    if not known.any():
        return None, None
    paid, right = usd[known], table.correct[known].astype(float)
    items = table.cluster[known]
    return (
        _ratio_estimate("usd_per_task", paid, np.ones(len(paid)), items),
        _ratio_estimate("usd_per_success", paid, right, items),
    )


def compare_costs(
    a: Columns, b: Columns, costs_a: EpisodeCosts, costs_b: EpisodeCosts
) -> PairedComparison:
    """Compare US$ per task of two runs, A minus B, on the tasks whose cost is known in both.

    Where no task differs the interval has no width, and there is none.
    """
    one, two = (
        replace(table, parts={_COST: _cost_column(table, costs)})
        for table, costs in ((a, costs_a), (b, costs_b))
    )
    found = compare_paired(one, two, UnboundedMean(part=_COST), name="US$ per task")
    difference = found.difference
    ends = [difference.value, difference.low, difference.high]
    if not difference.value and found.p in (1.0, None):
        ends[1:] = [None, None]
    value, low, high = (None if end is None else round_usd(end) for end in ends)
    return structs.replace(
        found, difference=structs.replace(difference, value=value, low=low, high=high)
    )


def _cost_column(table: Columns, costs: EpisodeCosts) -> NDArray[np.float64]:
    """Return US$ of each row; nan where that is not known."""
    keys = zip(table.task, table.repeat, strict=True)
    return np.array([_or_nan(costs.get((task, int(repeat)))) for task, repeat in keys], dtype=float)


def _ratio_estimate(name: str, usd: Vector, counts: Vector, items: Vector) -> Estimate:
    n = float(np.sum(counts))
    if n == 0:
        return Estimate(name=name, n=0, is_share=False)
    low, high = bootstrap_interval(usd, items, denominators=counts)
    has_interval = math.isfinite(low) and math.isfinite(high)
    return Estimate(
        name=name,
        value=round_usd(float(np.sum(usd)) / n),
        low=round_usd(low) if has_interval else None,
        high=round_usd(high) if has_interval else None,
        n=round(n),
        is_share=False,
    )


def _or_nan(cost: float | None) -> float:
    return math.nan if cost is None else cost
