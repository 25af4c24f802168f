"""The formulas of metrics, a closed list: each is data, and one method from columns to a number.

A run folder names the formulas of its metrics and their parameters. Whoever opens the folder looks
them up here, so that its numbers need none of the suite's code. A name that is not in `Formula` is
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

from toolmark.errors import UsageError
from toolmark.stats import figures, strata
from toolmark.stats.columns import Columns, Mask, Names, Numbers, valued
from toolmark.stats.interval import bootstrap, ratio
from toolmark.stats.strata import Group
from toolmark.stats.summary import average, mean, passes, share
from toolmark.types import Estimate, Record

# errors may be as large as numbers go, their sums larger
_quiet = np.errstate(over="ignore", invalid="ignore")


MOST_CLASSES = 1_000_000


# --- rows -------------------------------------------------------------------------------


class Filter(Record, frozen=True, kw_only=True):
    """Rows by one of their columns.

    `column` is `category`, `axes.NAME` or `parts.NAME`; rows stay where it is one of `values`
    (numbers of a part, texts of the others), or where it is none of them if `other`. Where no row
    would stay, `or_all` lets all of them stay.
    """

    column: str
    values: tuple[str | float, ...]
    other: bool = False
    or_all: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for a column of another kind."""
        if not re.match(r"category\Z|axes\.|parts\.", self.column):
            raise ValueError(f"no column {self.column!r}; known: category, axes.NAME, parts.NAME")

    def rows(self, columns: Columns) -> Columns:
        """Return the rows that stay."""
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


def filtered(columns: Columns, filters: Sequence[Filter]) -> Columns:
    """Return the rows that stay after every filter."""
    return reduce(lambda rows, each: each.rows(rows), filters, columns)


# --- formulas ---------------------------------------------------------------------------


class Mean(Record, frozen=True, kw_only=True, tag="mean"):
    """The mean value, or that of a part within [0, 1] over the rows that have it.

    `zero` names a part that marks rows which count as 0.
    """

    part: str = ""
    zero: str = ""

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval (`stats.summary.mean`)."""
        if not self.part:
            return mean(columns, "")
        values = columns.part(self.part)
        if self.zero:
            values = np.where(columns.part(self.zero) == 1, 0.0, values)
        return mean(valued(columns, values), "")


class Average(Record, frozen=True, kw_only=True, tag="average"):
    """The mean of a part that may pass 1, over the rows that have it (`stats.summary.average`).

    `share`: readers see it in per cent.
    """

    part: str
    share: bool = False

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        return replace(average(columns, self.part), share=self.share)


class Equal(Record, frozen=True, kw_only=True, tag="equal"):
    """The share of rows in which two parts are equal, over the rows that have both."""

    part: str
    other: str

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        one, two = columns.part(self.part), columns.part(self.other)
        return mean(
            valued(columns, np.where(np.isnan(one) | np.isnan(two), np.nan, one == two)), ""
        )


class Rate(Record, frozen=True, kw_only=True, tag="rate"):
    """A part over another one, pooled over rows: calls of a kind among calls.

    `weighted`: the part is a mean, which counts by the other. Where nothing is in the other part,
    but something in `zero`, the rate is 0, not unknown.
    """

    part: str
    of: str
    weighted: bool = False
    zero: str = ""

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval over items (`stats.summary.share`)."""
        totals = columns.part(self.of)
        hits = columns.part(self.part)
        found = share("", hits * totals if self.weighted else hits, totals, columns.item)
        if not found.n and self.zero and np.nansum(columns.part(self.zero)):
            return Estimate(name="", value=0.0)
        return found


class MeanOf(Record, frozen=True, kw_only=True, tag="mean_of"):
    """The plain mean of other formulas, no number where one of them has none; no interval."""

    formulas: tuple[Formula, ...]

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; n counts the rows that ran."""
        found = [each.measure(columns).value for each in self.formulas]
        known = [value for value in found if value is not None]
        value = sum(known) / len(known) if known and len(known) == len(found) else None
        return Estimate(name="", value=value, n=int(columns.run.sum()))


class Of(Record, frozen=True, kw_only=True, tag="of"):
    """Another formula over the rows that stay after the filters."""

    rows: tuple[Filter, ...]
    formula: Formula

    @property
    def share(self) -> bool:
        """Tell whether it lies within 0 and 1."""
        return self.formula.share

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval."""
        return self.formula.measure(filtered(columns, self.rows))


