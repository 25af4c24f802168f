"""Tables of a vision run: the paper's Table 2, the grid of domains and query types, what it did.

An item is asked in several variations of its picture; its answers are alike, so every interval
counts items, and variations are compared item by item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from toolmark.stats import figures
from toolmark.stats.columns import Columns, Names, distinct, same
from toolmark.stats.formulas import Filter, Mean, Metric
from toolmark.stats.summary import mean
from toolmark.suites.mfcl import costs
from toolmark.suites.mfcl.vision import habits, score, varied
from toolmark.suites.mfcl.vision.item import BASE, DOMAINS, KINDS, SELECT
from toolmark.suites.mfcl.vision.knobs import CLUES
from toolmark.suites.mfcl.vision.varied import EDGES
from toolmark.types import Chart, Table

Cell: TypeAlias = str | float | int | None

LOOKALIKES = "lookalikes"
"""A part of a verdict: how many signs of the clue's kind lead to other answers."""
_SLICES = {
    "hops": "hops", "clue": "clue", LOOKALIKES: "look-alikes", "context": "context", "hint": "hint",
    "form": "form of the answer", "template": "template",
}  # fmt: skip
_FEW = 8  # levels of a factor that stand in one table with others


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return the score over the variations, then that of each.

    It is the overall score where all of Table 2's were asked; of others it is named as what it is.
    Variations beyond Table 2 are in no mean with those.
    """
    names = varied.counted(columns)
    name = "overall" if varied.complete(columns) else "accuracy"
    mark = "" if name == "overall" else f", {'mean of ' * (len(names) > 1)}{_listed(names)}"
    found = [Metric(name, varied.FORMULA, f"{name}{mark}", "answers", (varied.MAIN,))]
    others = varied.present(columns)
    for each in others if len(others) > 1 else ():
        rows = Filter(column="axes.variation", values=(each,))
        told = f"accuracy, {varied.told(each)}"
        found.append(Metric(f"accuracy/{each}", Mean(), told, "answers", (rows,)))
    return found


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(varied.told, names)) if len(names) < 3 else f"{len(names)} variations"


# --- one run ----------------------------------------------------------------------------


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return Table 2 of each reading, then of the first where it was right and what was done.

    Readings that judge every answer alike stand together.
    """
    made: list[Table | Chart] = []
    for at, (reading, columns) in enumerate(distinct(readings).items()):
        if columns.run.any():
            made.append(accuracy(reading, columns))
            made += [*_drawn(reading, columns), *grids(reading, columns)] if at == 0 else []
    first = next(iter(readings.values()))
    return [*made, *slices(first), *clues(first), *habits.tables(first)] if made else ()


def title(reading: str) -> str:
    """Return the title of Table 2 in a reading."""
    return f"Accuracy by variation ({reading})"


def accuracy(reading: str, columns: Columns) -> Table:
    """Return Table 2, on its side: a row per variation, with what it costs against the base."""
    names = varied.present(columns)
    rows: list[tuple[Cell, ...]] = []
    if len(names) > 1:
        whole = varied.score(columns, "")
        mark = "overall" if varied.complete(columns) else "mean of these"
        rows.append((mark, whole.n, figures.wide(whole)))
    for name in names:
        part = varied.asked(columns, name)
        found = varied.against(columns, name)
        cost = costs.changed(found) if name != BASE and found.n_items else ()
        rows.append((varied.told(name), int(part.run.sum()), figures.wide(mean(part, name)), *cost))
    several = len(names) > 1 and BASE in names
    return Table(
        title=title(reading),
        head=("variation", "n", "accuracy", *(costs.CHANGED if several else ())),
        rows=tuple(rows),
        note=_WIDE
        + (f" Points: against the base. {costs.PAIRED}" if several else "")
        + _barred(columns),
    )


def _barred(columns: Columns) -> str:
    """Tell of how many items a crop was filled up with bars; nothing where none was."""
    told = []
    for name in varied.present(columns):
        part = varied.asked(columns, name)
        barred = len(set(part.item[part.part(score.BARS) > 0]))
        if barred:
            told.append(f"{varied.told(name)} {barred} of {len(set(part.item[part.run]))} items")
    held = f" Filled up with bars, so that what must stay visible does: {', '.join(told)}."
    return held if told else ""


