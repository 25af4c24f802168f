"""Tables of probabilities: whether they hold what they promise, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan
from typing import TypeAlias

import numpy as np

from toolmark.score import brier
from toolmark.score.spread import READINGS
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.summary import average
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell, Variants
from toolmark.types import Chart, Estimate, Series, Table

Bins: TypeAlias = list[tuple[float, float, int, float, Estimate]]

BINS = 10
_HEAD = ("", "n", "Brier, linear", "Brier, quadratic", "player 0, linear", "player 1, linear")
_BRIER = (
    "Linear: the sum of |p - y| over the options, of a valid distribution 2 (1 - p of the truth); "
    "quadratic: of their squares. Of valid distributions both lie in 0 to 2; less is better, and "
    "an invalid answer costs 2. The linear one, which the paper uses, is improper: all probability "
    "on the likeliest option costs least of it, whatever one believes, so that only the quadratic "
    "one rewards honest probabilities."
)
_LAX = (
    " The reference reading lets numbers below 0 and above 1 pass if they add up to 1: there "
    "neither error has an upper end."
)
_MORE = (
    "", "", "n", "largest / median", "beyond 3 × median", "normalised",
    "normalised, filtered 5 to 95 %", "normalised, filtered 0.05 to 99.95 %", "total",
    "normalised, quadratic", "total, quadratic",
)  # fmt: skip
_SPREAD = (
    "Of the linear Brier error by row, but for the last two columns; of a player there is no "
    "quadratic one. Normalised: its mean, from the least of the rows to the "
    "largest; filtered: of the rows between two percentiles, the paper's and the published code's. "
    f"Total: the sum over rows. A dash: all rows alike, or filtered of fewer than {measure.SOME} "
    "rows. ∞: the median is 0."
)


def tables(readings: Mapping[str, Columns]) -> Iterator[Table | Chart]:
    """Go through what there is to see of probabilities."""
    variants = measure.variants(readings)
    rows = measure.named(variants)
    yield briers(rows)
    yield more(rows)
    forms = {form: columns for form, (_, columns) in measure.forms(variants).items()}
    made = {form: reliability(columns) for form, columns in forms.items()}
    if any(made.values()):
        yield _drawn(made)
        yield _listed(made, forms)


# --- Brier ------------------------------------------------------------------------------


def briers(own: Variants) -> Table:
    """Return both Briers, of both players too; most baselines are sure of one option each."""
    _, first = measure.first(own)
    parts = ("brier", "brier_sq", *(f"brier{player}" for player in _players(first)))
    rows: list[tuple[Cell, ...]] = [
        (name, int(columns.run.sum()), *(_mean(columns, part) for part in parts))
        for name, columns in _every(own)
    ]
    ran = first.where(first.run)
    lax = any(read == "reference" for read, _ in own.values())
    even = figures.decimal(2 * (1 - 1 / len(measure.MOVES)))  # of even odds so are a player's
    for name in measure.even(ran) if len(ran) else ():
        both = (ran.part(f"{measure.GUESS}{name}.{part}").mean().item() for part in parts[:2])
        told = (*map(figures.decimal, both), *(even for _ in parts[2:]))
        rows.append((f"{name}: even odds", len(ran), *told))
    note = f"{_BRIER}{_LAX * lax} In brackets 95 % intervals over {measure.counted(first)}"
    note += f"{measure.FEW}.{measure.caveat(first)}"
    return Table(title="Probabilities: Brier scores", head=_HEAD[: 2 + len(parts)],
                 rows=measure.joined(rows), note=note)  # fmt: skip


def more(own: Variants) -> Table:
    """Return how the linear errors spread, of the joint action and of both players."""
    _, first = measure.first(own)
    rows: list[tuple[Cell, ...]] = []
    for player in ("", *_players(first)):
        what = f"player {player[1:]}" if player else "the whole"
        for name, columns in _every(own):
            rows.append((what, name, *_spread(columns.where(columns.run), player)))
    return Table(title="More measures: probabilities", head=_MORE, rows=measure.joined(rows, 1),
                 note=_SPREAD + measure.caveat(first), fold=True)  # fmt: skip


def _spread(columns: Columns, player: str) -> tuple[Cell, ...]:
    """Ask the library of metrics; of a player there is no quadratic error."""
    errors = brier.Brier()
    linear, square = (columns.part(f"{part}{player}") for part in ("brier", "brier_sq"))
    errors.add(linear, square, columns.part("valid") == 1)
    paper, reference = (errors.found(reading) for reading in READINGS)
    if not paper["n"]:
        return (0,)
    both = (each["normalised_quantile_filtered_mae"] for each in (paper, reference))
    filtered = both if paper["n"] >= measure.SOME else (nan, nan)
    told = (paper["max_rel_mae"], paper["normalised_mae"], *filtered, paper["total_mae"],
             paper["normalised_mse"], paper["total_mse"])  # fmt: skip
    beyond = figures.percent(paper["prop_beyond_3x_median"])
    return (len(columns), figures.decimal(told[0]), beyond, *map(figures.decimal, told[1:]))


def _every(own: Variants) -> Iterator[tuple[str, Columns]]:
    """Go through one's own rows, then those of the baselines that are sure of an option."""
    yield from ((name, columns) for name, (_, columns) in own.items())
    _, first = measure.first(own)
    for name in measure.guesses(first):
        yield measure.called(first, name), measure.guess(first, name)


