"""The formulas of metrics, a closed list: each is data with one method from columns to a number.

A run folder names the formulas of its metrics and their parameters. A reader of the folder looks
them up here, so that its numbers do not need the suite's code. A name that is not in `Formula` is
refused when the folder is read. The formulas over levels and over classes are in `level_formulas`
and `class_formulas`, those of errors in `error_formulas`, that of a judge and labels in
`label_formulas`.

Each formula linearises itself (`linearisation`): it returns its value and what each row adds to its
error. Interval, comparison and rank follow from that, so a formula has no other method for them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.core.records import Estimate, Record
from toolmark.statistics import weighted_means
from toolmark.statistics.class_formulas import MacroF1, MacroRecall
from toolmark.statistics.confidence_intervals import ignore_overflow
from toolmark.statistics.error_formulas import FilteredRelativeError, RelativeError
from toolmark.statistics.formula_base import LinearisedFormula
from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.level_formulas import LevelMean, LevelSpread
from toolmark.statistics.linearisation import (
    Linearisation,
    combine_linearisations,
    linearise_mean,
    linearise_nothing,
    linearise_part,
    linearise_pass_rate,
    linearise_ratios,
    with_estimate,
)
from toolmark.statistics.row_filters import (
    RowFilter,
    apply_filters,
    check_column_name,
    selected_indices,
    stratum_codes,
)
from toolmark.statistics.score_columns import (
    Columns,
    describe_partial,
    ordered_levels,
    with_values,
)
from toolmark.statistics.weighted_means import Group


class Mean(LinearisedFormula, frozen=True, kw_only=True, tag="mean"):
    """The mean value, or the mean of a part within [0, 1] over the rows that have it.

    `failed_part` names a part; rows where it is 1 count as 0. `strata` names the columns
    (`category`, `axes.NAME`) of a designed grid: each combination of their cells is a sample of its
    own, so differences between the settings are no error of the mean.
    """

    part: str = ""
    failed_part: str = ""
    strata: tuple[str, ...] = ()

    is_share = True

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown kind of column."""
        for name in self.strata:
            check_column_name(name)

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the mean (`linearise_mean`)."""
        strata = stratum_codes(columns, self.strata)
        if not self.part:
            return linearise_mean(columns, strata)
        values = columns.part(self.part)
        if self.failed_part:
            values = np.where(columns.part(self.failed_part) == 1, 0.0, values)
        return linearise_mean(with_values(columns, values), strata)


class UnboundedMean(LinearisedFormula, frozen=True, kw_only=True, tag="unbounded_mean"):
    """The mean of a part that may exceed 1, over the rows that have it.

    With `is_share` it is displayed in per cent.
    """

    part: str
    is_share: bool = False

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the mean (`linearise_part`)."""
        return with_estimate(linearise_part(columns, self.part), is_share=self.is_share)


class EqualShare(LinearisedFormula, frozen=True, kw_only=True, tag="equal"):
    """The share of rows in which two parts are equal, over the rows that have both."""

    part: str
    other_part: str

    is_share = True

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the share."""
        one, two = columns.part(self.part), columns.part(self.other_part)
        equal = np.where(np.isnan(one) | np.isnan(two), np.nan, one == two)
        return linearise_mean(with_values(columns, equal))


class PooledRate(LinearisedFormula, frozen=True, kw_only=True, tag="rate"):
    """The sum of one part over the sum of another, such as calls of a kind among all calls.

    With `is_weighted` the first part is a mean per row, and the part `total_part` is its weight.
    Where `total_part` sums to 0 but the part `attempts_part` does not, the rate is 0, not unknown.
    """

    part: str
    total_part: str
    is_weighted: bool = False
    attempts_part: str = ""

    is_share = True

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the rate; `n` is the sum of `total_part`."""
        totals, hits = columns.part(self.total_part), columns.part(self.part)
        hits = hits * totals if self.is_weighted else hits
        counted = ~np.isnan(hits) & ~np.isnan(totals)
        hit, total, mass = hits[counted], totals[counted], columns.mass[counted]
        if not (total > 0).any():
            attempted = self.attempts_part and np.nansum(columns.part(self.attempts_part))
            return linearise_nothing(
                len(columns), Estimate(name="", value=0.0 if attempted else None)
            )
        value = float((hit * mass).sum()) / float((total * mass).sum())
        estimate = Estimate(name="", value=value, n=round(float(total.sum())))
        return linearise_ratios(counted, hit * mass, total * mass, estimate, n_trials=total)


class MeanOfFormulas(LinearisedFormula, frozen=True, kw_only=True, tag="mean_of"):
    """The unweighted mean of other formulas, None where one of them is None."""

    formulas: tuple[Formula, ...]

    is_share = True

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the mean; `n` counts the rows that ran."""
        found = [each.linearise(columns) for each in self.formulas]
        known = [each.value for each in found if each.value is not None]
        n_run = int(columns.run.sum())
        if not known or len(known) < len(found):
            return linearise_nothing(len(columns), Estimate(name="", n=n_run))
        estimate = Estimate(name="", value=sum(known) / len(known), n=n_run)
        return combine_linearisations([(1 / len(known), each) for each in found], estimate)


class FilteredFormula(LinearisedFormula, frozen=True, kw_only=True, tag="filtered"):
    """Another formula over the rows that the filters select."""

    filters: tuple[RowFilter, ...]
    formula: Formula

    @property
    def is_share(self) -> bool:
        """Tell whether the number lies within 0 and 1."""
        return self.formula.is_share

    def select_rows(self, columns: Columns) -> Columns:
        """Return the selected rows that the formula uses."""
        return self.formula.select_rows(apply_filters(columns, self.filters))

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the formula's number over the selected rows."""
        rows = selected_indices(columns, self.filters)
        return self.formula.linearise(columns.where(rows)).spread_to(rows, len(columns))