_WIDE = (
    "Accuracy in per cent, with the half-width of the 95 % interval where its ends lie within a "
    "point of that, else with its ends; n counts answers, intervals count items. Overall is the "
    "mean over Table 2's eight variations."
)


def _drawn(reading: str, columns: Columns) -> Iterator[Chart]:
    """Draw what each variation costs, where there are several."""
    found = {name: varied.against(columns, name) for name in varied.present(columns)}
    shown = {name: x for name, x in found.items() if name != BASE and x.n_items}
    if len(shown) > 1:
        places = [float(i) for i in range(len(shown))]
        yield Chart(
            title=f"What each variation costs ({reading})",
            kind="bar", ticks=tuple(varied.NAMES.get(name, name) for name in shown),
            series=(costs.line("", places, list(shown.values())),),
            y_label="accuracy against base, points",
            note="Paired by item; whiskers are 95 % intervals.",
        )  # fmt: skip


def grids(reading: str, columns: Columns) -> Iterator[Table]:
    """Return accuracy by domain and query type, over the variations and of the base alone.

    Published items may know neither, and then there is none.
    """
    if not all(_levels(columns.axis(axis), ()) for axis in ("domain", "kind")):
        return
    parts = {"": varied.main(columns)}
    if len(varied.counted(columns)) > 1:
        parts = {f", mean of {_listed(varied.counted(columns))}": parts[""]}
        parts[", base alone"] = varied.asked(columns, BASE)
    for told, part in parts.items():
        if part.run.any():
            yield _grid(f"Accuracy by domain and query type ({reading}){told}", part)


def _grid(name: str, columns: Columns) -> Table:
    """Return the grid with its sums; domains and types that are not ours stand behind ours."""
    domains = _levels(columns.axis("domain"), DOMAINS)
    kinds = _levels(columns.axis("kind"), KINDS)
    counts: list[int] = []
    rows: list[tuple[Cell, ...]] = []
    for domain in (*domains, ""):
        mine = columns.where(columns.axis("domain") == domain) if domain else columns
        cells = [mine.where(mine.axis("kind") == kind) for kind in kinds]
        counts += [int(cell.run.sum()) for cell in cells] if domain else []
        shares = [mean(cell, "").value for cell in (*cells, mine)]
        rows.append((domain or "all", *shares))
    spread = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else str(counts[0])
    return Table(
        title=name, head=("domain", *kinds, "all"), rows=tuple(rows), heat=len(kinds) + 1,
        note=f"Each cell of {spread} answers.",
    )  # fmt: skip


def _levels(column: Names, known: Sequence[str]) -> list[str]:
    """Return the levels present, those that are known first."""
    found = {str(name) for name in column}
    return [*(name for name in known if name in found), *sorted(found - set(known) - {""})]


def slices(columns: Columns) -> Iterator[Table]:
    """Return accuracy by hops, kind of clue and look-alikes; by template in a table of its own."""
    rows: list[tuple[Cell, ...]] = []
    for factor, named in _SLICES.items():
        levels = _column(columns, factor)
        found = sorted({str(level) for level in levels if level}, key=_numbered)
        if len(found) < 2:
            continue
        mine = [(level, *_both(columns.where(levels == level))) for level in found]
        if len(found) > _FEW:
            yield Table(title=f"Accuracy by {named}", head=(named, *_HEADS), rows=tuple(mine),
                        note=_SLICED)  # fmt: skip
        else:
            rows += [(named, *row) for row in mine]
    if rows:
        factors = list(dict.fromkeys(str(row[0]) for row in rows))
        told = " and ".join(filter(None, (", ".join(factors[:-1]), factors[-1])))
        head = ("factor", "level", *_HEADS)
        note = _SLICED + _SELECTED * any(row[1] == SELECT for row in rows)
        yield Table(title=f"Accuracy by {told}", head=head, rows=tuple(rows), note=note)


_HEADS = ("items", "all variations", "base")
_SLICED = "In brackets 95 % intervals over items. All variations: the mean of those of Table 2."
_SELECTED = " Hops, select: the page of every candidate is needed, however long the way."