class Stratified(Record, frozen=True, kw_only=True, tag="stratified"):
    """A weighted mean over categories (`stats.strata.combined`).

    `entries` are how many rows a category has that was not asked; `joined` are further categories
    whose rows count in one of the group's.
    """

    group: Group
    entries: dict[str, int] = {}
    joined: dict[str, tuple[str, ...]] = {}

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; `partial` where a category has no result."""
        leaves = strata.leaves(self.group)
        parts = {name: self._category(name, columns) for name in leaves}
        return strata.combined(self.group, parts, self.entries)

    def _category(self, name: str, columns: Columns) -> Estimate:
        """Return a category's mean; one that was asked and has no result keeps its bounds."""
        names = (name, *self.joined.get(name, ()))
        mine = Filter(column="category", values=names).rows(columns)
        found = mean(mine, name)
        return found if found.n or not len(mine) else Estimate(name=name, worst=0.0, best=1.0)


class LevelMean(Record, frozen=True, kw_only=True, tag="level_mean"):
    """The mean over the levels of an axis, each of which counts alike; the interval counts items.

    `word` is what readers call levels; those of `order` are added up first.
    """

    axis: str
    word: str
    order: tuple[str, ...] = ()

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; `partial` where a level has no row that ran.

        `worst` and `best` are the means of the levels' own.
        """
        levels = columns.axis(self.axis)
        place = {name: at for at, name in enumerate(self.order)}
        names = sorted({str(name) for name in levels} - {""})
        names.sort(key=lambda name: place.get(name, len(place)))
        parts = {name: mean(columns.where(levels == name), name) for name in names}
        ran = [name for name in names if parts[name].n]
        if not ran:
            return Estimate(name="")
        rows = columns.where(columns.run & np.isin(levels, np.array(ran, dtype=object)))
        # 1 in the mean: by `ratio` rows of one item are alike, and weights of 1 are plain rows
        size = len(rows) / len(ran)
        weight = np.array([size / parts[str(name)].n for name in rows.axis(self.axis)])
        low, high = ratio(rows.value * weight, weight, rows.item)
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


class Spread(Record, frozen=True, kw_only=True, tag="spread"):
    """How far the means of an axis's levels lie apart; no interval.

    `range` is the greatest less the least, `deviation` the sample standard deviation (n - 1); both
    are 0 for fewer than two levels.
    """

    axis: str
    of: Literal["range", "deviation"]

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; n counts the rows that ran."""
        levels = columns.axis(self.axis)
        names = sorted({str(name) for name in levels} - {""})
        found = [mean(columns.where(levels == name), name) for name in names]
        values = [each.value for each in found if each.value is not None]
        apart = statistics.stdev if self.of == "deviation" else _reach
        value = apart(values) if len(values) > 1 else 0.0
        return Estimate(name="", value=value, n=sum(each.n for each in found))


def _reach(values: Sequence[float]) -> float:
    return max(values) - min(values)


class Passes(Record, frozen=True, kw_only=True, tag="passes"):
    """The chance that all of k answers to a task are right, or any (`stats.summary.passes`)."""

    k: int
    every: bool

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; n counts tasks."""
        return passes(columns, self.k, "", every=self.every)


class RelativeError(Record, frozen=True, kw_only=True, tag="relative_error"):
    """Errors over those of a baseline on the same rows: a sum over a sum.

    The baseline's errors are the part `base_` and the part's name.
    """

    part: str

    share = False

    @_quiet
    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval by groups (`Columns.cluster`).

        There is no interval of few groups (`bootstrap`), nor of few rows: the errors of the
        baseline may be large in rare rows alone, and rows that have none of these do not tell that
        they lack.
        """
        rows = columns.where(columns.run & ~np.isnan(columns.part(self.part)))
        own, base = rows.part(self.part), rows.part(f"base_{self.part}")
        if not len(rows) or not base.sum() > 0:
            return Estimate(name="", share=False)
        few = len(rows) < figures.MANY
        low, high = (np.nan, np.nan) if few else bootstrap(own, rows.cluster, over=base)
        ends = (None, None) if np.isnan(low) else (low, high)
        return Estimate(name="", value=float(own.sum() / base.sum()), low=ends[0], high=ends[1],
                        n=len(rows), share=False)  # fmt: skip