def _players(columns: Columns) -> tuple[str, ...]:
    return ("_0", "_1") if measure.known(columns, "brier_0").any() else ()


def _mean(columns: Columns, part: str) -> str | None:
    found = average(columns, part)
    return None if found.value is None else figures.number(found)


# --- reliability ------------------------------------------------------------------------


def reliability(columns: Columns) -> Bins:
    """Return bins of the largest probability: ends, count, its mean, the share then right.

    Empty bins are left out, answers that were invalid too.
    """
    valid = measure.readable(columns)
    valid = valid.where(measure.known(valid, "top"))
    top = valid.part("top")
    at = np.minimum((top * BINS).astype(np.int64), BINS - 1)
    made = []
    for i in np.unique(at).tolist():
        part = valid.where(at == i)
        made.append((i / BINS, (i + 1) / BINS, len(part), float(part.part("top").mean()),
                     measure.exact(part)))  # fmt: skip
    return made


def gap(bins: Bins) -> float:
    """Return the expected calibration error: the mean gap of the bins, by their counts."""
    total = sum(n for _, _, n, _, _ in bins)
    return sum(n * abs(top - (right.value or 0.0)) for _, _, n, top, right in bins) / total


def _drawn(made: Mapping[str, Bins]) -> Chart:
    """Draw what was promised and kept, a line for each form that has valid answers."""
    series = [_line(form or measure.OWN, bins) for form, bins in made.items() if bins]
    steps = tuple(i / BINS for i in range(BINS + 1))
    series.append(Series(name="as promised", x=steps, y=steps))
    lost = [form for form, bins in made.items() if not bins]
    return Chart(
        title="Probabilities: promised and kept", kind="line", series=tuple(series),
        x_label="largest probability, mean of its bin", y_label="share right",
        note="Below the straight line: surer than right. Whiskers are 95 % intervals."
        + (f" By {' and '.join(lost)} no answer was valid." if lost else ""),
    )  # fmt: skip


def _line(name: str, bins: Bins) -> Series:
    return Series(
        name=name,
        x=tuple(top for _, _, _, top, _ in bins),
        y=tuple(float(right.value or 0.0) for *_, right in bins),
        low=tuple(float("nan") if right.low is None else right.low for *_, right in bins),
        high=tuple(float("nan") if right.high is None else right.high for *_, right in bins),
    )


def _listed(made: Mapping[str, Bins], forms: Mapping[str, Columns]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    notes = []
    for form, bins in made.items():
        rows += [
            (form, f"{low:.1f} to {high:.1f}", n, round(top, 3), figures.share(right))
            for low, high, n, top, right in bins
        ]
        lost = int(forms[form].run.sum()) - sum(n for _, _, n, _, _ in bins)
        told = f"by answers: {gap(bins):.3f}" if bins else "is of nothing"
        notes.append(
            f"{form + ': ' * bool(form)}mean gap between the last two columns, {told}; invalid "
            f"answers, in no row: {lost}."
        )
    return Table(
        title="Probabilities by how sure they are",
        head=("form", "largest probability", "answers", "its mean", "right"),
        rows=tuple(rows),
        note=" ".join(note[0].upper() + note[1:] for note in notes),
    )
