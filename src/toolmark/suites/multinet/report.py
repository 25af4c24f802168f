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

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from toolmark.stats.columns import Columns
from toolmark.stats.formulas import (
    Average,
    Equal,
    Filter,
    Formula,
    MacroF1,
    Mean,
    Metric,
    OverCategories,
    RelativeError,
)
from toolmark.suites.multinet.tables import choices, measure, odds, pairs, texts, vectors
from toolmark.suites.multinet.tables.measure import FORMS, Kind
from toolmark.types import Chart, Table

SYNTHETIC = (
    "SYNTHETIC: the rows are generated stand-ins of the published data. They show that the path "
    "works and compare models on these rows; they are no measure on the published data."
)


_VALID_ONLY = Filter(column="parts.valid", values=(1.0,))


def caution(columns: Columns) -> str:
    """Say that rows are stand-ins, "" where they are not."""
    return SYNTHETIC if measure.synthetic(columns) else ""


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return the numbers of a suite: the headline first, a share, then what it hangs on.

    Where nothing ran the family tells which they would be.
    Where rows were asked in both forms the headline is over both, and every number stands by form.
    """
    asked = forms(columns)
    if len(asked) < 2:
        form = next(iter(asked), "")
        return [replace(each, beside=_by(each, form)) for each in _numbers(columns, columns)]
    head = _numbers(columns, columns)[0]
    found = {form: _numbers(columns, columns.where(columns.axis("form") == form)) for form in asked}
    each = zip(*found.values(), strict=True)
    parts = [_in(form, metric) for row in each for form, metric in zip(found, row, strict=True)]
    return [replace(head, told=f"{head.told}, both forms"), *parts]


def _numbers(columns: Columns, part: Columns) -> list[Metric]:
    """Return the numbers of all these rows, as they are measured over a part of them."""
    kind = measure.kind(columns) or measure.meant(columns)
    found = [*_PLAIN.get(kind, (_HEAD, *_READ))]
    if kind in ("choice", "odds"):
        found[3:3] = [macro(part)]
    if kind == "motion":
        several = len(measure.levels(columns.category)) > 1  # a mean over levels is none over rows
        found += _moved(part, "" if several else "mae")
    if measure.known(columns, "truth_0").any():
        found += _PLAYERS
    if measure.known(columns, "similarity").any():
        found.append(_ALIKE)
    return found


def _in(form: str, metric: Metric) -> Metric:
    rows = (Filter(column="axes.form", values=(form,)), *metric.rows)
    return replace(metric, name=f"{metric.name}_{form}", told=_by(metric, form), rows=rows)


def forms(columns: Columns) -> list[str]:
    """Return the forms in which rows were asked."""
    return [form for form in FORMS if (columns.axis("form") == form).any()]


def _by(metric: Metric, form: str) -> str:
    return f"{metric.told}, by {form}" if form else metric.told


def macro(columns: Columns) -> Metric:
    """Return the macro F1 of these rows, the plain mean over sets of options where these differ."""
    split = not measure.one(columns.where(columns.run))
    word = "" if measure.one(columns) else measure.levelled(columns)
    n = len(measure.MOVES) ** 2 if measure.known(columns, "truth_0").any() else 2
    return Metric("macro_f1", MacroF1(otherwise=n, split=split, word=word), "macro F1", "answers")


def _moved(columns: Columns, part: str) -> Iterator[Metric]:
    """Go through the errors of vectors; categories have no common unit, so each stands alone."""
    errors: tuple[tuple[str, str, Formula], ...] = (
        ("mae", "MAE", Average(part="mae")),
        ("rel_mae", "RelMAE", RelativeError(part="mae")),
        ("rel_mse", "RelMSE", RelativeError(part="mse")),
    )
    for name, told, formula in errors:
        mean = OverCategories(formula=formula, word=measure.levelled(columns))
        yield Metric(name, mean, told, "answers", part=part if name == "mae" else "")


def _average(name: str, told: str) -> Metric:
    return Metric(name, Average(part=name), told, "answers", part=name)


_HEAD = Metric("exact", Mean(), "exact match", "answers")
_VALID = Metric("valid", Mean(part="valid"), "valid answers", "answers", part="valid")
_READ = (
    _VALID,
    Metric("exact_of_valid", Mean(), "exact match of valid answers", "answers", (_VALID_ONLY,)),
)
_PLAYERS = tuple(
    Metric(f"player_{i}", Equal(part=f"truth_{i}", other=f"said_{i}"), f"action of player {i}",
           "answers")
    for i in (0, 1)
)  # fmt: skip
_ALIKE = _average("similarity", "similarity (cosine)")
_CLOSER = Metric("closer", Mean(), f"closer than the training mean ({measure.EVEN})", "answers")
_BRIERS = (_average("brier", "Brier, linear"), _average("brier_sq", "Brier, quadratic"))
_AST = Metric("ast", Mean(part="ast"), "equal by structure", "answers", part="ast")
_PLAIN: Mapping[Kind, tuple[Metric, ...]] = {
    "odds": (_HEAD, *_READ, *_BRIERS), "calls": (_HEAD, *_READ, _AST), "motion": (_CLOSER, _VALID),
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