class OverCategories(Record, frozen=True, kw_only=True, tag="over_categories"):
    """Another formula category by category, and the plain mean of these numbers.

    For numbers of which those of several categories have no common unit. `word` is what readers
    call categories.
    """

    formula: Formula
    word: str

    @property
    def share(self) -> bool:
        """Tell whether it lies within 0 and 1."""
        return self.formula.share

    @_quiet
    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; `partial` where a category did not run.

        The interval of the mean is made of those of the parts, which are independent of each other:
        the squares of the distances of their ends add up (Zou and Donner 2008).
        """
        names = sorted({str(name) for name in columns.category} - {""})
        parts = [self.formula.measure(columns.where(columns.category == name)) for name in names]
        found = [each for each in parts if each.value is not None]
        if not found:
            return self.formula.measure(columns)
        partial = lacking(columns, self.word)
        if len(found) < 2:
            return replace(found[0], partial=partial)
        values = np.array([each.value for each in found])
        ends = [(each.low, each.high) for each in found]
        whole = all(low is not None and high is not None for low, high in ends)
        low, high = np.array(ends, dtype=float).T
        middle = float(values.mean())
        return Estimate(
            name="", value=middle, n=sum(each.n for each in found), share=self.share,
            low=middle - float(np.hypot.reduce(values - low)) / len(found) if whole else None,
            high=middle + float(np.hypot.reduce(high - values)) / len(found) if whole else None,
            partial=partial,
        )  # fmt: skip


def lacking(columns: Columns, word: str) -> str:
    """Say how many categories ran, "4 of 5 categories run"; "" where all did, or none."""
    names, ran = (
        len({str(name) for name in each} - {""})
        for each in (columns.category, columns.category[columns.run])
    )
    return f"{ran} of {names} {word} run" if 0 < ran < names else ""


class MacroF1(Record, frozen=True, kw_only=True, tag="macro_f1"):
    """The mean F1 of the classes, those that never occur too; no interval.

    Of each row the part `truth` is the index of the right class, `said` that of the answer (`raw`
    where that is negative), and `classes` how many there are; where no row says, there are
    `otherwise`. `split`: the classes differ by category, and the number is the plain mean over
    these. `word` is what readers call these; the number is then `partial` where one has no row that
    ran.
    """

    otherwise: int
    split: bool = False
    word: str = ""

    share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number; n counts the rows that ran."""
        ran = columns.where(columns.run)
        if not len(ran):
            return Estimate(name="")
        names = sorted({str(name) for name in ran.category} - {""}) if self.split else []
        sets = [ran.where(ran.category == name) for name in names] or [ran]
        partial = lacking(columns, self.word) if self.word else ""
        value = float(np.mean([self._f1(each) for each in sets]))
        return Estimate(name="", value=value, n=len(ran), partial=partial)

    def _f1(self, columns: Columns) -> float:
        """Return the mean over classes of 2 right / (there + answered), 0 for 0 / 0.

        Raises UsageError for a row whose truth is none of the classes.
        """
        numbers = columns.part("classes")
        found = self.otherwise if np.isnan(numbers).all() else float(np.nanmax(numbers))
        n = int(min(max(found, 1), MOST_CLASSES))
        answers = columns.part("said")
        answers = np.where(answers < 0, columns.part("raw"), answers)
        truth, said = _truths(columns.part("truth"), n), _indices(answers, n)
        there, answered = (np.bincount(each[each >= 0], minlength=n) for each in (truth, said))
        right = np.bincount(truth[truth == said], minlength=n)
        return float(np.mean(2 * right / np.maximum(there + answered, 1)))


def _truths(values: Numbers, n: int) -> NDArray[np.int64]:
    """Return the indices of the right classes. Raises UsageError for one that is none of the n."""
    found = _indices(values, n)
    outside = found < 0
    if outside.any():
        row = int(outside.argmax())
        told = "none" if np.isnan(values[row]) else f"{values[row]:g}"
        raise UsageError(
            f"{np.count_nonzero(outside)} of {len(found)} truths are not in 0..{n - 1}, first in "
            f"row {row}: {told}"
        )
    return found


def _indices(values: Numbers, n: int) -> NDArray[np.int64]:
    """Return the indices of classes among n, -1 of what is none."""
    with np.errstate(invalid="ignore"):
        known = (values == np.floor(values)) & (values >= 0) & (values < n)
    return np.where(known, np.where(known, values, 0), -1).astype(np.int64)


Formula: TypeAlias = (
    Mean
    | Average
    | Equal
    | Rate
    | MeanOf
    | Of
    | Stratified
    | LevelMean
    | Spread
    | Passes
    | RelativeError
    | OverCategories
    | MacroF1
)


# --- metrics ----------------------------------------------------------------------------


class Metric(Record, frozen=True):
    """One number of a suite: a formula over columns, and how readers see it.

    `name` is what files hold; readers are shown `told` instead where there is one, and `unit`, what
    its n counts. `rows` are filters to the rows that the number rests on, where that is not all of
    them. `beside` is what readers call it beside runs of which it is a part ("exact match, by
    text"). `part` is the part of the verdicts whose mean over answers it is, where it is one: two
    runs are then compared by it too.
    """

    name: str
    formula: Formula = Mean()
    told: str = ""
    unit: str = ""
    rows: tuple[Filter, ...] = ()
    beside: str = ""
    part: str = ""

    @property
    def label(self) -> str:
        """What readers are shown for its name."""
        return self.told or self.name

    def among(self, columns: Columns) -> Columns:
        """Return the rows that the number rests on."""
        return filtered(columns, self.rows)

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval, under the metric's name."""
        return replace(self.formula.measure(self.among(columns)), name=self.name)
