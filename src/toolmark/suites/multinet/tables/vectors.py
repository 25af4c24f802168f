"""Tables of vectors: errors against the training mean, their tails, parts of the vector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, nan
from typing import NamedTuple

import numpy as np

from toolmark.score import control
from toolmark.score.spread import READINGS, Reading
from toolmark.stats import figures
from toolmark.stats.columns import Columns, Numbers
from toolmark.stats.figures import decimal
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell, Variants
from toolmark.types import Chart, Series, Table

_HEAD = (
    "", "", "n", "invalid", "MAE", "MSE", "RelMAE", "RelMSE", "RelMAE, filtered",
    "normalised, filtered", "largest / median", "beyond 3 × median", "closer than the mean",
)  # fmt: skip
_MORE = (
    "", "", "n", "exact vector", "normalised MAE", "normalised MSE", "mean ratio, MAE",
    "mean ratio, MSE", "filtered MAE / MAE of the mean", "normalised, filtered 5 to 95 %",
    "normalised ratio, MAE", "normalised ratio, MSE", "total MAE", "total MSE",
)  # fmt: skip
_ENDLESS = "∞: larger than numbers go, as where a model answered huge ones, or divided by nothing. "
_NOTE = (
    "MAE and MSE: means over a row's dimensions, then over rows. RelMAE, RelMSE: their sum over "
    "the sum of a baseline that always answers the mean of the training rows; less than 1 is "
    "better than that. Closer than the mean: the share of rows with a smaller MAE than that "
    "baseline's; 50 % is no better than it. Filtered: the RelMAE of rows between the 5th and 95th "
    "percentile of the errors, as the paper defines it; the published code has instead the mean "
    "error of rows between the 0.05th and 99.95th, normalised from the least of them to the "
    "largest, told of "
    f"{measure.SOME} rows or more: of a few it is the same whatever they are. A dash: nothing to "
    f"divide, or to normalise. {_ENDLESS}In brackets 95 % intervals over {{}}."
)
_READINGS = (
    " Paper reading: an invalid row has the baseline's error. Reference reading, as the published "
    "code has it: the error of the whole range of the actions."
)
_MORE_NOTE = (
    "Exact vector: every number equal, which the published code calls success. Normalised: the "
    "mean from the least error to the largest. Mean ratio: of each row's error to the baseline's, "
    "as the published harness has it beside its ratio of sums; a row that the baseline has right "
    "and the model has wrong, or an invalid one, makes it endless. Filtered MAE / MAE of the mean: "
    "as RelMAE, filtered, over the baseline's errors of all rows. Normalised ratio: of the ratios "
    "that are finite, from the least to the largest. Total: the sum over rows. MSE as a sum over "
    "dimensions, which the paper's formula has, is MSE times their number, and RelMSE the same. "
    f"{_ENDLESS}"
)
_BINS = np.array([*np.arange(0, 3.01, 0.25), np.inf])  # in medians
_WORST = 10


def tables(readings: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Go through what there is to see of vectors; `by` is what a category is."""
    variants = measure.variants(readings)
    rows = measure.named(variants)
    yield main(rows, by)
    yield more(rows, by)
    yield from _slices(rows, by)
    told, (_, first) = measure.fullest(variants)
    parts = {level: first.where((first.category == level) & first.run)
             for level in measure.levels(first.category)}  # fmt: skip
    of = {level: f" ({', '.join(filter(None, (level, told)))})" for level in parts}
    some = (part_of for part_of in parts.items() if len(part_of[1]))
    made = [each for level, part in some for each in _distribution(part, of[level])]
    yield from (each for each in made if isinstance(each, Chart))  # side by side
    yield from (each for each in made if isinstance(each, Table))


class Errors(NamedTuple):
    """What rows say together; a relative error is the sum of the rows' over the baseline's.

    `filtered` is the relative error between the paper's quantiles, `scaled` the normalised mean
    between those of the published code.
    """

    mae: float
    mse: float
    rel_mae: float
    rel_mse: float
    filtered: float
    scaled: float
    largest: float
    beyond: float


