"""Tables of MultiNet's suites: what was right, what came near, and what could not be read at all.

What is read of the scores, beside the parts that a verdict holds by kind of answer (choice and
odds, motion, words, calls):

axes   `form` text or tool; `source` synthetic, real or published; `group`, of rows that hang
       together only (`Rows.clustered`): intervals go by it then; `class`, the index of the option
       that is right and, behind a space, its name, of a choice whose options are the same in every
       row of its category; `history`, where answers before the step are told; the slices
parts  `classes`, how many options there are; of calls `match.1` and on, whether a turn is exact,
       `invalid_turns`, `calls` and `calls_truth`, how many were made and wanted
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from msgspec import structs

from toolmark.runs.suite import Metric
from toolmark.score import labels
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.interval import bootstrap
from toolmark.stats.summary import average
from toolmark.suites.multinet.tables import choices, measure, odds, pairs, texts, vectors
from toolmark.suites.multinet.tables.measure import FORMS, Kind, Measure
from toolmark.types import Chart, Estimate, Table

SYNTHETIC = (
    "SYNTHETIC: the rows are generated stand-ins of the published data. They show that the path "
    "works and compare models on these rows; they are no measure on the published data."
)


# errors may be as large as numbers go, their sums larger
_quiet = np.errstate(over="ignore", invalid="ignore")


class _Told(NamedTuple):
    """A number of a suite: its name in files, what readers are told, how it is measured.

    `rows` are those that it rests on, where that is not all of them; `part` is the part of the
    verdicts whose mean it is.
    """

    name: str
    told: str
    measure: Measure
    rows: Callable[[Columns], Columns] | None = None
    part: str = ""


def caution(columns: Columns) -> str:
    """Say that rows are stand-ins, "" where they are not."""
    return SYNTHETIC if measure.synthetic(columns) else ""


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return the numbers of a suite: the headline first, a share, then what it hangs on.

    Where nothing ran the family tells which they would be.
    Where rows were asked in both forms the headline is over both, and every number stands by form.
    """
    kind = measure.kind(columns) or measure.meant(columns)
    found = [*_NUMBERS[kind]]
    if measure.known(columns, "truth_0").any():
        found += _PLAYERS
    if measure.known(columns, "similarity").any():
        found.append(_ALIKE)
    if len(measure.levels(columns.category)) > 1:  # a mean over levels is none over answers
        found = [each._replace(part="") if each.name == "mae" else each for each in found]
    asked = forms(columns)
    if len(asked) < 2:
        form = next(iter(asked), "")
        return [replace(_metric(each), beside=_by(each, form)) for each in found]
    head = found[0]._replace(told=f"{found[0].told}, both forms")
    return [_metric(head), *(_metric(each, form) for each in found for form in asked)]


def forms(columns: Columns) -> list[str]:
    """Return the forms in which rows were asked."""
    return [form for form in FORMS if (columns.axis("form") == form).any()]


def _metric(told: _Told, form: str = "") -> Metric:
    name = f"{told.name}_{form}" if form else told.name

    def rows(columns: Columns) -> Columns:
        kept = columns.where(columns.axis("form") == form) if form else columns
        return told.rows(kept) if told.rows else kept

    @_quiet
    def measured(columns: Columns) -> Estimate:
        return structs.replace(told.measure(rows(columns)), name=name)

    kept = rows if form or told.rows else None
    return Metric(name, measured, _by(told, form), "answers", kept, part=told.part)


def _by(told: _Told, form: str) -> str:
    return f"{told.told}, by {form}" if form else told.told


def _average(columns: Columns, part: str) -> Estimate:
    """Return the mean of a part that is no share, over the rows that have it."""
    return structs.replace(average(columns, part), share=False)


@_quiet
def relative(columns: Columns, part: str) -> Estimate:
    """Return errors over those of the training mean: a sum over a sum, by groups.

    There is no interval of few groups (`bootstrap`), nor of few rows: the errors of the mean may be
    large in rare rows alone, and rows that have none of these do not tell that they lack.
    """
    kept = columns.where(columns.run & measure.known(columns, part))
    own, base = kept.part(part), kept.part(f"base_{part}")
    if not len(kept) or not base.sum() > 0:
        return Estimate(name=part, share=False)
    few = len(kept) < figures.MANY
    low, high = (np.nan, np.nan) if few else bootstrap(own, kept.cluster, over=base)
    ends = (None, None) if np.isnan(low) else (low, high)
    return Estimate(name=part, value=float(own.sum() / base.sum()), low=ends[0], high=ends[1],
                    n=len(kept), share=False)  # fmt: skip


def _over_levels(measured: Measure) -> Measure:
    """Measure category by category, where numbers of several have no common unit; their plain mean.

    The interval of the mean is made of those of the parts, which are independent of each other: the
    squares of the distances of their ends add up (Zou and Donner 2008). It is partial where a
    category did not run: the mean of the rest is another number.
    """

    def mean(columns: Columns) -> Estimate:
        names = measure.levels(columns.category)
        found = [measured(columns.where(columns.category == name)) for name in names]
        found = [each for each in found if each.value is not None]
        if not found:
            return measured(columns)
        if len(found) < 2:
            return structs.replace(found[0], partial=measure.lacking(columns))
        values = np.array([each.value for each in found])
        ends = [(each.low, each.high) for each in found]
        whole = all(low is not None and high is not None for low, high in ends)
        low, high = np.array(ends, dtype=float).T
        middle = float(values.mean())
        return Estimate(
            name=found[0].name, value=middle, n=sum(each.n for each in found), share=False,
            low=middle - float(np.hypot.reduce(values - low)) / len(found) if whole else None,
            high=middle + float(np.hypot.reduce(high - values)) / len(found) if whole else None,
            partial=measure.lacking(columns),
        )  # fmt: skip

    return mean


