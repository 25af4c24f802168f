"""One model over MultiNet's families: its headline in each, and what is above the baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from toolmark.runs.suite import Ran
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.paired import paired
from toolmark.suites.multinet import paper, report
from toolmark.suites.multinet.families import FAMILIES, GUESSES, usual
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell
from toolmark.types import Chart, Series, Table

Found: TypeAlias = Mapping[str, Mapping[str, Columns]]
"""Columns by the name of a row, then by family."""

MOST = 8  # rows that a chart has room for
_NAMED = 3  # rows that a floor names
_MEAN = "mean"
_FLOORS = tuple(f"baseline/{name}" for name in GUESSES)
_BEST = "best baseline"
_DAGGER = "†"
_SIZE = ("seed", "items", "form", "repeats", "limit", "sample", "tasks")
"""What makes runs of one model larger or others, but not of another kind; forms are rows."""
_NOTE = (
    "Exact match; of openx the share of rows closer than the training mean, which is no better "
    "than that mean at 50 %. Families differ in "
    "what they ask and how hard it is: compare within a column, not along a row. Of data of one's "
    "own the numbers are of these data, whatever the family is called."
)


class _Row(NamedTuple):
    """A row to be: the model and form, and by what it was asked otherwise than is usual."""

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
    return [_table(families, found, floors, notes), *_errors(found), *drawn,
            _above(families, found)]  # fmt: skip


# --- which run stands where -------------------------------------------------------------


def _gathered(runs: Sequence[Ran]) -> tuple[Found, list[str]]:
    """Return the rows, of runs that were asked alike the newest, and what to say of that.

    A run that was asked otherwise than one is where nothing is said has a row of its own, named by
    that. Baselines are floors, not models, unless there is nothing else.
    """
    played = [run for run in runs if run.model not in _FLOORS]
    left = {run.model for run in runs if played} - {run.model for run in played}
    apart = _apart(played or runs)
    kept: dict[_Row, dict[str, Columns]] = {}
    count: Counter[tuple[_Row, str]] = Counter()
    for run in sorted(played or runs, key=lambda run: run.created, reverse=True):
        columns = next(iter(run.readings.values()))
        family = paper.family(columns)
        if not family or not columns.run.any():
            continue
        for form in report.forms(columns) or [""]:
            row = _Row(run.model, form, apart[run.model, family](run))
            count[row, family] += 1
            kept.setdefault(row, {}).setdefault(family, _of(columns, form))
    notes = dict.fromkeys(_told(row, family, n) for (row, family), n in count.items() if n > 1)
    floors = f"Not among the models: {', '.join(sorted(left))}." if left else ""
    models = list(dict.fromkeys(run.model for run in runs))
    return _named(kept, models), [*notes, *filter(None, [floors])]


def _apart(runs: Sequence[Ran]) -> Mapping[tuple[str, str], Callable[[Ran], str]]:
    """Return how runs of a model and family are told apart, "" of one that was asked as usual.

    Settings that runs do not differ in are told of none: then they are what is usual here.
    """
    made: dict[tuple[str, str], list[Ran]] = {}
    for run in runs:
        made.setdefault((run.model, paper.family(next(iter(run.readings.values())))), []).append(
            run
        )
    return {place: partial(_unusual, place[1], _settings(of)) for place, of in made.items()}


def _settings(runs: Sequence[Ran]) -> list[str]:
    """Return the settings in which runs differ; one that is unset in some sets these apart too."""
    names = dict.fromkeys(name for run in runs for name in run.asked if name not in _SIZE)
    return [name for name in names if len({run.asked.get(name) for run in runs}) > 1]


def _unusual(family: str, names: Sequence[str], run: Ran) -> str:
    """Word the settings of these that are not as usual."""
    told = {name: run.asked.get(name) for name in names}
    return ", ".join(
        f"{name} unset" if value is None else f"{name}={value}"
        for name, value in told.items()
        if value != usual(family, name)
    )


def _of(columns: Columns, form: str) -> Columns:
    return columns.where(columns.axis("form") == form) if form else columns


def _told(row: _Row, family: str, n: int) -> str:
    name = f"{row.model} ({row.apart})" if row.apart else row.model
    return f"{name} on {family}: the newest of {n} runs."


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

    One that knows what the model was not told is left out. Of openx the training mean is among
    them, as near as itself: half right.
    """
    found: dict[str, Columns] = {}
    motion = measure.kind(columns) == "motion"
    if motion and len(rows := measure.tied(columns).where(measure.known(columns, "base_mae"))):
        found[_MEAN] = rows
    for name in measure.guesses(columns):
        if motion and name == _MEAN:
            continue
        rows = measure.moved(columns, name) if motion else measure.guess(columns, name)
        if len(rows) and name not in measure.untold(columns):
            found[name] = rows
    if not found:
        return None
    return max(found.items(), key=lambda pair: float(pair[1].value.mean()))


