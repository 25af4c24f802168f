"""Tables of probabilities: whether they hold what they promise, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.interval import bootstrap
from toolmark.stats.summary import average
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell, Variants
from toolmark.types import Chart, Estimate, Series, Table

BINS = 10
_HEAD = ("", "n", "Brier, linear", "Brier, quadratic", "player 0, linear", "player 1, linear")
_BRIER = (
    "Linear: the sum of |p - y| over the options, 2 (1 - p of the truth); quadratic: of their "
    "squares. Both lie in 0 to 2, less is better, and an invalid answer costs 2. The linear one, "
    "which the paper uses, is improper: all probability on the likeliest option costs least of it, "
    "whatever one believes, so that only the quadratic one rewards honest probabilities."
)


def tables(readings: Mapping[str, Columns]) -> Iterator[Table | Chart]:
    """Go through what there is to see of probabilities."""
    variants = measure.variants(readings)
    yield briers(measure.named(variants))
    _, first = measure.first(variants)
    made = reliability(first)
    if made:
        yield _drawn(made)
        yield _listed(made, first)


# --- Brier ------------------------------------------------------------------------------


def briers(own: Variants) -> Table:
    """Return both Briers, of both players too; the baselines are sure of one option each."""
    rows: list[tuple[Cell, ...]] = []
    for name, (_, columns) in own.items():
        players = [_mean(columns, f"brier_{i}") for i in (0, 1)]
        rows.append((name, int(columns.run.sum()), *_both(columns), *players))
    _, first = measure.first(own)
    n = measure.classes(first)
    rows.append(("even odds for all options", None, _told(2 * (1 - 1 / n)), _told(1 - 1 / n),
                 *(_told(2 * (1 - 1 / len(measure.MOVES))) for _ in _players(first))))  # fmt: skip
    for name in measure.guesses(first):
        if name != "uniform":
            rows.append(_sure(name, measure.guess(first, name), _players(first)))
    wide = 6 if _players(first) else 4
    note = f"{_BRIER} In brackets 95 % intervals over {measure.counted(first)}."
    return Table(title="Probabilities: Brier scores", head=_HEAD[:wide],
                 rows=tuple(row[:wide] for row in rows), note=note)  # fmt: skip


def _players(columns: Columns) -> tuple[str, ...]:
    return ("_0", "_1") if measure.known(columns, "brier_0").any() else ()


def _both(columns: Columns) -> tuple[str | None, ...]:
    return _mean(columns, "brier"), _mean(columns, "brier_sq")


def _mean(columns: Columns, part: str) -> str | None:
    found = average(columns, part)
    return None if found.value is None else number(found)


def number(found: Estimate) -> str:
    """Return a number that is no share, with its interval."""
    if found.value is None:
        return figures.DASH
    ends = f" [{found.low:.3f}, {found.high:.3f}]" if found.low is not None else ""
    return f"{found.value:.3f}{ends}"


def _told(value: float) -> str:
    return f"{value:.3f}"


def _sure(name: str, columns: Columns, of: Sequence[str]) -> tuple[Cell, ...]:
    """Return the Briers of a baseline that puts all on one option: 0 where right, else 2."""

    def wrong(right: np.typing.NDArray[np.bool_]) -> str:
        cost = np.where(right, 0.0, 2.0)
        low, high = bootstrap(cost, columns.cluster)
        ends = (None, None) if np.isnan(low) else (low, high)
        mean = float(cost.mean())
        return number(Estimate(name=name, value=mean, low=ends[0], high=ends[1], n=len(cost)))

    if not len(columns):
        return (name, 0)
    both = wrong(columns.correct)
    players = [wrong(columns.part(f"truth{p}") == columns.part(f"said{p}")) for p in of]
    return (name, len(columns), both, both, *players)


# --- reliability ------------------------------------------------------------------------


def reliability(columns: Columns) -> list[tuple[float, float, int, float, Estimate]]:
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


def gap(bins: list[tuple[float, float, int, float, Estimate]]) -> float:
    """Return the expected calibration error: the mean gap of the bins, by their counts."""
    total = sum(n for _, _, n, _, _ in bins)
    return sum(n * abs(top - (right.value or 0.0)) for _, _, n, top, right in bins) / total


def _drawn(bins: list[tuple[float, float, int, float, Estimate]]) -> Chart:
    seen = Series(
        name=measure.OWN,
        x=tuple(top for _, _, _, top, _ in bins),
        y=tuple(float(right.value or 0.0) for *_, right in bins),
        low=tuple(float("nan") if right.low is None else right.low for *_, right in bins),
        high=tuple(float("nan") if right.high is None else right.high for *_, right in bins),
    )
    steps = tuple(i / BINS for i in range(BINS + 1))
    even = Series(name="as promised", x=steps, y=steps)
    return Chart(
        title="Probabilities: promised and kept", kind="line", series=(seen, even),
        x_label="largest probability, mean of its bin", y_label="share right",
        note="Below the straight line: surer than right. Whiskers are 95 % intervals.",
    )  # fmt: skip


def _listed(bins: list[tuple[float, float, int, float, Estimate]], columns: Columns) -> Table:
    rows = tuple(
        (f"{low:.1f} to {high:.1f}", n, round(top, 3), figures.share(right))
        for low, high, n, top, right in bins
    )
    lost = int(columns.run.sum()) - sum(n for _, _, n, _, _ in bins)
    return Table(
        title="Probabilities by how sure they are",
        head=("largest probability", "answers", "its mean", "right"),
        rows=rows,
        note=f"Mean gap between the last two columns, by answers: {gap(bins):.3f}. "
        f"Invalid answers, {lost}, are in no row.",
    )