class StratifiedMean(LinearisedFormula, frozen=True, kw_only=True, tag="stratified"):
    """A weighted mean over categories (`weighted_means`); each category is a stratum.

    A category without a result counts as 0, and the number is then `partial`. `entries` is the
    number of rows of each category that may have no rows here. `joined` names further categories
    whose rows count in a category of the group.
    """

    group: Group
    entries: dict[str, int] = {}
    joined: dict[str, tuple[str, ...]] = {}

    is_share = True

    def select_rows(self, columns: Columns) -> Columns:
        """Return the rows of the group's categories."""
        return RowFilter(column="category", values=self._row_categories()).select_rows(columns)

    def _row_categories(self) -> tuple[str, ...]:
        leaves = weighted_means.group_categories(self.group)
        return tuple(each for name in leaves for each in (name, *self.joined.get(name, ())))

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the weighted mean."""
        leaves = weighted_means.group_categories(self.group)
        parts = {name: self._category_mean(name, columns) for name in leaves}
        estimates = {name: part.estimate for name, part in parts.items()}
        counts = {
            name: float(columns.mass[part.counted].sum()) or self.entries.get(name, 0)
            for name, part in parts.items()
        }
        estimate = weighted_means.combine_values(self.group, estimates, counts)
        if estimate.value is None:
            return linearise_nothing(len(columns), estimate)
        weights = weighted_means.category_weights(self.group, counts)
        return combine_linearisations(
            [(weights[name], part) for name, part in parts.items()], estimate
        )

    def _category_mean(self, name: str, columns: Columns) -> Linearisation:
        """Return a category's mean; bounds 0 and 1 where it has rows but none ran."""
        names = (name, *self.joined.get(name, ()))
        rows = np.flatnonzero(RowFilter(column="category", values=names).row_mask(columns))
        found = linearise_mean(columns.where(rows)).spread_to(rows, len(columns))
        if found.estimate.n or not len(rows):
            return found
        return with_estimate(found, worst=0.0, best=1.0)


class PassRate(LinearisedFormula, frozen=True, kw_only=True, tag="passes"):
    """The chance that all of k answers to a task are correct, or any (`linearise_pass_rate`)."""

    k: int
    all_attempts: bool

    is_share = True

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the chance; `n` counts tasks."""
        return linearise_pass_rate(columns, self.k, every=self.all_attempts)


class MeanOverCategories(LinearisedFormula, frozen=True, kw_only=True, tag="over_categories"):
    """The unweighted mean over categories of another formula; each category is a stratum.

    It serves where the numbers of several categories have no common unit. `categories_label` is the
    displayed name for categories.
    """

    formula: Formula
    categories_label: str

    @property
    def is_share(self) -> bool:
        """Tell whether the number lies within 0 and 1."""
        return self.formula.is_share

    @ignore_overflow
    def linearise(self, columns: Columns) -> Linearisation:
        """Return the mean; it is `partial` where a category did not run."""
        parts = []
        for name in ordered_levels(columns.category):
            rows = np.flatnonzero(columns.category == name)
            part = self.formula.linearise(columns.where(rows))
            if part.value is not None:
                parts.append(part.spread_to(rows, len(columns)))
        if not parts:
            return self.formula.linearise(columns)
        estimate = Estimate(
            name="",
            value=float(np.mean([part.value for part in parts])),
            n=sum(part.estimate.n for part in parts),
            is_share=self.is_share,
            partial=describe_partial(columns, self.categories_label),
        )
        if len(parts) == 1:
            return with_estimate(parts[0], partial=estimate.partial)
        return combine_linearisations([(1 / len(parts), part) for part in parts], estimate)


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
    | FilteredRelativeError
    | MeanOverCategories
    | MacroF1
    | MacroRecall
    | PredictionPoweredMean
)


# --- metrics ----------------------------------------------------------------------------


class Metric(Record, frozen=True):
    """One number of a suite: a formula over columns, and how it is displayed.

    `name` is the name in files. `title`, if set, is the displayed name, and `unit` says what `n`
    counts. `filters` are filters that select the rows of the number; without any it uses all rows.
    `title_in_whole` is its displayed name in a comparison with runs of which it is a part ("exact
    match, by text"). `lower_is_better` says which of two runs a ranking or a comparison prefers.
    """

    name: str
    formula: Formula = Mean()
    title: str = ""
    unit: str = ""
    filters: tuple[RowFilter, ...] = ()
    title_in_whole: str = ""
    lower_is_better: bool = False

    @property
    def label(self) -> str:
        """The displayed name."""
        return self.title or self.name

    def select_rows(self, columns: Columns) -> Columns:
        """Return the rows that the number is computed from."""
        return apply_filters(columns, self.filters)

    def rows_behind(self, columns: Columns) -> Columns:
        """Return the rows that the number rests on: those that it and its formula select."""
        return self.formula.select_rows(self.select_rows(columns))

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval; the estimate has the metric's name."""
        return replace(self.formula.measure(self.select_rows(columns)), name=self.name)

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the number with what each row adds to its error; rows not selected add nothing."""
        if not self.filters:
            return self.formula.linearise(columns)
        rows = selected_indices(columns, self.filters)
        return self.formula.linearise(columns.where(rows)).spread_to(rows, len(columns))
