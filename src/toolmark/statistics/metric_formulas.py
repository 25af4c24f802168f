"""The formulas of metrics, a closed list: each is data with one method from columns to a number.

A run folder names the formulas of its metrics and their parameters. A reader of the folder looks
them up here, so that its numbers do not need the suite's code. A name that is not in `Formula` is
refused when the folder is read. The formulas over levels and over classes are in `level_formulas`
and `class_formulas`, that of a judge and labels in `label_formulas`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.core.records import Estimate, Record
from toolmark.statistics import interval_limits, weighted_means
from toolmark.statistics.class_formulas import MacroF1
from toolmark.statistics.confidence_intervals import bootstrap_interval
from toolmark.statistics.estimates import (
    estimate_mean,
    estimate_part_average,
    estimate_pass_rate,
    estimate_pooled_share,
)
from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.level_formulas import LevelMean, LevelSpread
from toolmark.statistics.score_columns import (
    Columns,
    Mask,
    Names,
    Numbers,
    describe_partial,
    ordered_levels,
    with_values,
)
from toolmark.statistics.weighted_means import Group

# errors may be as large as the largest float, so that their sums overflow
_ignore_overflow = np.errstate(over="ignore", invalid="ignore")


# --- rows -------------------------------------------------------------------------------


class RowFilter(Record, frozen=True, kw_only=True):
    """A filter of rows by one of their columns.

    `column` is `category`, `axes.NAME` or `parts.NAME`. The filter selects rows whose cell is one
    of `values` (numbers for a part, text for the others), or with `is_excluding` is none of them.
    With `all_if_none` it selects all rows where it would select none.
    """

    column: str
    values: tuple[str | float, ...]
    is_excluding: bool = False
    all_if_none: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown kind of column."""
        if not re.match(r"category\Z|axes\.|parts\.", self.column):
            raise ValueError(f"no column {self.column!r}; known: category, axes.NAME, parts.NAME")

    def select_rows(self, columns: Columns) -> Columns:
        """Return the selected rows."""
        kind, _, name = self.column.partition(".")
        found: Names | Numbers
        match kind:
            case "category":
                found = columns.category
            case "axes":
                found = columns.axis(name)
            case _:
                found = columns.part(name)
        mask: Mask = np.isin(found, np.array(self.values, dtype=found.dtype)) != self.is_excluding
        return columns if self.all_if_none and not mask.any() else columns.where(mask)


def apply_filters(columns: Columns, filters: Sequence[RowFilter]) -> Columns:
    """Return the rows that every filter selects, applied in order."""
    return reduce(lambda rows, each: each.select_rows(rows), filters, columns)


# --- formulas ---------------------------------------------------------------------------


class Mean(Record, frozen=True, kw_only=True, tag="mean"):
    """The mean value, or the mean of a part within [0, 1] over the rows that have it.

    `failed_part` names a part; rows where it is 1 count as 0.
    """

    part: str = ""
    failed_part: str = ""

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval (`estimate_mean`)."""
        if not self.part:
            return estimate_mean(columns, "")
        values = columns.part(self.part)
        if self.failed_part:
            values = np.where(columns.part(self.failed_part) == 1, 0.0, values)
        return estimate_mean(with_values(columns, values), "")


class UnboundedMean(Record, frozen=True, kw_only=True, tag="unbounded_mean"):
    """The mean of a part that may exceed 1, over the rows that have it (`estimate_part_average`).

    With `is_share` it is displayed in per cent.
    """

    part: str
    is_share: bool = False

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        return replace(estimate_part_average(columns, self.part), is_share=self.is_share)


class EqualShare(Record, frozen=True, kw_only=True, tag="equal"):
    """The share of rows in which two parts are equal, over the rows that have both."""

    part: str
    other_part: str

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        one, two = columns.part(self.part), columns.part(self.other_part)
        return estimate_mean(
            with_values(columns, np.where(np.isnan(one) | np.isnan(two), np.nan, one == two)), ""
        )


class PooledRate(Record, frozen=True, kw_only=True, tag="rate"):
    """The sum of one part over the sum of another, such as calls of a kind among all calls.

    With `is_weighted` the first part is a mean per row, and the part `total_part` is its weight.
    Where `total_part` sums to 0 but the part `attempts_part` does not, the rate is 0, not unknown.
    """

    part: str
    total_part: str
    is_weighted: bool = False
    attempts_part: str = ""

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval over items (`estimate_pooled_share`)."""
        totals = columns.part(self.total_part)
        hits = columns.part(self.part)
        found = estimate_pooled_share(
            "", hits * totals if self.is_weighted else hits, totals, columns.item
        )
        if not found.n and self.attempts_part and np.nansum(columns.part(self.attempts_part)):
            return Estimate(name="", value=0.0)
        return found


