"""Tables of MultiNet's suites: what was right, what came near, and what could not be read at all.

What is read of the scores, beside the parts that a verdict holds by kind of answer (choice and
odds, motion, words, calls):

axes   `form` text or tool; `source` synthetic, real or published; `group`, of rows that hang
       together only (`Rows.clustered`): intervals go by it then; `class`, the option that is right,
       of a choice whose options are the same in every row of its category; the slices
parts  `classes`, how many options there are
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from toolmark.runs.suite import Metric
from toolmark.stats.columns import Columns
from toolmark.suites.multinet.tables import choices, measure, odds, pairs, texts, vectors
from toolmark.suites.multinet.tables.measure import Kind, Measure
from toolmark.types import Chart, Estimate, Table

SYNTHETIC = (
    "SYNTHETIC: the rows are generated stand-ins of the published data. They show that the path "
    "works and compare models on these rows; they are no measure on the published data."
)


class _Told(NamedTuple):
    """A number of a suite: its name in files, what readers are told, how it is measured."""

    name: str
    told: str
    measure: Measure


def caution(columns: Columns) -> str:
    """Say that rows are stand-ins, "" where they are not."""
    return SYNTHETIC if measure.synthetic(columns) else ""


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return the shares of a suite: the headline first, then what it hangs on."""
    found = _NUMBERS.get(measure.kind(columns), _NUMBERS[""])
    players = measure.known(columns, "truth_0").any()
    told = [*found, *(_PLAYERS if players else ())]
    return [Metric(each.name, each.measure, each.told, "answers") for each in told]


def _valid(columns: Columns) -> Estimate:
    return measure.share(columns, "valid", "valid")


def _of_valid(columns: Columns) -> Estimate:
    return measure.exact(measure.readable(columns), "exact_of_valid")


_HEAD = _Told("exact", "exact match", partial(measure.exact, name="exact"))
_READ = (
    _Told("valid", "valid answers", _valid),
    _Told("exact_of_valid", "exact match of valid answers", _of_valid),
)
_PLAYERS = tuple(
    _Told(f"player_{i}", f"action of player {i}",
          partial(choices.exact_of, player=f"_{i}", name=f"player_{i}"))
    for i in (0, 1)
)  # fmt: skip
_CLOSER = _Told("closer", "closer than the training mean", partial(measure.exact, name="closer"))
_AST = _Told("ast", "equal by structure", partial(measure.share, part="ast", name="ast"))
_NUMBERS: Mapping[Kind, tuple[_Told, ...]] = {
    "": (_HEAD, *_READ), "choice": (_HEAD, *_READ), "odds": (_HEAD, *_READ),
    "words": (_HEAD, *_READ), "calls": (_HEAD, *_READ, _AST), "motion": (_CLOSER, _READ[0]),
}  # fmt: skip
_RIGHT: Mapping[Kind, str] = {"motion": "closer than the mean"}
_BY = {
    "layout": "layout", "subset": "sub-set", "type": "type of question", "morphology": "morphology",
}  # fmt: skip


def by(columns: Columns) -> str:
    """Say what a category is: the slice whose levels are the categories'."""
    found = (told for axis, told in _BY.items() if (columns.axis(axis) == columns.category).all())
    return next(found, "category")


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return what there is to see of a run, by the kind of its answers; nothing where none ran."""
    columns = next(iter(readings.values()))
    if not columns.run.any():
        return ()
    kind, level = measure.kind(columns), by(columns)
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
    return [*made, *(odds.tables(readings) if kind == "odds" else ())]


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return the first tables of several runs as one: their rows below each other.

    The baselines' rows are of the first run's items; runs of other kinds are left to themselves.
    """
    runs = {
        run: {name: found[run] for name, found in readings.items()}
        for run, columns in next(iter(readings.values())).items()
        if columns.run.any()
    }
    kinds = {run: measure.kind(next(iter(found.values()))) for run, found in runs.items()}
    made: list[Table | Chart] = []
    for each in _together(kinds.values()):
        rows: measure.Variants = {}
        for run, found in runs.items():
            if each == _WIDER.get(kinds[run], kinds[run]) or each == kinds[run]:
                told = measure.variants(found)
                rows |= measure.named(told, run)
        if len(rows) > 1:
            made += _board(each, rows)
    return made


_WIDER: Mapping[Kind, Kind] = {"odds": "choice"}
"""What may also be seen as another kind: the likeliest option is a choice."""


def _together(kinds: Iterable[Kind]) -> list[Kind]:
    found = dict.fromkeys(kinds)
    return list(dict.fromkeys([*(_WIDER.get(kind, kind) for kind in found), *found]))


def _board(kind: Kind, rows: measure.Variants) -> Iterator[Table | Chart]:
    level = by(measure.first(rows)[1])
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
