"""One model over MultiNet's families: its headline in each, and what is above the baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from toolmark.runs.suite import Ran
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.paired import paired
from toolmark.suites.multinet import paper
from toolmark.suites.multinet.frame import FAMILIES
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell
from toolmark.types import Chart, Series, Table

_BEST = "best baseline"
_NOTE = (
    "Exact match; of openx the share of rows closer than the training mean. Families differ in "
    "what they ask and how hard it is: compare within a column, not along a row."
)


def profile(runs: Sequence[Ran]) -> Sequence[Table | Chart]:
    """Return each model's shares by family, what they are above the best baseline, and a chart."""
    found = _gathered(runs)
    families = [name for name in FAMILIES if any(name in each for each in found.values())]
    if len(families) < 2:
        return ()
    shares = {
        name: [_share(each.get(family)) for family in families] for name, each in found.items()
    }
    floor = [_floor(found, family) for family in families]
    return [
        _table(families, shares, floor),
        *_chart(families, found, floor),
        _above(families, found),
    ]


def _gathered(runs: Sequence[Ran]) -> dict[str, dict[str, Columns]]:
    """Return columns by model and family; a model that ran a family twice stands by its runs."""
    seen = Counter((run.model, run.suite) for run in runs)
    twice = {model for (model, _), n in seen.items() if n > 1}
    found: dict[str, dict[str, Columns]] = {}
    for run in runs:
        columns = next(iter(run.readings.values()))
        name = run.name if run.model in twice else run.model
        if columns.run.any() and (family := paper.family(columns)):
            found.setdefault(name, {})[family] = columns
    return found


def _share(columns: Columns | None) -> float | None:
    return None if columns is None else measure.exact(columns).value


def best(columns: Columns) -> tuple[str, Columns] | None:
    """Return the baseline that did best on these rows, None where there is none.

    Of openx none is better than the training mean by definition: those that move are compared.
    """
    found = {}
    for name in measure.guesses(columns):
        own = measure.moved if measure.kind(columns) == "motion" else measure.guess
        rows = own(columns, name)
        if len(rows):
            found[name] = rows
    if not found:
        return None
    return max(found.items(), key=lambda pair: float(pair[1].value.mean()))


def _floor(found: Mapping[str, Mapping[str, Columns]], family: str) -> tuple[str, float] | None:
    """Return the best baseline on the rows of the first model that was asked this family."""
    columns = next(each[family] for each in found.values() if family in each)
    known = best(columns)
    return (known[0], float(known[1].value.mean())) if known else None


def _table(
    families: Sequence[str],
    shares: Mapping[str, Sequence[float | None]],
    floor: Sequence[tuple[str, float] | None],
) -> Table:
    rows: list[tuple[Cell, ...]] = [(name, *cells) for name, cells in shares.items()]
    rows.append((_BEST, *(each[1] if each else None for each in floor)))
    rows += [(f"{model} (paper)", *cells) for model, cells in _paper(families).items()]
    told = ", ".join(
        f"{family} {each[0]}" for family, each in zip(families, floor, strict=True) if each
    )
    note = f"{_NOTE} Best baselines: {told}. The paper's models were asked other rows."
    return Table(title="Profile over the families", head=("model", *families), rows=tuple(rows),
                 heat=len(families), note=note)  # fmt: skip


def _paper(families: Sequence[str]) -> dict[str, list[float | None]]:
    """Return the paper's models that a figure is known of in any of these families."""
    known: dict[str, dict[str, float | None]] = {
        family: {model: shares[0] for model, shares in paper.KNOWN[family].models.items()}
        for family in families
        if family in paper.KNOWN
    }
    if "odinw" in families:
        exact = [pair[0] for pair in paper.ODINW.values()]
        known["odinw"] = {"GPT-5": sum(exact) / len(exact)}
    models = [model for model in paper.OPENX if any(model in each for each in known.values())]
    return {model: [known.get(family, {}).get(model) for family in families] for model in models}


def _chart(
    families: Sequence[str],
    found: Mapping[str, Mapping[str, Columns]],
    floor: Sequence[tuple[str, float] | None],
) -> Iterator[Chart]:
    nan = float("nan")
    series = []
    for name, each in found.items():
        seen = [measure.exact(each[family]) if family in each else None for family in families]
        ends = [(x.value, x.low, x.high) if x else (nan, nan, nan) for x in seen]
        lines = [tuple(nan if x is None else x for x in line) for line in zip(*ends, strict=True)]
        x = tuple(map(float, range(len(families))))
        series.append(Series(name=name, x=x, y=lines[0], low=lines[1], high=lines[2]))
    levels = tuple(each[1] if each else nan for each in floor)
    series.append(Series(name=_BEST, x=tuple(map(float, range(len(families)))), y=levels))
    yield Chart(title="Profile over the families, drawn", kind="bar", series=tuple(series),
                ticks=tuple(families), y_label="share right",
                note="Whiskers are 95 % intervals.")  # fmt: skip


def _above(families: Sequence[str], found: Mapping[str, Mapping[str, Columns]]) -> Table:
    """Return what each model is above the best baseline on its own rows, in points."""
    rows = tuple(
        (name, *(_points(each[family]) if family in each else None for family in families))
        for name, each in found.items()
    )
    return Table(
        title="Above the best baseline, in points", head=("model", *families), rows=rows,
        note="Each model against the baseline that did best on the very rows that it was asked, "
        "paired by row; in brackets 95 % intervals.",
    )  # fmt: skip


def _points(columns: Columns) -> str | None:
    known = best(columns)
    if known is None:
        return None
    return figures.points(paired(columns, known[1]).difference)