class MeanOfFormulas(Record, frozen=True, kw_only=True, tag="mean_of"):
    """The unweighted mean of other formulas, None where one of them is None; no interval."""

    formulas: tuple[Formula, ...]

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; `n` counts the rows that ran."""
        found = [each.measure(columns).value for each in self.formulas]
        known = [value for value in found if value is not None]
        value = sum(known) / len(known) if known and len(known) == len(found) else None
        return Estimate(name="", value=value, n=int(columns.run.sum()))


class FilteredFormula(Record, frozen=True, kw_only=True, tag="filtered"):
    """Another formula over the rows that the filters select."""

    filters: tuple[RowFilter, ...]
    formula: Formula

    @property
    def is_share(self) -> bool:
        """Tell whether the number lies within 0 and 1."""
        return self.formula.is_share

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        return self.formula.measure(apply_filters(columns, self.filters))


class StratifiedMean(Record, frozen=True, kw_only=True, tag="stratified"):
    """A weighted mean over categories (`weighted_means.combine_estimates`).

    `entries` is the number of rows of each category that may have no rows here. `joined` names
    further categories whose rows count in a category of the group.
    """

    group: Group
    entries: dict[str, int] = {}
    joined: dict[str, tuple[str, ...]] = {}

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; `partial` where a category has no result."""
        leaves = weighted_means.group_categories(self.group)
        parts = {name: self._category_mean(name, columns) for name in leaves}
        return weighted_means.combine_estimates(self.group, parts, self.entries)

    def _category_mean(self, name: str, columns: Columns) -> Estimate:
        """Return a category's mean; bounds 0 and 1 where it has rows but none ran."""
        names = (name, *self.joined.get(name, ()))
        rows = RowFilter(column="category", values=names).select_rows(columns)
        found = estimate_mean(rows, name)
        return found if found.n or not len(rows) else Estimate(name=name, worst=0.0, best=1.0)


class PassRate(Record, frozen=True, kw_only=True, tag="passes"):
    """The chance that all of k answers to a task are correct, or any (`estimate_pass_rate`)."""

    k: int
    all_attempts: bool

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; `n` counts tasks."""
        return estimate_pass_rate(columns, self.k, "", every=self.all_attempts)


class RelativeError(Record, frozen=True, kw_only=True, tag="relative_error"):
    """The sum of errors over the sum of a baseline's errors on the same rows.

    The baseline's errors are the part named `base_` plus the name of `part`.
    """

    part: str

    is_share = False

    @_ignore_overflow
    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval over groups (`Columns.cluster`).

        There is no interval with few groups (`bootstrap_interval`), nor with fewer than
        FEWEST_ANSWERS rows: the baseline's errors may be large in rare rows only, and a small
        sample may have none of these.
        """
        rows = columns.where(columns.run & ~np.isnan(columns.part(self.part)))
        own, base = rows.part(self.part), rows.part(f"base_{self.part}")
        if not len(rows) or not base.sum() > 0:
            return Estimate(name="", is_share=False)
        few = len(rows) < interval_limits.FEWEST_ANSWERS
        low, high = (
            (np.nan, np.nan) if few else bootstrap_interval(own, rows.cluster, denominators=base)
        )
        ends = (None, None) if np.isnan(low) else (low, high)
        return Estimate(name="", value=float(own.sum() / base.sum()), low=ends[0], high=ends[1],
                        n=len(rows), is_share=False)  # fmt: skip


class MeanOverCategories(Record, frozen=True, kw_only=True, tag="over_categories"):
    """The unweighted mean over categories of another formula.

    It serves where the numbers of several categories have no common unit. `categories_label` is the
    displayed name for categories.
    """

    formula: Formula
    categories_label: str

    @property
    def is_share(self) -> bool:
        """Tell whether the number lies within 0 and 1."""
        return self.formula.is_share

    @_ignore_overflow
    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; it is `partial` where a category did not run.

        The categories are independent, so the interval of the mean comes from theirs: the squared
        distances of their ends from their values are added (Zou and Donner 2008).
        """
        names = ordered_levels(columns.category)
        parts = [self.formula.measure(columns.where(columns.category == name)) for name in names]
        found = [each for each in parts if each.value is not None]
        if not found:
            return self.formula.measure(columns)
        partial = describe_partial(columns, self.categories_label)
        if len(found) < 2:
            return replace(found[0], partial=partial)
        values = np.array([each.value for each in found])
        ends = [(each.low, each.high) for each in found]
        has_intervals = all(low is not None and high is not None for low, high in ends)
        low, high = np.array(ends, dtype=float).T
        middle = float(values.mean())
        return Estimate(
            name="",
            value=middle,
            n=sum(each.n for each in found),
            is_share=self.is_share,
            low=middle - float(np.hypot.reduce(values - low)) / len(found)
            if has_intervals
            else None,
            high=middle + float(np.hypot.reduce(high - values)) / len(found)
            if has_intervals
            else None,
            partial=partial,
        )


Formula: TypeAlias = (
    Mean
    | UnboundedMean
    | EqualShare
    | PooledRate
    | MeanOfFormulas
    | FilteredFormula
    | StratifiedMean
    | LevelMean
    | LevelSpread
    | PassRate
    | RelativeError
    | MeanOverCategories
    | MacroF1
    | PredictionPoweredMean
)


# --- metrics ----------------------------------------------------------------------------


class Metric(Record, frozen=True):
    """One number of a suite: a formula over columns, and how it is displayed.

    `name` is the name in files. `title`, if set, is the displayed name, and `unit` says what `n`
    counts. `filters` are filters that select the rows of the number; without any it uses all rows.
    `title_in_whole` is its displayed name in a comparison with runs of which it is a part ("exact
    match, by text"). `compared_part`, if set, is the part of the verdicts whose mean over answers
    the number is; two runs are then also compared by that part.
    """

    name: str
    formula: Formula = Mean()
    title: str = ""
    unit: str = ""
    filters: tuple[RowFilter, ...] = ()
    title_in_whole: str = ""
    compared_part: str = ""

    @property
    def label(self) -> str:
        """The displayed name."""
        return self.title or self.name

    def select_rows(self, columns: Columns) -> Columns:
        """Return the rows that the number is computed from."""
        return apply_filters(columns, self.filters)

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; the estimate has the metric's name."""
        return replace(self.formula.measure(self.select_rows(columns)), name=self.name)
