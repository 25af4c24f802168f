"""Where intervals are known to cover the truth less often than they say, in words."""

from __future__ import annotations

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Estimate
from toolmark.statistics.confidence_intervals import group_codes
from toolmark.statistics.interval_limits import FEWEST_GROUPS
from toolmark.statistics.linearisation import Linearisation
from toolmark.statistics.score_columns import Columns, Mask, Names, Numbers

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
    weight = np.bincount(code, found.weight[rows])
    effective = float(weight.sum()) ** 2 / float(np.square(weight).sum())
    if effective < FEWEST_GROUPS:
        groups = number_format.pluralize(n_groups, "group") + " of answers"
        if effective < 0.9 * n_groups:
            equal = number_format.format_fixed(effective, 1)
            groups += f", which weigh as much as {equal} equal ones"
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


def missing_warning(columns: Columns, estimate: Estimate) -> str:
    """Return a warning where what was not run is harder, or easier, than what was.

    An episode that was not run is expected to have the mean of its item's other episodes, else that
    of its category. The warning says by how much the score would then differ, where that is at
    least a point and a quarter of the interval's half-width.
    """
    if not estimate.is_share or estimate.value is None or estimate.low is None:
        return ""
    ran = columns.run
    if ran.all() or not ran.any():
        return ""
    overall = float(columns.value[ran].mean())
    expected = _group_means(columns.category, columns.value, ran, np.full(len(columns), overall))
    expected = _group_means(columns.item, columns.value, ran, expected)
    whole = np.where(ran, columns.value, expected)
    shift = float(whole.mean()) - overall
    half = ((estimate.high or 0.0) - estimate.low) / 2
    if abs(shift) < max(_LEAST_SHIFT, half / 4):
        return ""
    kind = "harder" if shift < 0 else "easier"
    points = number_format.format_fixed(100 * abs(shift), 1)
    return (
        f"what was not run is {kind} than what was: by its items and categories the mean would be "
        f"{points} points {'lower' if shift < 0 else 'higher'}, which no interval shows"
    )


def _group_means(names: Names, values: Numbers, ran: Mask, default: Numbers) -> Numbers:
    """Return for each row the mean of its group's rows that ran, else the default."""
    code = group_codes(names)
    n = int(code.max(initial=-1)) + 1
    count = np.bincount(code, ran, n)
    total = np.bincount(code, np.where(ran, values, 0.0), n)
    mean = np.divide(total, count, out=np.zeros(n), where=count > 0)
    found: Numbers = np.where(count[code] > 0, mean[code], default)
    return found