def clues(columns: Columns) -> Iterator[Table]:
    """Return accuracy by variation and what the clue is, where both text and symbols are there.

    A symbol may be named by its colour: what takes colours away takes such a clue away.
    """
    levels = columns.axis("clue")
    found = _levels(levels, CLUES)
    names = varied.present(columns)
    if len(found) < 2 or len(names) < 2:
        return
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        row: list[Cell] = [varied.told(name)]
        for level in found:
            part = columns.where((columns.axis("variation") == name) & (levels == level))
            row += [int(part.run.sum()), figures.share(mean(part, level))]
        rows.append(tuple(row))
    yield Table(
        title="Accuracy by variation and clue",
        head=("variation", *(told for level in found for told in (f"{level}: n", level))),
        rows=tuple(rows),
        note="In brackets 95 % intervals over items. Some symbols are told apart by their colour "
        "alone: what takes colours away may take the clue with them, for a person too.",
    )


def _column(columns: Columns, factor: str) -> Names:
    """Return an axis, or a part whose numbers are levels; "" where there is none.

    Who selects needs the pages of all candidates: that is no number of hops.
    """
    part = columns.part(factor)
    if factor == "hops":
        chosen = (columns.axis("kind") == SELECT) & (columns.axis(factor) != "")
        return np.where(chosen, SELECT, columns.axis(factor))
    if np.isnan(part).all():
        return columns.axis(factor)
    return np.array(["" if np.isnan(x) else f"{x:g}" for x in part], dtype=object)


def _numbered(level: str) -> tuple[bool, float, str]:
    return (False, float(level), "") if level.isdecimal() else (True, 0.0, level)


def _both(columns: Columns) -> tuple[Cell, ...]:
    items = len({str(item) for item in columns.item[columns.run]})
    base = mean(varied.asked(columns, BASE), BASE)
    return items, figures.share(varied.score(columns, "")), figures.share(base)


# --- several runs -----------------------------------------------------------------------


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return Table 2 as the paper has it, a row per run; the costs, and how each run worked."""
    first, *others = readings
    runs = _ran(readings[first])
    if len(runs) < 2:
        return ()
    alike = [name for name in others if _same(readings[name], readings[first])]
    named = " and ".join([first, *alike])
    made: list[Table | Chart] = [board(named, runs), *_costs(named, runs)]
    made += [board(name, _ran(readings[name])) for name in others if name not in alike]
    return [*made, *habits.across(runs)]


def _same(a: Mapping[str, Columns], b: Mapping[str, Columns]) -> bool:
    return a.keys() == b.keys() and all(same(columns, b[name]) for name, columns in a.items())


def _ran(runs: Mapping[str, Columns]) -> dict[str, Columns]:
    return {name: columns for name, columns in runs.items() if columns.run.any()}


def _shared(runs: Mapping[str, Columns]) -> list[str]:
    """Return the variations that any run has: Table 2's in its order, then others."""
    found = dict.fromkeys(name for columns in runs.values() for name in varied.present(columns))
    known = [name for name in varied.NAMES if name in found]
    return [*known, *sorted(name for name in found if name not in varied.NAMES)]


def board(reading: str, runs: Mapping[str, Columns]) -> Table:
    """Return Table 2: a row per run, overall and every variation with its interval."""
    names = _shared(runs)
    rows: list[tuple[Cell, ...]] = []
    for run, columns in runs.items():
        cells = (figures.wide(mean(varied.asked(columns, name), name)) for name in names)
        n, mode = int(columns.run.sum()), habits.mode(columns)
        rows.append((run, mode, n, figures.wide(varied.overall(columns)), *cells))
    head = ("run", "mode", "n", "overall", *map(varied.told, names))
    return Table(title=title(reading), head=head, rows=tuple(rows), note=_WIDE)


def _costs(reading: str, runs: Mapping[str, Columns]) -> Iterator[Table]:
    """Return what each variation costs each run."""
    names = [name for name in _shared(runs) if name != BASE]
    rows: list[tuple[Cell, ...]] = []
    for run, columns in runs.items():
        found = [varied.against(columns, name) for name in names]
        rows.append((run, *(figures.points(x.difference) if x.n_items else None for x in found)))
    if names and any(cell for row in rows for cell in row[1:]):
        yield Table(
            title=f"What each variation costs ({reading})",
            head=("run", *map(varied.told, names)),
            rows=tuple(rows),
            note="Accuracy against the run's own base in percentage points, paired by item; in "
            "brackets 95 % intervals over items.",
        )


SHOWN = (BASE, EDGES)
"""The variations of which the paper's figures are known to us, beside its overall."""
