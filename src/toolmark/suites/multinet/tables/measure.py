"""What tables read of the scores: rows by kind of answer, the baselines among them, their groups.

A baseline answered every row, so its rows are one's own with other values: what measures the one
measures the other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from toolmark.score.spread import READINGS, Reading
from toolmark.stats import figures, formulas
from toolmark.stats.columns import Columns, Mask, Names, Numbers, valued
from toolmark.stats.interval import FEWEST
from toolmark.stats.summary import mean
from toolmark.suites.multinet.families import GUESSES
from toolmark.suites.multinet.frame import ACTIONS
from toolmark.types import Estimate

Kind: TypeAlias = Literal["odds", "choice", "motion", "words", "calls", ""]
Cell: TypeAlias = str | float | int | None
Variants: TypeAlias = dict[str, tuple[Reading, Columns]]

GUESS = "guess."
EVEN = "50 % is no better"
"""What a share of rows closer than the mean is held to: the mean itself is closer in none."""
FEW = f", of errors and similarities from {FEWEST} of them on"
SOME = 20
"""Rows: of fewer a filter by percentiles keeps too few to say anything."""
OWN = "this run"
MOVES = tuple(action.lower() for action in ACTIONS)
LETTERS = ("N", "S", "E", "W", "·", "I")
FORMS = ("text", "tool")
_READING = " reading"
_FORMER = ("previous", "linear")
_MARK = "*"
_TOLD = (
    f" {_MARK} answers by what was right before, which the model was not told here (history=0): no "
    "measure of what it should reach."
)
_BY = {
    "layout": "layout", "subset": "sub-set", "type": "type of question", "morphology": "morphology",
}  # fmt: skip
_MANY = {
    "morphology": "morphologies", "category": "categories", "type of question": "types of question",
}  # fmt: skip
_MARKS: tuple[tuple[str, Kind], ...] = (
    ("p", "odds"), ("brier", "odds"), ("truth", "choice"), ("mae", "motion"), ("turns", "calls"),
    ("ast", "calls"), ("exact", "words"),
)  # fmt: skip
_KINDS: Mapping[str, Kind] = {
    "piqa": "choice", "odinw": "choice", "overcooked": "choice", "sqa3d": "words",
    "robovqa": "words", "bfcl": "calls", "openx": "motion",
}  # fmt: skip


def kind(columns: Columns) -> Kind:
    """Tell what was asked for by the parts that the verdicts hold; "" where nothing ran."""
    return next((kind for part, kind in _MARKS if known(columns, part).any()), "")


def meant(columns: Columns) -> Kind:
    """Tell what rows ask for by their family, where no verdict does: nothing ran."""
    return next((_KINDS[x] for x in levels(columns.axis("family")) if x in _KINDS), "")


def known(columns: Columns, part: str) -> Mask:
    """Return where a part has a number."""
    return ~np.isnan(columns.part(part))


def clustered(columns: Columns) -> bool:
    """Tell whether rows hang together by group."""
    return bool((columns.axis("group") != "").any())


def counted(columns: Columns) -> str:
    """Say what intervals count: the groups where rows hang together, else the rows."""
    return "groups of rows that hang together" if clustered(columns) else "rows"


def share(columns: Columns, part: str, name: str = "") -> Estimate:
    """Return the mean of a part that lies in [0, 1], over all rows, by groups."""
    return mean(valued(columns, columns.part(part)), name or part)


def exact(columns: Columns, name: str = "") -> Estimate:
    """Return the mean value: what cannot be read counts as wrong."""
    return mean(columns, name)


def readable(columns: Columns) -> Columns:
    """Return the rows whose answer was valid."""
    return columns.where(columns.part("valid") == 1)


def levels(column: Names) -> list[str]:
    """Return the levels present, in order."""
    return sorted({str(level) for level in column} - {""})


def synthetic(columns: Columns) -> bool:
    """Tell whether any row is of a generated stand-in."""
    return bool((columns.axis("source") == "synthetic").any())


# --- baselines --------------------------------------------------------------------------


def guesses(columns: Columns) -> list[str]:
    """Return the names of the baselines whose answers the rows hold, those that know least first.

    One that answers with shares has no likeliest option: it is not among them.
    """
    parts = [part.removeprefix(GUESS) for part in columns.parts if part.startswith(GUESS)]
    names = {part.partition(".")[0] for part in parts} - {*even(columns)}
    first = [name for name in GUESSES if name in names]
    return [*first, *sorted(names - set(first))]


def untold(columns: Columns) -> Collection[str]:
    """Return the baselines that know what the model is not told: what was right before."""
    return () if (columns.axis("history") != "").any() else _FORMER


def called(columns: Columns, name: str) -> str:
    """Return a baseline's name, marked where it knows what the model is not told."""
    return f"{name} {_MARK}" if name in untold(columns) else name


