"""What prompt formats do to accuracy: heat map, paired drops, spread, flips, modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.dialects.prompt import Format
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.paired import Paired, paired
from toolmark.suites.bfcl import formats, modes, subset
from toolmark.types import Chart, Table

Cell: TypeAlias = str | float | int | None
Grid: TypeAlias = NDArray[np.float64]

DRAWS = 1000
_MOST = 20_000_000  # cells that are shuffled at most: beyond that there are fewer draws
SHOWN = 40  # flipping items that the table names
FORMS = ("python", "json", "verbose_xml", "concise_xml")
HEAT = "Accuracy by prompt format"
SPREAD = "Spread over prompt formats"


def tables(readings: Mapping[str, Columns]) -> list[Table | Chart]:
    """Return the tables on format sensitivity; none where the category was not asked."""
    found = {name: formats.rows(columns) for name, columns in readings.items()}
    found = {name: rows for name, rows in found.items() if len(rows)}
    if not found:
        return []
    made: list[Table | Chart] = [heat(found, HEAT), spread(found, SPREAD)]
    for reading, rows in found.items():
        made += _drops(reading, rows)
    reading, rows = next(iter(found.items()))
    return [*made, *_flips(reading, rows), *_modes(reading, rows), *subset.one(reading, rows)]


def across(readings: Mapping[str, Mapping[str, Columns]]) -> list[Table | Chart]:
    """Return heat map, spread and figure 1 over several runs; none where only one asked formats."""
    made: list[Table | Chart] = []
    for reading, runs in readings.items():
        found = {name: formats.rows(columns) for name, columns in runs.items()}
        asked = {name: rows for name, rows in found.items() if len(rows)}
        if len(asked) < 2:
            continue
        note = _unlike(asked, [name for name in runs if name not in asked])
        made.append(heat(asked, f"{HEAT}, run by run ({reading})", note))
        made.append(spread(asked, f"{SPREAD}, run by run ({reading})"))
        made += subset.several(reading, asked)
    return made


def _unlike(asked: Mapping[str, Columns], others: Sequence[str]) -> str:
    """Say which runs have no column, and when the columns do not rest on the same entries."""
    entries = {name: set(rows.item[rows.run]) for name, rows in asked.items()}
    told = [f" Without results here: {', '.join(others)}."] if others else []
    if len(set(map(frozenset, entries.values()))) > 1:
        sizes = ", ".join(f"{name} {figures.count(len(held))}" for name, held in entries.items())
        told.append(f" Not over the same entries, so columns differ for that reason too: {sizes}.")
    return "".join(told)


# --- the heat map, and how far formats lie apart ----------------------------------------


def heat(rows: Mapping[str, Columns], title: str, note: str = "") -> Table:
    """Return accuracy by format: a row per format, a column per run or reading."""
    found = {name: formats.accuracies(columns) for name, columns in rows.items()}
    names = dict.fromkeys(name for row in found.values() for name in row)
    lines: list[tuple[Cell, ...]] = []
    for name in names:
        values = [row[name].value if name in row else None for row in found.values()]
        lines.append((formats.short(name), *values))
    return Table(
        title=title,
        head=("format", *found),
        rows=tuple(lines),
        note="How calls are written, whether inside a tag, and how functions are described; in "
        "plain text and classic style where nothing else is said." + note,
        heat=len(found),
    )


def spread(rows: Mapping[str, Columns], title: str) -> Table:
    """Return how far formats lie apart: largest difference, deviation, and what chance makes."""
    lines = [_spread(name, columns) for name, columns in rows.items()]
    return Table(
        title=title,
        head=("", "max delta", "std", "variance", "by chance, 95 %", "p", "best", "worst"),
        rows=tuple(lines),
        note="Max delta, sample standard deviation and variance of the formats' accuracies, in "
        "percentage points, as the leaderboard counts them. By chance: the max delta that 95 % of "
        "shuffles of each item's formats stay below; p: how often a shuffle reaches the one seen.",
    )


def _spread(name: str, columns: Columns) -> tuple[Cell, ...]:
    found = {key: x.value for key, x in formats.accuracies(columns).items() if x.value is not None}
    if len(found) < 2:
        return (name,)
    values = list(found.values())
    delta, std = formats.max_delta(values), formats.deviation(values)
    limit, p = chance(grid(columns, list(found))[1], delta)
    best, worst = max(found, key=lambda key: found[key]), min(found, key=lambda key: found[key])
    ends = (formats.short(best), formats.short(worst))
    return (
        name,
        _points(delta),
        _points(std),
        round(1e4 * std**2, 2),
        _points(limit),
        figures.chance(p),
        *ends,
    )


def _points(share: float) -> float:
    return round(100 * share, 2)


def grid(columns: Columns, names: Sequence[str]) -> tuple[list[str], Grid]:
    """Return the items, and their mean value in each format; nan where it was not run."""
    items = list(dict.fromkeys(columns.item.tolist()))
    place = {item: index for index, item in enumerate(items)}
    column = {name: index for index, name in enumerate(names)}
    total, count = np.zeros((len(items), len(names))), np.zeros((len(items), len(names)))
    seen = zip(columns.item, columns.axis("format"), columns.value, columns.run, strict=True)
    for item, name, value, run in seen:
        if run and name in column:
            total[place[item], column[name]] += value
            count[place[item], column[name]] += 1
    with np.errstate(invalid="ignore"):
        return items, total / count


def chance(values: Grid, delta: float) -> tuple[float, float]:
    """Return the max delta that chance stays below in 95 of 100 cases, and the p of the one seen.

    If formats made no difference, an item's values could be dealt to them in any order: each item's
    are shuffled, seeded. Items that were not run in all formats are left out.
    """
    whole = values[~np.isnan(values).any(axis=1)]
    if not len(whole):
        return float("nan"), 1.0
    rng = np.random.default_rng(0)
    draws = min(DRAWS, max(100, _MOST // whole.size))
    deltas = np.empty(draws)
    for draw in range(draws):
        means = rng.permuted(whole, axis=1).mean(axis=0)
        deltas[draw] = means.max() - means.min()
    p = (1 + int((deltas >= delta - 1e-12).sum())) / (1 + draws)
    return float(np.quantile(deltas, 0.95)), p


# --- what one axis costs ----------------------------------------------------------------


def drops(columns: Columns) -> Iterator[tuple[str, str, str, Paired]]:
    """Go through the levels of each axis against its usual one: axis, level, usual level, result.

    Only formats that have a twin with the usual level, alike in all other axes, are compared; an
    item's formats are averaged, so that the pairs are items.
    """
    present = {formats.every()[name] for name in set(columns.axis("format"))}
    for axis in formats.AXES:
        usual = getattr(Format(), axis)
        for level in dict.fromkeys(getattr(form, axis) for form in formats.every().values()):
            turned = {f for f in present if getattr(f, axis) == level}
            turned = {f for f in turned if replace(f, **{axis: usual}) in present}
            if level == usual or not turned:
                continue
            twins = {replace(form, **{axis: usual}) for form in turned}
            result = paired(_only(columns, turned), _only(columns, twins))
            yield axis, str(level), str(usual), result


def _only(columns: Columns, forms: set[Format]) -> Columns:
    names = [formats.spell(form) for form in forms]
    return columns.where(np.isin(columns.axis("format"), names))


def _drops(reading: str, columns: Columns) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = []
    for axis, level, usual, found in drops(columns):
        seen = found.difference
        ends = [None if x is None else 100 * x for x in (seen.value, seen.low, seen.high)]
        p = None if found.p is None else figures.chance(found.p)
        flips = (len(found.only_b), len(found.only_a))
        rows.append((axis, level, usual, *ends, p, found.n_items, *flips))
    if rows:
        head = ("axis", "level", "against", "points", "low", "high", "p", "items", "lost", "won")
        yield Table(
            title=f"What each axis of the prompt changes ({reading})",
            head=head,
            rows=tuple(rows),
            note="Accuracy in percentage points against the usual level, paired by item over the "
            "formats that are alike in all else; 95 % intervals. Lost and won: items that turn "
            "from mostly right to mostly wrong, and back. Each row is a test of its own.",
        )


# --- items that flip --------------------------------------------------------------------


def _flips(reading: str, columns: Columns) -> Iterator[Table]:
    names = list(formats.accuracies(columns))
    items, values = grid(columns, names)
    ran = ~np.isnan(values)
    share = np.nansum(values, axis=1) / np.maximum(ran.sum(axis=1), 1)
    flipping = [i for i in range(len(items)) if 0 < share[i] < 1]
    if not flipping:
        return
    flipping.sort(key=lambda i: (abs(share[i] - 0.5), items[i]))
    groups = _groups(names)
    rows = [
        (items[i], *(_count(values[i, chosen]) for chosen in groups.values()))
        for i in flipping[:SHOWN]
    ]
    always, never = int((share == 1).sum()), int(((share == 0) & ran.any(axis=1)).sum())
    left = f" {len(flipping) - SHOWN} more are not shown." if len(flipping) > SHOWN else ""
    yield Table(
        title=f"Items that flip with the prompt format ({reading})",
        head=("item", *groups),
        rows=tuple(rows),
        note=f"In how many of the formats each item is right. {len(flipping)} items are right in "
        f"some formats only, {always} in all, {never} in none; those nearest to half first.{left}",
    )


def _groups(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the formats of each kind: all, by form of calls, with and without tag.

    A kind that holds all or none of them is left out.
    """
    shapes = [formats.every()[name] for name in names]
    kinds = {"all": [*range(len(names))]}
    kinds |= {form: [i for i, x in enumerate(shapes) if x.calls == form] for form in FORMS}
    kinds["tag"] = [i for i, x in enumerate(shapes) if x.tag]
    kinds["no tag"] = [i for i, x in enumerate(shapes) if not x.tag]
    return {k: places for k, places in kinds.items() if k == "all" or 0 < len(places) < len(names)}


def _count(values: NDArray[np.float64]) -> str:
    """Word how many are right of those that ran."""
    return f"{np.nansum(values):g} of {int((~np.isnan(values)).sum())}"


# --- how formats are missed -------------------------------------------------------------


def _modes(reading: str, columns: Columns) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = []
    for mode in modes.MODES:
        hit = columns.part(f"format:{mode}") == 1
        counts = [int((hit & (columns.axis("calls") == form)).sum()) for form in FORMS]
        if sum(counts):
            rows.append((mode, *counts, sum(counts)))
    if rows:
        yield Table(
            title=f"How replies missed their format ({reading})",
            head=("mode", *FORMS, "all"),
            rows=tuple(rows),
            note="Failed replies by the form asked for; a reply can miss it in several ways.",
        )
