"""The formulas of metrics, a closed list: each is data with one method from columns to a number.

A run folder names the formulas of its metrics and their parameters. A reader of the folder looks
them up here, so that its numbers do not need the suite's code. A name that is not in `Formula` is
refused when the folder is read.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.core.records import Estimate, Record
from toolmark.statistics import weighted_means
from toolmark.statistics.confidence_intervals import bootstrap_interval, ratio_interval
from toolmark.statistics.estimates import (
    estimate_mean,
    estimate_part_average,
    estimate_pass_rate,
    estimate_pooled_share,
)
from toolmark.statistics.interval_limits import FEWEST_ANSWERS
from toolmark.statistics.score_columns import Columns, Mask, Names, Numbers, with_values
from toolmark.statistics.weighted_means import Group

# errors may be as large as the largest float, so that their sums overflow
_ignore_overflow = np.errstate(over="ignore", invalid="ignore")


MOST_CLASSES = 1_000_000


# --- rows -------------------------------------------------------------------------------


class RowFilter(Record, frozen=True, kw_only=True):
    """A filter of rows by one of their columns.

    `column` is `category`, `axes.NAME` or `parts.NAME`. The filter selects rows whose cell is one
    of `values` (numbers for a part, text for the others), or with `other` is none of them. With
    `or_all` it selects all rows where it would select none.
    """

    column: str
    values: tuple[str | float, ...]
    other: bool = False
    or_all: bool = False

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
        mask: Mask = np.isin(found, np.array(self.values, dtype=found.dtype)) != self.other
        return columns if self.or_all and not mask.any() else columns.where(mask)


def apply_filters(columns: Columns, filters: Sequence[RowFilter]) -> Columns:
    """Return the rows that every filter selects, applied in order."""
    return reduce(lambda rows, each: each.select_rows(rows), filters, columns)


# --- formulas ---------------------------------------------------------------------------


class Mean(Record, frozen=True, kw_only=True, tag="mean"):
    """The mean value, or the mean of a part within [0, 1] over the rows that have it.

    `zero` names a part; rows where it is 1 count as 0.
    """

    part: str = ""
    zero: str = ""

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval (`estimate_mean`)."""
        if not self.part:
            return estimate_mean(columns, "")
        values = columns.part(self.part)
        if self.zero:
            values = np.where(columns.part(self.zero) == 1, 0.0, values)
        return estimate_mean(with_values(columns, values), "")


class AverageOfPart(Record, frozen=True, kw_only=True, tag="average"):
    """The mean of a part that may exceed 1, over the rows that have it (`estimate_part_average`).

    With `share` it is displayed in per cent.
    """

    part: str
    share: bool = False

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        return replace(estimate_part_average(columns, self.part), share=self.share)


class EqualShare(Record, frozen=True, kw_only=True, tag="equal"):
    """The share of rows in which two parts are equal, over the rows that have both."""

    part: str
    other: str

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        one, two = columns.part(self.part), columns.part(self.other)
        return estimate_mean(
            with_values(columns, np.where(np.isnan(one) | np.isnan(two), np.nan, one == two)), ""
        )


class PooledRate(Record, frozen=True, kw_only=True, tag="rate"):
    """The sum of one part over the sum of another, such as calls of a kind among all calls.

    With `weighted` the first part is a mean per row, and the part `of` is its weight. Where `of`
    sums to 0 but the part `zero` does not, the rate is 0, not unknown.
    """

    part: str
    of: str
    weighted: bool = False
    zero: str = ""

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval over items (`estimate_pooled_share`)."""
        totals = columns.part(self.of)
        hits = columns.part(self.part)
        found = estimate_pooled_share(
            "", hits * totals if self.weighted else hits, totals, columns.item
        )
        if not found.n and self.zero and np.nansum(columns.part(self.zero)):
            return Estimate(name="", value=0.0)
        return found


class MeanOfFormulas(Record, frozen=True, kw_only=True, tag="mean_of"):
    """The unweighted mean of other formulas, None where one of them is None; no interval."""

    formulas: tuple[Formula, ...]

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; `n` counts the rows that ran."""
        found = [each.measure(columns).value for each in self.formulas]
        known = [value for value in found if value is not None]
        value = sum(known) / len(known) if known and len(known) == len(found) else None
        return Estimate(name="", value=value, n=int(columns.run.sum()))


class FilteredFormula(Record, frozen=True, kw_only=True, tag="of"):
    """Another formula over the rows that the filters select."""

    rows: tuple[RowFilter, ...]
    formula: Formula

    @property
    def share(self) -> bool:
        """Tell whether the number lies within 0 and 1."""
        return self.formula.share

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        return self.formula.measure(apply_filters(columns, self.rows))