def caveat(columns: Columns) -> str:
    """Say what the mark means, "" where no baseline of these rows has it."""
    return _TOLD if {*untold(columns)} & {*guesses(columns)} else ""


def even(columns: Columns) -> list[str]:
    """Return the names of the baselines that give each option the same share."""
    ends = f"{GUESS}(.+)[.]brier"
    return sorted(found[1] for part in columns.parts if (found := re.fullmatch(ends, part)))


def guess(columns: Columns, name: str) -> Columns:
    """Return the rows as that baseline answered them, where it did: a choice or a text.

    A text's part says whether it was exact; an index is said as any model's.
    """
    told = columns.part(f"{GUESS}{name}")
    there = ~np.isnan(told) & columns.run
    mine, told = columns.where(there), told[there]
    indexed = bool(known(mine, "truth").any())
    right = (told == mine.part("truth")).astype(float) if indexed else told
    parts = {**mine.parts, "valid": np.ones(len(told))}
    parts = _indexed(parts, told) if indexed else {**parts, "exact": told}
    return replace(valued(mine, right), parts=parts)


def _indexed(parts: dict[str, Numbers], told: Numbers) -> dict[str, Numbers]:
    """Return the parts of rows where that index was said, of probabilities all on it."""
    odds = "brier" in parts
    made = {
        name: column
        for name, column in parts.items()
        if name.partition("_")[0] not in ("p", "top", "raw", "brier")
    }
    said = {"": told}
    if "truth_0" in parts:
        said |= {"_0": told // len(MOVES), "_1": told % len(MOVES)}
    for player, index in said.items():
        made[f"said{player}"] = index
        if odds:
            made[f"brier{player}"] = np.where(index == parts[f"truth{player}"], 0.0, 2.0)
    return made | ({"brier_sq": made["brier"]} if odds else {})


def moved(columns: Columns, name: str) -> Columns:
    """Return the rows as that baseline moved; the mean's are those that every row is held to."""
    source = f"{GUESS}{name}."
    parts = {part: column for part, column in columns.parts.items() if not part.startswith(GUESS)}
    for part in ("mae", "mse"):
        parts[part] = columns.part(f"{source}{part}")
    parts["valid"] = np.ones(len(columns))
    nearer = (parts["mae"] < columns.part("base_mae")) | (parts["mae"] == 0)
    near = np.where(np.isnan(parts["mae"]), np.nan, nearer)
    made = replace(valued(columns, near), parts=parts)
    return made.where(columns.run & made.run)


def tied(columns: Columns) -> Columns:
    """Return the rows as the training mean moved, each half right: it is as near as itself."""
    return valued(columns, np.where(columns.run & known(columns, "base_mae"), 0.5, np.nan))


# --- readings and forms -----------------------------------------------------------------


def alike(a: Columns, b: Columns) -> bool:
    """Tell whether two readings hold the same values and parts."""
    return (
        np.array_equal(a.task, b.task)
        and np.array_equal(a.value, b.value, equal_nan=True)
        and a.parts.keys() == b.parts.keys()
        and all(np.array_equal(x, b.parts[n], equal_nan=True) for n, x in a.parts.items())
    )


def variants(readings: Mapping[str, Columns]) -> Variants:
    """Return a run's rows by what tells them apart: its form where it has both, its readings.

    Readings that hold the same stand once. Beside the rows stands the first of their readings. A
    form of which nothing ran is left out.
    """
    made: dict[str, tuple[Reading, Columns]] = {}
    first = next(iter(readings.values()))
    forms = [form for form in FORMS if (first.axis("form") == form).any()]
    for form in forms if len(forms) > 1 else ("",):
        parts = {
            name: columns.where(columns.axis("form") == form) if form else columns
            for name, columns in readings.items()
        }
        if form and not any(columns.run.any() for columns in parts.values()):
            continue
        found: dict[str, tuple[list[str], Columns]] = {}
        for name, columns in parts.items():
            twin = next((key for key, (_, x) in found.items() if alike(x, columns)), None)
            if twin is None:
                found[name] = ([name], columns)
            else:
                found[twin][0].append(name)
        for reading, (names, columns) in found.items():
            told = f"{' and '.join(names)}{_READING}" if len(found) > 1 else ""
            made[", ".join(filter(None, (form, told)))] = (_read(reading), columns)
    return made


def _read(reading: str) -> Reading:
    return "reference" if reading == "reference" else "paper"


def forms(variants: Variants) -> Variants:
    """Return the first rows of each form, under its name; "" where there is one alone."""
    made: Variants = {}
    for told, found in variants.items():
        form = told.partition(", ")[0]
        made.setdefault(form if form in FORMS else "", found)
    return made


def joined(rows: Iterable[tuple[Cell, ...]], at: int = 0) -> tuple[tuple[Cell, ...], ...]:
    """Let rows that differ in their reading alone stand once; cell `at` is what rows are called."""
    made: dict[tuple[Cell, ...], tuple[Cell, ...]] = {}
    for row in rows:
        name = str(row[at])
        run, _, reading = name.removesuffix(_READING).rpartition(" ")
        read = name.endswith(_READING) and reading in READINGS
        key = (*row[:at], run if read else name, read, *row[at + 1 :])
        twin = made.get(key)
        told = f"{run} both readings" if read and twin and twin[at] != name else row[at]
        made[key] = (*row[:at], told, *row[at + 1 :])
    return tuple(made.values())


def fullest(variants: Variants) -> tuple[str, tuple[Reading, Columns]]:
    """Return the variant that figures are drawn of, and what tells it from others.

    That of the form with the most valid answers, text where both have as many, in the first of its
    readings.
    """
    found = forms(variants)
    form = max(found, key=lambda form: int((found[form][1].part("valid") == 1).sum()))
    return next((told, each) for told, each in variants.items() if each is found[form])


def named(variants: Variants, run: str = OWN) -> Variants:
    """Return the rows under the names that tables have for them: the run, and which variant."""
    return {f"{run}: {told}" if told else run: found for told, found in variants.items()}


def first(rows: Variants) -> tuple[Reading, Columns]:
    """Return the first of some rows and their reading."""
    return next(iter(rows.values()))


# --- classes ----------------------------------------------------------------------------


def classes(columns: Columns) -> int:
    """Return how many options there are, the greatest number where rows differ."""
    numbers = columns.part("classes")
    if not np.isnan(numbers).all():
        return int(np.nanmax(numbers))
    return len(MOVES) ** 2 if known(columns, "truth_0").any() else 2


def options(columns: Columns, n: int, *, short: bool = False) -> list[str]:
    """Return the options' names, "#10" for one that is never right here, whose name is not known.

    Where options differ by row they have no names: they are called by their index.
    """
    if known(columns, "truth_0").any() and n == len(MOVES) ** 2:
        if short:
            return [a + b for a in LETTERS for b in LETTERS]
        return [f"{a}, {b}" for a in MOVES for b in MOVES]
    truth, level = columns.part("truth"), columns.axis("class")
    found = {int(t): str(c) for t, c in zip(truth, level, strict=True) if c and not np.isnan(t)}
    names = {i: told.partition(" ")[2] for i, told in found.items()}  # behind the index
    return [names.get(i, f"#{i}" if names else str(i)) for i in range(n)]


def sets(columns: Columns) -> Iterator[tuple[str, Columns]]:
    """Go through the rows whose options are the same: all of them, else category by category."""
    if one(columns):
        yield "", columns
        return
    for level in levels(columns.category):
        yield level, columns.where(columns.category == level)


def one(columns: Columns) -> bool:
    """Tell whether an index means the same in every row."""
    if known(columns, "truth_0").any():
        return True
    numbers = columns.part("classes")
    several = len(set(numbers[~np.isnan(numbers)].tolist())) > 1
    return not several and len(levels(columns.category[columns.axis("class") != ""])) < 2


def by(columns: Columns) -> str:
    """Say what a category is: the slice whose levels are the categories'."""
    found = (told for axis, told in _BY.items() if (columns.axis(axis) == columns.category).all())
    return next(found, "category")


def lacking(columns: Columns) -> str:
    """Say how many categories ran, "4 of 5 morphologies run"; "" where all did."""
    return formulas.lacking(columns, levelled(columns))


def levelled(columns: Columns) -> str:
    """Say what categories are, "morphologies"."""
    word = by(columns)
    return _MANY.get(word, f"{word}s")


def invalid(columns: Columns) -> str:
    """Return the share of answers that could not be read; of none a dash."""
    if not len(columns):
        return figures.DASH
    return figures.percent(1 - float(columns.part("valid").mean()))


def right(columns: Columns, name: str) -> str | None:
    """Return a baseline's share of right answers on these rows."""
    found = guess(columns, name)
    return figures.percent(float(found.value.mean())) if len(found) else None