def macro(columns: Columns) -> Estimate:
    """Return the macro F1, the plain mean over sets of options where these differ; no interval.

    It is partial where a set has no row that ran.
    """
    ran = columns.where(columns.run)
    if not len(ran):
        return Estimate(name="macro_f1")
    found = [labels.measures(choices.tally(part, "paper")) for _, part in measure.sets(ran)]
    value = float(np.mean([each["macro_f1"] for each in found]))
    lacks = "" if measure.one(columns) else measure.lacking(columns)
    return Estimate(name="macro_f1", value=value, n=len(ran), partial=lacks)


_HEAD = _Told("exact", "exact match", measure.exact)
_VALID = _Told("valid", "valid answers", partial(measure.share, part="valid"), part="valid")
_READ = (
    _VALID,
    _Told("exact_of_valid", "exact match of valid answers", measure.exact, measure.readable),
)
_PLAYERS = tuple(
    _Told(f"player_{i}", f"action of player {i}", partial(choices.exact_of, player=f"_{i}"))
    for i in (0, 1)
)
_ALIKE = _Told(
    "similarity", "similarity (cosine)", partial(_average, part="similarity"), part="similarity"
)
_CLOSER = _Told("closer", f"closer than the training mean ({measure.EVEN})", measure.exact)
_MOVED = tuple(
    _Told(name, told, _over_levels(measured), part="mae" if name == "mae" else "")
    for name, told, measured in (
        ("mae", "MAE", partial(_average, part="mae")),
        ("rel_mae", "RelMAE", partial(relative, part="mae")),
        ("rel_mse", "RelMSE", partial(relative, part="mse")),
    )
)
_CHOSEN = (_HEAD, *_READ, _Told("macro_f1", "macro F1", macro))
_BRIERS = tuple(
    _Told(name, told, partial(_average, part=name), part=name)
    for name, told in (("brier", "Brier, linear"), ("brier_sq", "Brier, quadratic"))
)
_AST = _Told("ast", "equal by structure", partial(measure.share, part="ast"), part="ast")
_NUMBERS: Mapping[Kind, tuple[_Told, ...]] = {
    "": (_HEAD, *_READ), "choice": _CHOSEN, "odds": (*_CHOSEN, *_BRIERS),
    "words": (_HEAD, *_READ), "calls": (_HEAD, *_READ, _AST), "motion": (_CLOSER, _VALID, *_MOVED),
}  # fmt: skip
_RIGHT: Mapping[Kind, str] = {"motion": "closer than the mean"}


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return what there is to see of a run, by the kind of its answers; nothing where none ran."""
    columns = next(iter(readings.values()))
    if not columns.run.any():
        return ()
    kind, level = measure.kind(columns), measure.by(columns)
    made: list[Table | Chart] = []
    if kind == "motion":
        made += vectors.tables(readings, level)
    elif kind == "words":
        made += texts.texts(readings, level)
    elif kind == "calls":
        made += texts.calls(readings, level)
    else:
        made += choices.tables(readings, level)
    compared = list(pairs.tables(readings, _RIGHT.get(kind, "exact match")))
    made[1:1] = compared
    made += odds.tables(readings) if kind == "odds" else ()
    return made


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return the first tables of several runs as one: their rows below each other.

    The baselines' rows are of the first run's items; runs of other kinds are left to themselves.
    """
    runs = together(readings)
    kinds = {run: measure.kind(measure.first(found)[1]) for run, found in runs.items()}
    made: list[Table | Chart] = []
    for each in _together(kinds.values()):
        rows: measure.Variants = {}
        for run, found in runs.items():
            if each == _WIDER.get(kinds[run], kinds[run]) or each == kinds[run]:
                rows |= found
        if len(rows) > 1:
            made += _board(each, rows)
    return made


def together(readings: Mapping[str, Mapping[str, Columns]]) -> dict[str, measure.Variants]:
    """Return the rows of each run that ran, under the names that tables of several have for them.

    A row of a table is of one form, and says so where the runs have both.
    """
    runs = {
        run: {name: found[run] for name, found in readings.items()}
        for run, columns in next(iter(readings.values())).items()
        if columns.run.any()
    }
    asked = {run: forms(next(iter(found.values()))) for run, found in runs.items()}
    several = len({form for found in asked.values() for form in found}) > 1
    made: dict[str, measure.Variants] = {}
    for run, found in runs.items():
        told = measure.variants(found)
        if several and len(asked[run]) == 1:  # else the variants say it themselves
            told = {", ".join(filter(None, (asked[run][0], x))): y for x, y in told.items()}
        made[run] = measure.named(told, run)
    return made


_WIDER: Mapping[Kind, Kind] = {"odds": "choice"}
"""What may also be seen as another kind: the likeliest option is a choice."""


def _together(kinds: Iterable[Kind]) -> list[Kind]:
    found = dict.fromkeys(kinds)
    return list(dict.fromkeys([*(_WIDER.get(kind, kind) for kind in found), *found]))


def _board(kind: Kind, rows: measure.Variants) -> Iterator[Table | Chart]:
    level = measure.by(measure.first(rows)[1])
    match kind:
        case "motion":
            yield vectors.main(rows, level)
        case "words":
            yield texts.answers(rows)
        case "calls":
            yield from texts.conversations(rows)
        case "odds":
            yield odds.briers(rows)
        case _:
            yield choices.main(rows, level)
