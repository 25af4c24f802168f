"""A run against a floor: the paired difference of the headline, by the headline's own formula."""

from __future__ import annotations

from collections.abc import Iterable

from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.metric_formulas import Mean, Metric
from toolmark.statistics.paired_comparison import PairedComparison, compare_paired
from toolmark.statistics.score_columns import Columns

ABOVE_FLOOR = "above the floor"


def compare_with_floor(run: Columns, floor: Columns, metric: Metric) -> PairedComparison:
    """Return the headline of a run minus that of a floor, over the tasks that both ran.

    `value_b` is the floor on these tasks. Labels of people correct no difference.
    """
    formula = metric.formula
    rows, floor_rows = metric.select_rows(run), metric.select_rows(floor)
    used = Mean() if isinstance(formula, PredictionPoweredMean) else formula
    return compare_paired(rows, floor_rows, used, name=ABOVE_FLOOR)


def find_best_floor(
    found: Iterable[tuple[str, PairedComparison]], *, lower_is_better: bool = False
) -> str:
    """Return the name of the floor with the best value, the first of equals; "" for none."""
    known = [(each.value_b, name) for name, each in found if each.value_b is not None]
    choose = min if lower_is_better else max
    best = choose((value for value, _ in known), default=None)
    return next((name for value, name in known if value == best), "")