class StratifiedMean(Record, frozen=True, kw_only=True, tag="stratified"):
    """A weighted mean over categories (`weighted_means.combine_estimates`).

    `entries` is the number of rows of each category that may have no rows here. `joined` names
    further categories whose rows count in a category of the group.
    """

    group: Group
    entries: dict[str, int] = {}
    joined: dict[str, tuple[str, ...]] = {}

    share = True

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


class LevelMean(Record, frozen=True, kw_only=True, tag="level_mean"):
    """The mean over the levels of an axis, with equal weights; the interval counts items.

    `word` is the displayed name for levels. The levels in `order` are added first.
    """

    axis: str
    word: str
    order: tuple[str, ...] = ()

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; it is `partial` where a level has no row that ran.

        `worst` and `best` are the means over levels of their `worst` and `best`.
        """
        levels = columns.axis(self.axis)
        position = {name: at for at, name in enumerate(self.order)}
        names = sorted({str(name) for name in levels} - {""})
        names.sort(key=lambda name: position.get(name, len(position)))
        parts = {name: estimate_mean(columns.where(levels == name), name) for name in names}
        ran = [name for name in names if parts[name].n]
        if not ran:
            return Estimate(name="")
        rows = columns.where(columns.run & np.isin(levels, np.array(ran, dtype=object)))
        # weights have a mean of 1, so that the variance in ratio_interval is that of plain rows
        size = len(rows) / len(ran)
        weight = np.array([size / parts[str(name)].n for name in rows.axis(self.axis)])
        low, high = ratio_interval(rows.value * weight, weight, rows.item)
        n = len(parts)
        return Estimate(
            name="",
            value=sum(parts[name].value or 0.0 for name in ran) / len(ran),
            low=low,
            high=high,
            n=len(rows),
            worst=sum(part.worst or 0.0 for part in parts.values()) / n,
            best=sum(1.0 if part.best is None else part.best for part in parts.values()) / n,
            partial="" if len(ran) == n else f"{len(ran)} of {n} {self.word} run",
        )


class LevelSpread(Record, frozen=True, kw_only=True, tag="spread"):
    """The spread of the means of an axis's levels; no interval.

    `range` is the greatest minus the least mean, `deviation` the sample standard deviation (n - 1).
    Both are 0 for fewer than two levels.
    """

    axis: str
    of: Literal["range", "deviation"]

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; `n` counts the rows that ran."""
        levels = columns.axis(self.axis)
        names = sorted({str(name) for name in levels} - {""})
        found = [estimate_mean(columns.where(levels == name), name) for name in names]
        values = [each.value for each in found if each.value is not None]
        spread = statistics.stdev if self.of == "deviation" else _value_range
        value = spread(values) if len(values) > 1 else 0.0
        return Estimate(name="", value=value, n=sum(each.n for each in found))


def _value_range(values: Sequence[float]) -> float:
    return max(values) - min(values)


class PassRate(Record, frozen=True, kw_only=True, tag="passes"):
    """The chance that all of k answers to a task are correct, or any (`estimate_pass_rate`)."""

    k: int
    every: bool

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; `n` counts tasks."""
        return estimate_pass_rate(columns, self.k, "", every=self.every)


class RelativeError(Record, frozen=True, kw_only=True, tag="relative_error"):
    """The sum of errors over the sum of a baseline's errors on the same rows.

    The baseline's errors are the part named `base_` plus the name of `part`.
    """

    part: str

    share = False

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
            return Estimate(name="", share=False)
        few = len(rows) < FEWEST_ANSWERS
        low, high = (np.nan, np.nan) if few else bootstrap_interval(own, rows.cluster, over=base)
        ends = (None, None) if np.isnan(low) else (low, high)
        return Estimate(name="", value=float(own.sum() / base.sum()), low=ends[0], high=ends[1],
                        n=len(rows), share=False)  # fmt: skip


class MeanOverCategories(Record, frozen=True, kw_only=True, tag="over_categories"):
    """The unweighted mean over categories of another formula.

    It serves where the numbers of several categories have no common unit. `word` is the displayed
    name for categories.
    """

    formula: Formula
    word: str

    @property
    def share(self) -> bool:
        """Tell whether the number lies within 0 and 1."""
        return self.formula.share

    @_ignore_overflow
    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; it is `partial` where a category did not run.

        The categories are independent, so the interval of the mean comes from theirs: the squared
        distances of their ends from their values are added (Zou and Donner 2008).
        """
        names = sorted({str(name) for name in columns.category} - {""})
        parts = [self.formula.measure(columns.where(columns.category == name)) for name in names]
        found = [each for each in parts if each.value is not None]
        if not found:
            return self.formula.measure(columns)
        partial = describe_partial(columns, self.word)
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
            share=self.share,
            low=middle - float(np.hypot.reduce(values - low)) / len(found)
            if has_intervals
            else None,
            high=middle + float(np.hypot.reduce(high - values)) / len(found)
            if has_intervals
            else None,
            partial=partial,
        )