class Others(NamedTuple):
    """What else they say: `ratios` are means of rows' own, `full` is `filtered` over all rows.

    `spread` is the normalised mean of the ratios by row.
    """

    exact: float
    normalised: float
    normalised_sq: float
    ratios: float
    ratios_sq: float
    full: float
    scaled: float
    spread: float
    spread_sq: float
    total: float
    total_sq: float


def errors(columns: Columns, part: str = "") -> Errors:
    """Return the measures of rows that ran, or of a part of their vectors, ".arm1"."""
    paper, reference = (_found(columns, reading, part) for reading in READINGS)
    return Errors(
        mae=paper["mae"],
        mse=paper["mse_mean_over_dims"],
        rel_mae=paper["approx_rel_mae"],
        rel_mse=paper["approx_rel_mse"],
        filtered=paper["quantile_filtered_rel_mae_pairwise"],
        scaled=reference["normalised_quantile_filtered_mae"],
        largest=paper["max_rel_mae"],
        beyond=paper["prop_beyond_3x_median"],
    )


def others(columns: Columns) -> Others:
    """Return the rarer measures of rows that ran."""
    paper, reference = (_found(columns, reading) for reading in READINGS)
    return Others(
        exact=paper["exact"],
        normalised=paper["normalised_mae"],
        normalised_sq=paper["normalised_mse"],
        ratios=reference["avg_baseline_relative_mae"],
        ratios_sq=reference["avg_baseline_relative_mse"],
        full=paper["quantile_filtered_rel_mae_full_baseline"],
        scaled=paper["normalised_quantile_filtered_mae"],
        spread=reference["normalized_baseline_relative_mae"],
        spread_sq=reference["normalized_baseline_relative_mse"],
        total=paper["total_mae"],
        total_sq=paper["total_mse"],
    )


def _found(columns: Columns, reading: Reading, part: str = "") -> dict[str, float]:
    """Ask the library of metrics; the reading tells the quantile filter alone."""
    kept = columns.where(columns.run & measure.known(columns, f"mae{part}"))
    names = ("mae", "mse", "base_mae", "base_mse")
    mae, mse, base, base_sq = (kept.part(f"{name}{part}") for name in names)
    made = control.Errors(reading)
    made.feed(control.Rows(mae, mse, base, base_sq, kept.part("valid") == 1))
    return made.found()


# --- numbers ----------------------------------------------------------------------------


def main(own: Variants, by: str) -> Table:
    """Return the errors by category, the baselines' below one's own."""
    rows = [(*names, *line(found)) for names, found in _rows(own)]
    several = len({read for read, _ in own.values()}) > 1
    _, first = measure.first(own)
    note = _NOTE.format(measure.counted(first)) + _READINGS * several + measure.caveat(first)
    return Table(title="Errors of the vectors", head=(by, *_HEAD[1:]),
                 rows=measure.joined(rows, 1), note=note)  # fmt: skip


def more(own: Variants, by: str) -> Table:
    """Return the rarer measures of the same rows."""
    rows: list[tuple[Cell, ...]] = []
    for names, columns in _rows(own):
        ran = columns.where(columns.run)
        found = others(ran)
        if len(ran) < measure.SOME:
            found = found._replace(scaled=nan)
        exact, *rest = found
        told = (figures.percent(exact), *map(decimal, rest)) if len(ran) else ()
        rows.append((*names, len(ran), *told))
    note = _MORE_NOTE + measure.caveat(measure.first(own)[1])
    return Table(title="More measures: vectors", head=(by, *_MORE[1:]), note=note,
                 rows=measure.joined(rows, 1), fold=True)  # fmt: skip


def _rows(own: Variants) -> Iterator[tuple[tuple[str, str], Columns]]:
    """Go through the categories, in each through one's own rows and the baselines'."""
    _, first = measure.first(own)
    for level in measure.levels(first.category):
        for name, (_, columns) in own.items():
            yield (level, name), _level(columns, level)
        part = _level(first, level)
        for name in measure.guesses(first):
            yield (level, measure.called(first, name)), measure.moved(part, name)


