"""What a run of so many items and repeats will show: half-width, power, detectable difference.

The design of the later run is given as rows without values: which items, groups, categories. The
weights of the rows are those of the headline's own formula over them, so weighted means of
categories count as they will be reported, and clusters as they will be drawn. With the variance
components of a pilot the variance of the number follows:

    V = group * sum of squared weights of groups + item * ... of items + variant * ... of tasks
        + repeat * ... of rows
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import nctdtr, stdtrit

from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_fixed, format_short
from toolmark.statistics.cluster_inference import (
    combine_freedom,
    measure_blocks,
    sum_clusters,
)
from toolmark.statistics.confidence_intervals import (
    group_codes,
    ignore_overflow,
    logit_interval,
    wilson_score,
)
from toolmark.statistics.formula_base import LinearisedFormula
from toolmark.statistics.interval_limits import NORMAL_QUANTILE
from toolmark.statistics.linearisation import Linearisation, sum_by_code
from toolmark.statistics.paired_tests import (
    POWER,
    SIGNIFICANCE_LEVEL,
    power_of_single_pairs,
)
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.variance_components import VarianceComponents, bound_factor

MAX_REPEATS = 10
_ADDED_TRIALS = 10  # as in the interval of a share (`cluster_inference`)
_BISECTIONS = 40


@dataclass(frozen=True, slots=True)
class DesignSizes:
    """The squared weights of a design with one repeat, by level, and the size of its clusters.

    - `groups`, `items`, `tasks`: sums over the cells of a level of their squared weights.
    - `n_items`, `n_tasks`, `n_clusters`: counts; `n_effective` is the effective number of clusters
      (Kish), `freedom` the degrees of freedom of an interval over them.
    - `is_single`: each cluster is one task, all with equal weights in one sample.
    """

    groups: float
    items: float
    tasks: float
    n_items: int
    n_tasks: int
    n_clusters: int
    n_effective: float
    freedom: float
    is_single: bool


@dataclass(frozen=True, slots=True)
class PlannedNumber:
    """The number that a later run estimates: its value now, its components, and its scale.

    `is_binary`: answers are right or wrong. `has_bound`: the components come from a pilot and are
    taken at their upper bound.
    """

    value: float
    components: VarianceComponents
    is_share: bool = True
    is_binary: bool = True
    has_bound: bool = True


@ignore_overflow
def measure_design(rows: Columns, formula: LinearisedFormula) -> DesignSizes:
    """Return the sizes of a design: one row per task, with the values that a run may give.

    Only the weights of the rows are used. Raises UsageError where the formula has no value there.
    """
    selected = formula.select_rows(rows)
    found = formula.linearise(selected)
    counted = np.flatnonzero(found.counted & (found.weight > 0))
    if not len(counted):
        raise UsageError(
            "the headline has no value on the planned tasks; next: a pilot that covers its "
            "categories, given by --pilot"
        )
    part, weight = selected.where(counted), found.weight[counted]
    cluster = group_codes(part.cluster)
    item = group_codes([*zip(cluster.tolist(), part.item, strict=True)])
    task = group_codes([*zip(item.tolist(), part.task, strict=True)])
    squares = [
        float(np.square(sum_by_code(code, weight, int(code.max()) + 1)).sum())
        for code in (cluster, item, task)
    ]
    n_clusters, freedom, n_effective, n_blocks = _measure_freedom(found, selected)
    n_items, n_tasks = int(item.max()) + 1, int(task.max()) + 1
    return DesignSizes(
        groups=squares[0],
        items=squares[1],
        tasks=squares[2],
        n_items=n_items,
        n_tasks=n_tasks,
        n_clusters=n_clusters,
        n_effective=n_effective,
        freedom=freedom,
        is_single=n_blocks == 1 and n_clusters == n_tasks and bool((weight == weight[0]).all()),
    )


def _measure_freedom(found: Linearisation, rows: Columns) -> tuple[int, float, float, int]:
    """Return the number of clusters, the degrees of freedom, the effective number, and blocks.

    The variances of the blocks are taken as if rows of a cluster were all alike.
    """
    (sums,), block = sum_clusters([found], [rows.cluster])
    sizes = measure_blocks(block, sums.weight)
    freedom = np.maximum(sizes.n_effective - 1, 0.5)
    largest = np.square(sizes.weight) / np.maximum(sizes.n_effective, 1.0)
    n_effective = float(sums.weight.sum()) ** 2 / float(np.square(sums.weight).sum())
    degrees = combine_freedom(largest, freedom, largest)
    return len(block), degrees, n_effective, len(sizes.weight)


def plan_variance(sizes: DesignSizes, repeats: int, components: VarianceComponents) -> float:
    """Return the variance of the number where each task of a design is asked `repeats` times."""
    return (
        components.group * sizes.groups
        + components.item * sizes.items
        + components.variant * sizes.tasks
        + components.repeat * sizes.tasks / repeats
    )


# --- one run ----------------------------------------------------------------------------


@ignore_overflow
def plan_half_width(sizes: DesignSizes, repeats: int, number: PlannedNumber) -> float:
    """Return half the length of the 95 % interval that the later run will have.

    The components are at their upper bound, for the variance that the later run estimates. The
    interval is that of the headline (`cluster_inference`): Wilson's for single right and wrong, t
    on the logit scale for other shares, and a normal one for other numbers.
    """
    factor = bound_factor(number.components, sizes.n_effective) if number.has_bound else 1.0
    components = number.components.scale_by(factor)
    if not number.is_share:
        return NORMAL_QUANTILE * math.sqrt(plan_variance(sizes, repeats, components))
    if sizes.is_single and repeats == 1 and number.is_binary:
        low, high = wilson_score(
            _bounded_share(number.value, components.total), sizes.n_tasks, NORMAL_QUANTILE
        )
        return (high - low) / 2
    value = min(max(number.value, 1e-6), 1 - 1e-6)
    if components.total > value * (1 - value):  # then the share, too, may be nearer to one half
        value = _bounded_share(value, components.total)
    spread = value * (1 - value)
    trials = sizes.n_tasks * repeats / sizes.n_clusters
    independent = sizes.tasks / repeats * spread
    added = independent * min(1.0, _ADDED_TRIALS / trials) / sizes.n_effective
    variance = plan_variance(sizes, repeats, components) + added
    low, high = logit_interval(value, variance, sizes.n_effective, sizes.freedom)
    return (high - low) / 2


def _bounded_share(value: float, variance: float) -> float:
    """Return the share on the side of `value` whose variance is that of single trials."""
    reach = math.sqrt(max(0.0, 0.25 - variance))
    return 0.5 + reach if value > 0.5 else 0.5 - reach


# --- two runs ---------------------------------------------------------------------------


def relate_runs(components: VarianceComponents, correlation: float) -> VarianceComponents:
    """Return the components of the difference of two runs whose single answers correlate.

    Repeats of two runs are independent, so what correlates is in the other components. Raises
    UsageError for a correlation that leaves less than the repeats' own variance.
    """
    total, lasting = components.total, components.total - components.repeat
    rest = total * (1 - correlation) - components.repeat
    if rest < -1e-9 * total or not -1 <= correlation < 1:
        most = lasting / total if total else 0.0
        raise UsageError(
            f"--correlation {format_short(correlation)}: repeats of one run correlate by "
            f"{format_fixed(most, 2)} only, and two runs cannot agree more; next: --correlation "
            "from 0 to that"
        )
    share = 2 * max(rest, 0.0) / lasting if lasting > 0 else 0.0
    return VarianceComponents(
        group=components.group * share,
        item=components.item * share,
        variant=components.variant * share,
        repeat=2 * components.repeat,
        separated=components.separated,
        freedom=components.freedom,
        kurtosis_excess=components.kurtosis_excess,
    )


@ignore_overflow
def plan_power(sizes: DesignSizes, repeats: int, difference: float, number: PlannedNumber) -> float:
    """Return the chance that the paired test of `compare` finds a true difference.

    The components are those of the difference. Single right and wrong answers have McNemar's mid-p
    test, whose power is summed exactly (`paired_tests.power_of_single_pairs`). All others have the
    t-test over clusters, whose statistic is noncentral t.
    """
    factor = bound_factor(number.components) if number.has_bound else 1.0
    components = number.components.scale_by(factor)
    if sizes.is_single and repeats == 1 and number.is_binary:
        discordant = min(1.0, components.total + difference**2)
        return power_of_single_pairs(difference, discordant, sizes.n_tasks)
    variance = plan_variance(sizes, repeats, components)
    if variance <= 0:
        return 1.0
    freedom = max(sizes.freedom, 0.5)
    # the test adds one cluster to the variance (`paired_tests.difference_variance`)
    quantile = float(stdtrit(freedom, 1 - SIGNIFICANCE_LEVEL / 2))
    critical = quantile * math.sqrt(1 + 1 / sizes.n_effective)
    shift = difference / math.sqrt(variance)
    found = 1 - float(nctdtr(freedom, shift, critical)) + float(nctdtr(freedom, shift, -critical))
    return found if math.isfinite(found) else float(shift > critical)


def plan_detectable(
    sizes: DesignSizes, repeats: int, number: PlannedNumber, power: float = POWER
) -> float | None:
    """Return the least difference that is found with this power; None where no share is."""
    most = 1.0 if number.is_share else 1e6 * math.sqrt(number.components.total)
    if plan_power(sizes, repeats, most, number) < power:
        return None
    low, high = 0.0, most
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if plan_power(sizes, repeats, middle, number) < power:
            low = middle
        else:
            high = middle
    return high


# --- the least design -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChosenDesign:
    """The cheapest design that reaches a goal, or the best that there is where none does."""

    n_items: int
    repeats: int
    sizes: DesignSizes
    is_reached: bool


def choose_design(
    measure: Callable[[int], DesignSizes | None],
    reaches: Callable[[DesignSizes, int], bool],
    n_available: int,
    *,
    can_repeat: bool,
    n_least: int = 5,
) -> ChosenDesign:
    """Return the design with the fewest episodes that reaches the goal.

    `measure` gives the sizes of a design of n items, None for one that is too small. Further
    repeats are tried only with `can_repeat`. Of designs with equally many episodes the one with the
    fewest repeats is taken. Where none reaches the goal it is the largest one: all items, with all
    repeats that may help.
    """
    best: tuple[int, int, int] | None = None
    largest = measure(n_available)
    assert largest is not None

    def is_enough(n_items: int, repeats: int) -> bool:
        sizes = measure(n_items)
        return sizes is not None and reaches(sizes, repeats)

    for repeats in range(1, MAX_REPEATS + 1 if can_repeat else 2):
        if best is not None and repeats * n_least >= best[0]:
            break
        if not reaches(largest, repeats):
            continue
        low, high = min(n_least, n_available) - 1, n_available
        while high - low > 1:
            middle = (low + high) // 2
            if is_enough(middle, repeats):
                high = middle
            else:
                low = middle
        found = (high * repeats, repeats, high)
        best = found if best is None else min(best, found)
    if best is None:
        repeats = MAX_REPEATS if can_repeat else 1
        return ChosenDesign(n_available, repeats, largest, is_reached=False)
    _, repeats, n_items = best
    return ChosenDesign(n_items, repeats, measure(n_items) or largest, is_reached=True)