class _Best(NamedTuple):
    """A baseline's name and share, and whether the rows that it answered are stand-ins."""

    name: str
    share: float
    synthetic: bool


Floor: TypeAlias = Mapping[str, _Best]
"""The best baseline of each family."""


def _floors(found: Found, families: Sequence[str]) -> dict[str, Floor]:
    """Return the best baselines: once for rows that were asked the same, else apart."""
    made: list[tuple[list[str], dict[str, _Best]]] = []
    for name, each in found.items():
        known = {family: best(each[family]) for family in families if family in each}
        floor = {
            family: _Best(told[0], float(told[1].value.mean()), measure.synthetic(each[family]))
            for family, told in known.items() if told
        }  # fmt: skip
        twin = next((own for own in made if _agree(own[1], floor)), None)
        if twin:
            twin[0].append(name)
            twin[1].update(floor)
        else:
            made.append(([name], floor))
    several = len(made) > 1
    return {f"{_BEST}, rows of {_listed(of)}" if several else _BEST: floor for of, floor in made}


def _agree(one: Floor, other: Floor) -> bool:
    """Tell whether two say the same wherever both say something."""
    return all(one[family] == other[family] for family in one.keys() & other.keys())


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


# --- what is shown ----------------------------------------------------------------------


def _heads(families: Sequence[str], found: Found) -> tuple[str, ...]:
    """Return the families, marked where all rows of them are stand-ins."""
    return tuple(f"{name} {_DAGGER}" if _standing(found, name) else name for name in families)


def _standing(found: Found, family: str) -> bool:
    return all(measure.synthetic(each[family]) for each in found.values() if family in each)


def _stand(name: str, each: Mapping[str, Columns]) -> str:
    """Return a row's name, marked where all of it are stand-ins."""
    return f"{name} {_DAGGER}" if all(map(measure.synthetic, each.values())) else name


def _lone(synthetic: bool, family: str, found: Found) -> bool:
    """Tell whether a cell is of stand-ins in a column that has others too."""
    return synthetic and not _standing(found, family)


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
    def cell(family: str, value: float | None, synthetic: bool) -> Cell:
        if value is None or not _lone(synthetic, family, found):
            return value
        return f"{figures.percent(value)} {_DAGGER}"

    def own(family: str, rows: Columns | None) -> Cell:
        if rows is None:
            return None
        return cell(family, measure.exact(rows).value, measure.synthetic(rows))

    def best(family: str, known: _Best | None) -> Cell:
        return None if known is None else cell(family, known.share, known.synthetic)

    rows: list[tuple[Cell, ...]] = [
        (_stand(name, each), *(own(family, each.get(family)) for family in families))
        for name, each in found.items()
    ]
    for name, floor in floors.items():
        rows.append((name, *(best(family, floor.get(family)) for family in families)))
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
        for family, (name, *_) in floor.items():
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


def _errors(found: Found) -> Iterator[Table]:
    """Return the relative errors of those that moved, which the share of nearer rows says not."""
    own = {name: each["openx"] for name, each in found.items() if "openx" in each}
    rows: list[tuple[Cell, ...]] = []
    for name, columns in own.items():
        told = {metric.name: metric for metric in report.metrics(columns)}
        numbers = (told[error].measure(columns) for error in ("rel_mae", "rel_mse"))
        rows.append((_stand(name, found[name]), *map(figures.value, numbers)))
    if rows:
        rows.append(("training mean", "1", "1"))
        yield Table(
            title="Profile: errors on openx", head=("model", "RelMAE", "RelMSE"), rows=tuple(rows),
            note="Errors over those of the training mean, of several morphologies their mean: less "
            "is better, 1 is no better than it. Who is closer in most rows may be far off in the "
            "rest.",
        )  # fmt: skip


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
        levels = tuple(floor[x].share if x in floor else np.nan for x in families)
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
        told = figures.points(paired(own, known[1]).difference)
        return f"{told} {_DAGGER}" if _lone(measure.synthetic(own), family, found) else told

    rows = tuple(
        (_stand(name, each), *(cell(family, each.get(family)) for family in families))
        for name, each in found.items()
    )
    return Table(
        title="Above the best baseline, in points", head=("model", *_heads(families, found)),
        rows=rows, note="Each model against the baseline that did best on the very rows that it "
        "was asked and knows no more than it was told, paired by row; in brackets 95 % intervals. "
        "The best of several is chosen on these rows, which flatters it: it is a high bar. Of "
        "openx it is the training mean where none does better, 50 %.",
    )  # fmt: skip