def _level(columns: Columns, level: str) -> Columns:
    return columns.where(columns.category == level)


def line(columns: Columns) -> tuple[Cell, ...]:
    """Return the cells under the head of the main table, behind the names."""
    ran = columns.where(columns.run)
    if not len(ran):
        return (0,)
    found = errors(ran)
    if len(ran) < measure.SOME:
        found = found._replace(scaled=nan)
    return (
        len(ran),
        measure.invalid(ran),
        *map(decimal, found[:-1]),
        figures.percent(found.beyond),
        figures.share(measure.exact(columns)),
    )


def _slices(own: Variants, by: str) -> Iterator[Table]:
    """Return the errors of the named parts of the vectors, by category."""
    rows: list[tuple[Cell, ...]] = []
    for run, (_, columns) in own.items():
        for level in measure.levels(columns.category):
            part = _level(columns, level)
            for name in _named(part):
                found = errors(part, f".{name}")
                rows.append((level, name, run, *map(decimal, found[:4])))
    if rows:
        yield Table(title="Errors by part of the vector", rows=measure.joined(rows, 2),
                    head=(by, "part", "", "MAE", "MSE", "RelMAE", "RelMSE"))  # fmt: skip


def _named(columns: Columns) -> list[str]:
    return [
        part.removeprefix("mae.")
        for part in columns.parts
        if part.startswith("mae.") and measure.known(columns, part).any()
    ]


# --- distribution -----------------------------------------------------------------------

_quiet = np.errstate(over="ignore", invalid="ignore")  # errors may be as large as numbers go


def _distribution(columns: Columns, of: str) -> Iterator[Table | Chart]:
    """Draw how errors spread, in medians of one's own; then their quantiles and the worst rows."""
    own, base = columns.part("mae"), columns.part("base_mae")
    middle = _quiet(np.median)(own).item()
    if 0 < middle < inf:
        names = [f"{low:.2f} to {low + 0.25:.2f}" for low in _BINS[:-2]]
        yield Chart(
            title=f"Errors: how they spread{of}", kind="bar",
            series=(_spread(measure.OWN, own, middle), _spread("training mean", base, middle)),
            ticks=(*names, "beyond 3"), y_label="share of rows",
            note=f"By MAE in medians of this run's, {decimal(middle)}; beyond 3 are outliers.",
        )  # fmt: skip
    points = (0, 5, 25, 50, 75, 95, 99, 100)
    rows = [(name, *map(decimal, _quiet(np.percentile)(part, points).tolist()))
            for name, part in ((measure.OWN, own), ("training mean", base))]  # fmt: skip
    head = ("", "least", *(f"{p} %" for p in points[1:-1]), "largest")
    yield Table(title=f"Errors: quantiles of MAE{of}", head=head, rows=tuple(rows))
    yield _worst(columns, middle, of)


@_quiet
def _spread(name: str, errors: Numbers, middle: float) -> Series:
    counts = np.histogram(errors / middle, _BINS)[0]
    return Series(name=name, x=tuple(map(float, range(len(counts)))),
                  y=tuple((counts / len(errors)).tolist()))  # fmt: skip


def _worst(columns: Columns, middle: float, of: str) -> Table:
    own, base = columns.part("mae").tolist(), columns.part("base_mae").tolist()
    order = np.argsort(-columns.part("mae"), kind="stable")[:_WORST]
    rows = tuple(
        (str(columns.task[i]), decimal(own[i]), decimal(own[i] / middle) if middle else None,
         decimal(base[i]), bool(columns.part("valid")[i]))
        for i in order.tolist()
    )  # fmt: skip
    return Table(title=f"Errors: the largest{of}", rows=rows,
                 head=("row", "MAE", "in medians", "training mean's", "valid"))  # fmt: skip
