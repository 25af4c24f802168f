"""Where intervals are known to cover the truth less often than they say, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Estimate
from toolmark.statistics.confidence_intervals import group_codes
from toolmark.statistics.interval_limits import FEWEST_GROUPS
from toolmark.statistics.linearisation import Codes, Linearisation, sum_by_code
from toolmark.statistics.score_columns import Columns, Names, Numbers

MAX_LISTED = 8  # numbers with a warning that a note names
FEWEST_EVENTS = 5  # groups with a success, and groups with a failure
_ROUNDING = 1e-9
_LEAST_WEIGHT = 1e-300  # rows without weight divide by no zero
_LEAST_SHIFT = 0.01  # of a score, by what was not run


def interval_warning(found: Linearisation, columns: Columns) -> str:
    """Return why the interval of a number may be too narrow, "" where nothing is known against it.

    Intervals over groups of several rows need 20 groups, and at least five groups in which a row is
    right and five in which one is wrong: the groups that were not drawn may be the others.
    """
    rows = np.flatnonzero(found.counted)
    code = group_codes(columns.cluster[rows])
    n_groups = int(code.max(initial=-1)) + 1
    if n_groups == len(rows):
        return ""
    if groups := describe_few_groups(sum_by_code(code, found.weight[rows], n_groups)):
        limit = f"with fewer than {FEWEST_GROUPS} it may be too narrow"
        return f"the interval rests on {groups}; {limit}"
    if found.scale != "share":
        return ""
    own = found.influence[rows] / np.maximum(found.weight[rows], _LEAST_WEIGHT)
    own += found.centre[rows]
    rare = min(len(set(code[own > _ROUNDING])), len(set(code[own < 1 - _ROUNDING])))
    if rare < FEWEST_EVENTS:
        groups = number_format.pluralize(rare, "group")
        limit = f"with fewer than {FEWEST_EVENTS} the interval may be too narrow"
        return f"the rarer outcome occurs in {groups}; {limit}"
    return ""


def describe_few_groups(weights: Numbers, unit: str = "group", of: str = " of answers") -> str:
    """Return "5 groups of answers" where groups of these weights are too few, else "".

    Groups of unequal weight count as many as their effective number (Kish).
    """
    effective = float(weights.sum()) ** 2 / float(np.square(weights).sum())
    if effective >= FEWEST_GROUPS:
        return ""
    groups = number_format.pluralize(len(weights), unit) + of
    if effective < 0.9 * len(weights):
        equal = number_format.format_fixed(effective, 1)
        groups += f", which weigh as much as {equal} equal ones"
    return groups


def difference_warning(weights: Numbers, n_pairs: int) -> str:
    """Return why the test of a difference may find too much, "" where nothing is known against it.

    `weights` are those of the groups of the pairs. Pairs that are groups of their own need none.
    """
    if len(weights) == n_pairs or not (groups := describe_few_groups(weights)):
        return ""
    return (
        f"the difference rests on {groups}; with fewer than {FEWEST_GROUPS} its interval may be "
        "too narrow, and its test find too much"
    )


def ranking_warning(weights: Numbers, n_items: int) -> str:
    """Return why the sets of a ranking may be too narrow, "" where nothing is known against them.

    `weights` are those of the groups of the items.
    """
    has_groups = len(weights) < n_items
    groups = describe_few_groups(weights, *(() if has_groups else ("item", "")))
    limit = f"with fewer than {FEWEST_GROUPS} their sets may be too narrow"
    return f"the ranks rest on {groups}; {limit}" if groups else ""


def warned_numbers_note(estimates: Iterable[Estimate]) -> str:
    """Return which numbers of a table have a warning, "" where none has one."""
    listed = list(estimates)
    names = list(dict.fromkeys(each.name for each in listed if each.warning))
    if not names:
        return ""
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    found = f"{', '.join(names[:MAX_LISTED])}{more}"
    if len(listed) > 1 and all(each.warning for each in listed if each.low is not None):
        found = "all rows"
    return f"Intervals that may be too narrow (few groups, or a rare outcome): {found}."


def missing_warning(
    measure_value: Callable[[Columns], float | None],
    columns: Columns,
    estimate: Estimate,
    *,
    lower_is_better: bool = False,
) -> str:
    """Return a warning where what was not run is harder, or easier, than what was.

    `measure_value` returns the number itself over rows, whose weights it takes (`Columns.weight`).
    An episode that was not run is expected to have the answers of its task's other repeats, else of
    its item's other tasks, else of its category (`complete_rows`). The warning says by how much
    the number would then differ, where that is at least a point and a quarter of the interval's
    half-width.
    """
    if not estimate.is_share or estimate.value is None or estimate.low is None:
        return ""
    if columns.run.all() or not columns.run.any():
        return ""
    observed, completed = measure_value(columns), measure_value(complete_rows(columns))
    if observed is None or completed is None:
        return ""
    shift = completed - observed
    half = ((estimate.high or 0.0) - estimate.low) / 2
    if abs(shift) < max(_LEAST_SHIFT, half / 4):
        return ""
    kind = "harder" if (shift < 0) != lower_is_better else "easier"
    points = number_format.format_fixed(100 * abs(shift), 1)
    return (
        f"what was not run is {kind} than what was: by its items and categories the score would be "
        f"{points} points {'lower' if shift < 0 else 'higher'}, which no interval shows"
    )


def complete_rows(columns: Columns) -> Columns:
    """Return the rows that ran, with weights and further rows that stand for those that did not.

    The weight of a missing row is divided among the rows of its task that ran. Where there are none
    it is divided among copies of its item's rows, which take its place: its category and its axes.
    Where the item never ran either, the rows of its category have the weight (fractional and cell
    imputation: Kalton and Kish 1984). Rows of a category that never ran are left out.
    """
    weight = np.where(columns.run, columns.mass, 0.0)
    missing = np.where(columns.run, 0.0, columns.mass)
    weight, missing = _share_missing(columns.task, weight, missing)
    donor, receiver, part = _find_stand_ins(group_codes(columns.item), weight, missing)
    missing[receiver] = 0.0
    weight, _ = _share_missing(columns.category, weight, missing)
    ran = np.flatnonzero(columns.run)
    answers = columns.where(np.concatenate([ran, donor]))
    places = columns.where(np.concatenate([ran, receiver]))
    return replace(
        answers,
        task=places.task,
        item=places.item,
        category=places.category,
        axes=places.axes,
        weight=np.concatenate([weight[ran], part]),
    )


def _share_missing(names: Names, weight: Numbers, missing: Numbers) -> tuple[Numbers, Numbers]:
    """Return the weights with those of missing rows of the same name, and what is still missing."""
    code = group_codes(names)
    n = int(code.max(initial=-1)) + 1
    present, absent = sum_by_code(code, weight, n), sum_by_code(code, missing, n)
    factor = 1 + np.divide(absent, present, out=np.zeros(n), where=present > 0)
    return weight * factor[code], np.where(present[code] > 0, 0.0, missing)


def _find_stand_ins(item: Codes, weight: Numbers, missing: Numbers) -> tuple[Codes, Codes, Numbers]:
    """Return pairs of a row with weight and a missing row of the same item, and its weight there.

    A missing row has a pair with each row of its item, and its weight is divided in proportion.
    """
    donors, receivers = np.flatnonzero(weight > 0), np.flatnonzero(missing > 0)
    donors = donors[np.argsort(item[donors], kind="stable")]
    n_items = int(item.max(initial=-1)) + 1
    counts = np.bincount(item[donors], minlength=n_items)
    starts = np.cumsum(counts) - counts
    n_each = counts[item[receivers]]
    receiver = np.repeat(receivers, n_each)
    within = np.arange(len(receiver)) - np.repeat(np.cumsum(n_each) - n_each, n_each)
    donor = donors[starts[item[receiver]] + within]
    totals = sum_by_code(item, weight, n_items)
    return donor, receiver, missing[receiver] * weight[donor] / totals[item[receiver]]
