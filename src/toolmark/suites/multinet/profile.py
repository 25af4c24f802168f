"""One model over MultiNet's families: its headline in each, and what is above the baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from toolmark.runs.suite import Ran
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.paired import paired
from toolmark.suites.multinet import paper, report
from toolmark.suites.multinet.families import FAMILIES
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell
from toolmark.types import Chart, Series, Table

Found: TypeAlias = Mapping[str, Mapping[str, Columns]]
"""Columns by the name of a row, then by family."""

MOST = 8  # rows that a chart has room for
_BEST = "best baseline"
_DAGGER = "†"
_SIZE = ("seed", "items", "form", "repeats", "limit", "sample", "tasks")
"""What makes runs of one model larger or others, but not of another kind; forms are rows."""
_NOTE = (
    "Exact match; of openx the share of rows closer than the training mean. Families differ in "
    "what they ask and how hard it is: compare within a column, not along a row. Of data of one's "
    "own the numbers are of these data, whatever the family is called."
)


class _Row(NamedTuple):
    """A row to be: the model and form, and by what it differs from the model's newest run."""

    model: str
    form: str
    apart: str = ""


def profile(runs: Sequence[Ran]) -> Sequence[Table | Chart]:
    """Return each model's shares by family, what they are above the best baseline, and a chart."""
    found, notes = _gathered(runs)
    families = [name for name in FAMILIES if any(name in each for each in found.values())]
    if len(families) < 2:
        return ()
    floors = _floors(found, families)
    drawn = [_chart(families, found, floors)] if len(found) + len(floors) <= MOST else []
    return [_table(families, found, floors, notes), *drawn, _above(families, found)]


# --- which run stands where -------------------------------------------------------------


def _gathered(runs: Sequence[Ran]) -> tuple[Found, list[str]]:
    """Return the rows, of a model's runs of one family the newest first, and what to say of that.

    A run that was asked otherwise, by a knob, gets a row of its own.
    """
    kept: dict[_Row, dict[str, Columns]] = {}
    newest: dict[tuple[str, str, str], str] = {}
    count: Counter[tuple[str, str, str]] = Counter()
    for run in sorted(runs, key=lambda run: run.created, reverse=True):
        columns = next(iter(run.readings.values()))
        family = paper.family(columns)
        if not family or not columns.run.any():
            continue
        apart = ", ".join(f"{k}={v}" for k, v in run.asked.items() if k not in _SIZE)
        for form in report.forms(columns) or [""]:
            place = run.model, form, family
            count[place] += 1
            own = newest.setdefault(place, apart) == apart
            row = _Row(run.model, form, "" if own else apart)
            kept.setdefault(row, {}).setdefault(family, _of(columns, form))
    notes = [_told(place, newest[place]) for place, n in count.items() if n > 1]
    return _named(kept, [run.model for run in runs]), notes


def _of(columns: Columns, form: str) -> Columns:
    return columns.where(columns.axis("form") == form) if form else columns


def _told(place: tuple[str, str, str], asked: str) -> str:
    model, _, family = place
    return f"{model} on {family}: the newest of several runs{asked and f' ({asked})'}."


def _named(kept: Mapping[_Row, dict[str, Columns]], models: Sequence[str]) -> Found:
    """Name rows by the model; by the form too where both were asked, and by what sets them apart.

    Models stand as their runs do, each with its own first.
    """
    both = len({row.form for row in kept}) > 1
    rows = sorted(kept, key=lambda row: (models.index(row.model), row.apart, row.form))
    return {
        f"{row.model}{f', by {row.form}' if both else ''}{row.apart and f' ({row.apart})'}": kept[
            row
        ]
        for row in rows
    }


# --- baselines --------------------------------------------------------------------------


def best(columns: Columns) -> tuple[str, Columns] | None:
    """Return the baseline that did best on these rows, None where there is none.

    One that knows what the model was not told is left out. Of openx none is better than the
    training mean by definition: those that move are compared.
    """
    found = {}
    for name in measure.guesses(columns):
        own = measure.moved if measure.kind(columns) == "motion" else measure.guess
        rows = own(columns, name)
        if len(rows) and name not in report.untold(columns):
            found[name] = rows
    if not found:
        return None
    return max(found.items(), key=lambda pair: float(pair[1].value.mean()))


Floor: TypeAlias = Mapping[str, tuple[str, float]]
"""The best baseline of each family, and its share."""


def _floors(found: Found, families: Sequence[str]) -> dict[str, Floor]:
    """Return the best baselines: once where all were asked the same, else for each row."""
    made: dict[str, dict[str, tuple[str, float]]] = {}
    for name, each in found.items():
        known = {family: best(each[family]) for family in families if family in each}
        made[name] = {
            family: (told[0], float(told[1].value.mean())) for family, told in known.items() if told
        }
    seen = {
        family: {each[family] for each in made.values() if family in each} for family in families
    }
    if all(len(each) < 2 for each in seen.values()):
        return {_BEST: {family: each for family, (each,) in _full(seen)}}
    return {f"{_BEST}, rows of {name}": floor for name, floor in made.items()}


def _full(
    seen: Mapping[str, set[tuple[str, float]]],
) -> Iterator[tuple[str, set[tuple[str, float]]]]:
    return ((family, each) for family, each in seen.items() if each)


# --- what is shown ----------------------------------------------------------------------