def describe_partial(columns: Columns, word: str) -> str:
    """Return how many categories ran, "4 of 5 categories run"; "" where all or none ran."""
    names, ran = (
        len({str(name) for name in each} - {""})
        for each in (columns.category, columns.category[columns.run])
    )
    return f"{ran} of {names} {word} run" if 0 < ran < names else ""


class MacroF1(Record, frozen=True, kw_only=True, tag="macro_f1"):
    """The mean F1 of all classes, including those that never occur; no interval.

    Parts of each row: `truth` is the index of the correct class, `said` the index of the answer
    (`raw` is used where `said` is negative), and `classes` the number of classes (`otherwise` where
    no row has it). With `split` the classes differ by category, and the number is the unweighted
    mean over categories. `word` is the displayed name for categories; with it the number is
    `partial` where a category has no row that ran.
    """

    otherwise: int
    split: bool = False
    word: str = ""

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; `n` counts the rows that ran."""
        ran = columns.where(columns.run)
        if not len(ran):
            return Estimate(name="")
        names = sorted({str(name) for name in ran.category} - {""}) if self.split else []
        sets = [ran.where(ran.category == name) for name in names] or [ran]
        partial = describe_partial(columns, self.word) if self.word else ""
        value = float(np.mean([self._mean_f1(each) for each in sets]))
        return Estimate(name="", value=value, n=len(ran), partial=partial)

    def _mean_f1(self, columns: Columns) -> float:
        """Return the mean over classes of 2 * correct / (support + answered), 0 for 0 / 0.

        Raises UsageError for a row whose truth is not one of the classes.
        """
        numbers = columns.part("classes")
        found = self.otherwise if np.isnan(numbers).all() else float(np.nanmax(numbers))
        n = int(min(max(found, 1), MOST_CLASSES))
        answers = columns.part("said")
        answers = np.where(answers < 0, columns.part("raw"), answers)
        truth, predicted = _truth_indices(columns.part("truth"), n), _class_indices(answers, n)
        support, answered = (
            np.bincount(each[each >= 0], minlength=n) for each in (truth, predicted)
        )
        correct = np.bincount(truth[truth == predicted], minlength=n)
        return float(np.mean(2 * correct / np.maximum(support + answered, 1)))


def _truth_indices(values: Numbers, n: int) -> NDArray[np.int64]:
    """Return the indices of the correct classes. Raises UsageError for one outside 0..n-1."""
    found = _class_indices(values, n)
    outside = found < 0
    if outside.any():
        row = int(outside.argmax())
        shown_value = "none" if np.isnan(values[row]) else f"{values[row]:g}"
        raise UsageError(
            f"{np.count_nonzero(outside)} of {len(found)} truths are not in 0..{n - 1}, first in "
            f"row {row}: {shown_value}"
        )
    return found


def _class_indices(values: Numbers, n: int) -> NDArray[np.int64]:
    """Return the values as class indices, -1 for a value that is not one of 0..n-1."""
    with np.errstate(invalid="ignore"):
        known = (values == np.floor(values)) & (values >= 0) & (values < n)
    return np.where(known, np.where(known, values, 0), -1).astype(np.int64)


Formula: TypeAlias = (
    Mean
    | AverageOfPart
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
)


# --- metrics ----------------------------------------------------------------------------


class Metric(Record, frozen=True):
    """One number of a suite: a formula over columns, and how it is displayed.

    `name` is the name in files. `told`, if set, is the displayed name, and `unit` says what `n`
    counts. `rows` are filters that select the rows of the number; without any it uses all rows.
    `beside` is its displayed name in a comparison with runs of which it is a part ("exact match, by
    text"). `part`, if set, is the part of the verdicts whose mean over answers the number is; two
    runs are then also compared by that part.
    """

    name: str
    formula: Formula = Mean()
    told: str = ""
    unit: str = ""
    rows: tuple[RowFilter, ...] = ()
    beside: str = ""
    part: str = ""

    @property
    def label(self) -> str:
        """The displayed name."""
        return self.told or self.name

    def select_rows(self, columns: Columns) -> Columns:
        """Return the rows that the number is computed from."""
        return apply_filters(columns, self.rows)

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; the estimate has the metric's name."""
        return replace(self.formula.measure(self.select_rows(columns)), name=self.name)
