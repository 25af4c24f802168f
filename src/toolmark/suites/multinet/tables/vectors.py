"""Tables of vectors: errors against the training mean, their tails, parts of the vector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from toolmark.score import spread
from toolmark.stats import figures
from toolmark.stats.columns import Columns, Numbers
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell, Variants
from toolmark.types import Chart, Series, Table

_HEAD = (
    "", "", "n", "invalid", "MAE", "MSE", "RelMAE", "RelMSE", "RelMAE, filtered",
    "normalised, filtered", "largest / median", "beyond 3 × median", "closer than the mean",
)  # fmt: skip
_NOTE = (
    "MAE and MSE: means over a row's dimensions, then over rows. RelMAE, RelMSE: their sum over "
    "the sum of a baseline that always answers the mean of the training rows; less than 1 is "
    "better than that. Closer than the mean: the share of rows with a smaller MAE than that "
    "baseline's. Filtered: the RelMAE of rows between the 5th and 95th percentile of the errors, "
    "as the paper defines it; the published code has instead the mean error of rows between the "
    "0.05th and 99.95th, normalised from the least of them to the largest. A dash: the median is "
    "0, or nothing to normalise. In brackets 95 % intervals over {}."
)
_READINGS = (
    " Paper reading: an invalid row has the baseline's error. Reference reading, as the published "
    "code has it: the error of the whole range of the actions."
)
_BINS = np.array([*np.arange(0, 3.01, 0.25), np.inf])  # in medians
_WORST = 10


def tables(readings: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Go through what there is to see of vectors; `by` is what a category is."""
    variants = measure.variants(readings)
    rows = measure.named(variants)
    yield main(rows, by)
    yield from _slices(rows, by)
    told, (_, first) = next(iter(variants.items()))
    parts = {level: first.where((first.category == level) & first.run)
             for level in measure.levels(first.category)}  # fmt: skip
    of = {level: f" ({', '.join(filter(None, (level, told)))})" for level in parts}
    some = (part_of for part_of in parts.items() if len(part_of[1]))
    made = [each for level, part in some for each in _distribution(part, of[level])]
    yield from (each for each in made if isinstance(each, Chart))  # side by side
    yield from (each for each in made if isinstance(each, Table))


class Errors(NamedTuple):
    """What rows say together; a relative error is the sum of the rows' over the baseline's."""

    mae: float
    mse: float
    rel_mae: float
    rel_mse: float
    filtered: float
    scaled: float
    largest: float
    beyond: float


def errors(columns: Columns, part: str = "") -> Errors:
    """Return the measures of rows, or of a part of their vectors.

    `filtered` is the relative error between the paper's quantiles, `scaled` the normalised mean
    between those of the published code.
    """
    kept = columns.where(columns.run & measure.known(columns, f"mae{part}"))
    mae, mse = kept.part(f"mae{part}"), kept.part(f"mse{part}")
    base, base_sq = kept.part(f"base_mae{part}"), kept.part(f"base_mse{part}")
    tails = spread.outliers(mae, "paper", base)
    return Errors(
        mae=float(mae.mean()),
        mse=float(mse.mean()),
        rel_mae=spread.ratio(float(mae.sum()), float(base.sum())),
        rel_mse=spread.ratio(float(mse.sum()), float(base_sq.sum())),
        filtered=spread.ratio(tails.total, tails.base),
        scaled=spread.outliers(mae, "reference").normalised,
        largest=tails.max_relative,
        beyond=tails.beyond,
    )


# --- numbers ----------------------------------------------------------------------------


def main(own: Variants, by: str) -> Table:
    """Return the errors by category, the baselines' below one's own."""
    _, first = measure.first(own)
    rows: list[tuple[Cell, ...]] = []
    for level in measure.levels(first.category):
        mine = {name: _level(columns, level) for name, (_, columns) in own.items()}
        part = _level(first, level)
        mine |= {name: measure.moved(part, name) for name in measure.guesses(first)}
        rows += [(level, name, *line(found)) for name, found in mine.items()]
    several = len({read for read, _ in own.values()}) > 1
    note = _NOTE.format(measure.counted(first)) + _READINGS * several
    head = (by, *_HEAD[1:])
    return Table(title="Errors of the vectors", head=head, rows=tuple(rows), note=note)


def _level(columns: Columns, level: str) -> Columns:
    return columns.where(columns.category == level)


def line(columns: Columns) -> tuple[Cell, ...]:
    """Return the cells under the head of the main table, behind the names."""
    ran = columns.where(columns.run)
    if not len(ran):
        return (0,)
    found = errors(ran)
    return (
        len(ran),
        measure.invalid(ran),
        *map(decimal, found[:-1]),
        figures.percent(found.beyond),
        figures.share(measure.exact(columns)),
    )


def decimal(value: float) -> str:
    """Return a number with four significant digits, as 1.2 × 10⁻⁵ where small; a dash for none."""
    if not np.isfinite(value):
        return figures.DASH
    digits, _, power = f"{value:.4g}".partition("e")
    return f"{digits} × 10{str(int(power)).translate(_RAISED)}" if power else digits


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
        yield Table(title="Errors by part of the vector", rows=tuple(rows),
                    head=(by, "part", "", "MAE", "MSE", "RelMAE", "RelMSE"))  # fmt: skip


def _named(columns: Columns) -> list[str]:
    return [
        part.removeprefix("mae.")
        for part in columns.parts
        if part.startswith("mae.") and measure.known(columns, part).any()
    ]


# --- distribution -----------------------------------------------------------------------


def _distribution(columns: Columns, of: str) -> Iterator[Table | Chart]:
    """Draw how errors spread, in medians of one's own; then their quantiles and the worst rows."""
    own, base = columns.part("mae"), columns.part("base_mae")
    middle = float(np.median(own))
    if middle > 0:
        names = [f"{low:.2f} to {low + 0.25:.2f}" for low in _BINS[:-2]]
        yield Chart(
            title=f"Errors: how they spread{of}", kind="bar",
            series=(_spread(measure.OWN, own / middle), _spread("training mean", base / middle)),
            ticks=(*names, "beyond 3"), y_label="share of rows",
            note=f"By MAE in medians of this run's, {decimal(middle)}; beyond 3 are outliers.",
        )  # fmt: skip
    points = (0, 5, 25, 50, 75, 95, 99, 100)
    rows = [(name, *map(decimal, np.percentile(part, points)))
            for name, part in ((measure.OWN, own), ("training mean", base))]  # fmt: skip
    head = ("", "least", *(f"{p} %" for p in points[1:-1]), "largest")
    yield Table(title=f"Errors: quantiles of MAE{of}", head=head, rows=tuple(rows))
    yield _worst(columns, middle, of)


def _spread(name: str, ratios: Numbers) -> Series:
    counts = np.histogram(ratios, _BINS)[0]
    return Series(name=name, x=tuple(map(float, range(len(counts)))),
                  y=tuple((counts / len(ratios)).tolist()))  # fmt: skip


def _worst(columns: Columns, middle: float, of: str) -> Table:
    own = columns.part("mae")
    order = np.argsort(-own, kind="stable")[:_WORST]
    rows = tuple(
        (str(columns.task[i]), decimal(own[i]), decimal(own[i] / middle) if middle else None,
         decimal(columns.part("base_mae")[i]), bool(columns.part("valid")[i]))
        for i in order.tolist()
    )  # fmt: skip
    return Table(title=f"Errors: the largest{of}", rows=rows,
                 head=("row", "MAE", "in medians", "training mean's", "valid"))  # fmt: skip