def _heads(families: Sequence[str], found: Found) -> tuple[str, ...]:
    """Return the families, marked where all rows of them are stand-ins."""
    return tuple(f"{name} {_DAGGER}" if _standing(found, name) else name for name in families)


def _standing(found: Found, family: str) -> bool:
    return all(measure.synthetic(each[family]) for each in found.values() if family in each)


def _stand(name: str, each: Mapping[str, Columns]) -> str:
    """Return a row's name, marked where all of it are stand-ins."""
    return f"{name} {_DAGGER}" if all(map(measure.synthetic, each.values())) else name


def _marked(cell: str, family: str, own: Columns, found: Found) -> str:
    """Mark a cell of stand-ins in a column that has others too."""
    lone = measure.synthetic(own) and not _standing(found, family)
    return f"{cell} {_DAGGER}" if lone else cell


def _stands(found: Found) -> str:
    """Say which rows are stand-ins."""
    told = []
    if all(_standing(found, family) for each in found.values() for family in each):
        found = {"every run": next(iter(found.values()))}
    for name, each in found.items():
        of = [family for family, columns in each.items() if measure.synthetic(columns)]
        if of:
            told.append(name if len(of) == len(each) else f"{name} on {', '.join(of)}")
    meant = "generated stand-ins, no measure on the published data"
    return f"{_DAGGER} {meant}: {'; '.join(told)}." if told else ""


def _table(
    families: Sequence[str], found: Found, floors: Mapping[str, Floor], notes: Sequence[str]
) -> Table:
    def cell(family: str, own: Columns | None) -> Cell:
        value = None if own is None else measure.exact(own).value
        if own is None or value is None or not _marked("", family, own, found):
            return value
        return _marked(figures.percent(value), family, own, found)

    rows: list[tuple[Cell, ...]] = [
        (_stand(name, each), *(cell(family, each.get(family)) for family in families))
        for name, each in found.items()
    ]
    for name, floor in floors.items():
        rows.append((name, *(floor[x][1] if x in floor else None for x in families)))
    rows += [(f"{model} (paper)", *cells) for model, cells in _paper(families, found).items()]
    told = [_NOTE, *notes, _bests(floors), "The paper's models were asked other rows.",
            _stands(found)]  # fmt: skip
    return Table(title="Profile over the families", head=("model", *_heads(families, found)),
                 rows=tuple(rows), heat=len(families),
                 note=" ".join(filter(None, told)))  # fmt: skip


def _bests(floors: Mapping[str, Floor]) -> str:
    """Say which baselines are the best."""
    told: dict[str, dict[str, None]] = {}
    for floor in floors.values():
        for family, (name, _) in floor.items():
            told.setdefault(family, {})[name] = None
    listed = ", ".join(f"{family} {' or '.join(names)}" for family, names in told.items())
    return f"Best baselines, of those that know no more than the model: {listed}." if told else ""


def _paper(families: Sequence[str], found: Found) -> dict[str, list[float | None]]:
    """Return the paper's models that a figure is known of in any of these families."""
    known: dict[str, dict[str, float | None]] = {
        family: {model: shares[0] for model, shares in paper.KNOWN[family].models.items()}
        for family in families
        if family in paper.KNOWN
    }
    if "odinw" in families:
        common = paper.shared(each["odinw"] for each in found.values() if "odinw" in each)
        exact = [paper.ODINW[name][0] for name in common]
        known["odinw"] = {"GPT-5": sum(exact) / len(exact)} if exact else {}
    models = [model for model in paper.OPENX if any(model in each for each in known.values())]
    return {model: [known.get(family, {}).get(model) for family in families] for model in models}


def _chart(families: Sequence[str], found: Found, floors: Mapping[str, Floor]) -> Chart:
    x = tuple(map(float, range(len(families))))
    series = []
    for name, each in found.items():
        seen = [measure.exact(each[family]) if family in each else None for family in families]
        ends = [(e.value, e.low, e.high) if e else (None,) * 3 for e in seen]
        y, low, high = (
            tuple(np.nan if end is None else end for end in line)
            for line in zip(*ends, strict=True)
        )
        series.append(Series(name=_stand(name, each), x=x, y=y, low=low, high=high))
    for name, floor in floors.items():
        levels = tuple(floor[family][1] if family in floor else np.nan for family in families)
        series.append(Series(name=name, x=x, y=levels))
    return Chart(title="Profile over the families, drawn", kind="bar", series=tuple(series),
                 ticks=_heads(families, found), y_label="share right",
                 note="Whiskers are 95 % intervals.")  # fmt: skip


def _above(families: Sequence[str], found: Found) -> Table:
    """Return what each model is above the best baseline on its own rows, in points."""

    def cell(family: str, own: Columns | None) -> str | None:
        known = None if own is None else best(own)
        if own is None or known is None:
            return None
        return _marked(figures.points(paired(own, known[1]).difference), family, own, found)

    rows = tuple(
        (_stand(name, each), *(cell(family, each.get(family)) for family in families))
        for name, each in found.items()
    )
    return Table(
        title="Above the best baseline, in points", head=("model", *_heads(families, found)),
        rows=rows, note="Each model against the baseline that did best on the very rows that it "
        "was asked and knows no more than it was told, paired by row; in brackets 95 % intervals.",
    )  # fmt: skip
