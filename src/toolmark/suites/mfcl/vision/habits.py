"""How answers failed and what was done for them: modes, searches, steps, words of queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.paired import paired
from toolmark.stats.summary import mean
from toolmark.suites.mfcl.vision import modes, varied
from toolmark.suites.mfcl.vision.item import BASE
from toolmark.suites.mfcl.vision.score import MODE
from toolmark.suites.mfcl.vision.words import ORIGINS, Origin
from toolmark.types import Chart, Estimate, Series, Table

Cell: TypeAlias = str | float | int | None

PROMPTED = "prompted"
"""A part of a verdict: 1 where tools were called in text, 0 where natively."""
_SHARES = {"searched": "searched", "refused": "refused", "asked_back": "asked back"}
_COUNTS = {"steps": "steps", "queries": "queries", "fetched": "pages opened"}
_ORIGINS = {
    "question": "question", "text": "image text", "visual": "visual features",
    "pages": "pages read", "other": "elsewhere",
}  # fmt: skip
_OTHERS = {
    modes.OTHER: "other: same on base", modes.FORM: "form alone", modes.FORCED: "ended by force",
    modes.UNEXPLAINED: "no rule fits",
}  # fmt: skip
_FOLDS = {
    "1": "1 visual reasoning", "2": "2 avoiding tool use", "3": "3 poor keywords",
    "5": "5 over-reliance", modes.UNEXPLAINED: "none of these",
}  # fmt: skip


def tables(columns: Columns) -> Iterator[Table | Chart]:
    """Go through the failure modes, what was done by variation, and the words of queries."""
    parts = {varied.told(name): varied.asked(columns, name) for name in varied.present(columns)}
    parts = {name: part for name, part in parts.items() if part.run.any()}
    yield from failures(parts, "variation")
    yield from done(columns)
    yield from queries(parts, "variation")


def across(runs: Mapping[str, Columns]) -> Iterator[Table | Chart]:
    """Go through the same of several runs, those that call natively first."""
    ordered = dict(sorted(runs.items(), key=lambda pair: mode(pair[1])))
    mains = {name: varied.main(columns) for name, columns in ordered.items()}
    several = len({mode(columns) for columns in ordered.values()}) > 1
    named = {f"{name}, {mode(part) or 'unknown'}" if several else name: part
             for name, part in mains.items()}  # fmt: skip
    yield _worked(named)
    yield from queries(named, "run")
    yield from failures(named, "run")


def mode(columns: Columns) -> str:
    """Return how a run called tools: natively ("FC" in the paper), or in text."""
    part = columns.part(PROMPTED)
    known = part[~np.isnan(part)]
    if not len(known):
        return ""
    return "native" if not known.any() else "prompt" if known.all() else "mixed"


# --- failures ---------------------------------------------------------------------------


def failures(parts: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Return the failure modes, each failed answer once; then as the paper's Figure 5 has them.

    The latter counts what an error shows, also where the same is done on the undamaged picture.
    """
    failed = {name: part.where(part.run & ~part.correct) for name, part in parts.items()}
    failed = {name: part for name, part in failed.items() if len(part)}
    if not failed:
        return
    told = [_OTHERS.get(name) or f"{name} {modes.MODES[name]}" for name in (*modes.MODES, *_OTHERS)]
    yield Table(
        title=f"Failure modes by {by}",
        head=(by, *told, "all"),
        rows=tuple((name, *tally(part).values(), len(part)) for name, part in failed.items()),
        note="Each failed answer once, under its primary mode. Other: the same error on the "
        "undamaged picture too. Form alone: a right answer written otherwise, or a reply or call "
        "that could not be read. No rule fits: nothing that is known of the item explains it.",
    )
    shares = {name: folded(part) for name, part in failed.items()}
    yield Table(
        title=f"Failure modes as in Figure 5, by {by}",
        head=(by, "failed", *_FOLDS.values()),
        rows=tuple((name, len(failed[name]), *found.values()) for name, found in shares.items()),
        note="Shares of failed answers by the mode that the error shows, whether or not it is made "
        "on the undamaged picture too; modes 4 and 6 count under 1, as in the paper.",
        heat=len(_FOLDS),
    )
    title = f"Failure modes as in Figure 5, by {by}, drawn"
    yield _stack(title, _FOLDS, shares, "% of failed answers")


def tally(failed: Columns) -> dict[str, int]:
    """Count failed answers by primary mode, then those of none; the last no rule explains."""
    found = [str(native) for native in failed.native]
    *known, last = (*modes.MODES, *_OTHERS)
    counts = {name: found.count(name) for name in known}
    return counts | {last: len(found) - sum(counts.values())}


def folded(failed: Columns) -> dict[str, float]:
    """Return the shares of failed answers by the mode that they show, as Figure 5 counts it."""
    shares = dict.fromkeys(_FOLDS, 0.0)
    for name in modes.MODES:
        shown = float(np.nansum(failed.part(f"{MODE}{name}")))
        shares[modes.fold(name)] += shown / len(failed)
    return shares | {modes.UNEXPLAINED: max(0.0, 1.0 - sum(shares.values()))}


def _stack(
    title: str, named: Mapping[str, str], rows: Mapping[str, Mapping[str, float]], label: str
) -> Chart:
    """Draw shares as parts of a bar per row; parts that are in no row are left out."""
    x = tuple(float(i) for i in range(len(rows)))
    series = tuple(
        Series(name=told, x=x, y=tuple(100 * row[name] for row in rows.values()))
        for name, told in named.items()
        if any(row[name] for row in rows.values())
    )
    return Chart(title=title, kind="stack", series=series, ticks=tuple(rows), y_label=label)


# --- what was done ----------------------------------------------------------------------


def done(columns: Columns) -> Iterator[Table]:
    """Return by variation how many searched, the steps, and refusals, each against the base."""
    names = [name for name in varied.present(columns) if varied.asked(columns, name).run.any()]
    told = {**_SHARES, **_COUNTS}
    paired_too = len(names) > 1 and BASE in names
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        part, cells = varied.asked(columns, name), list[Cell]()
        for key in told:
            cells.append(_level(part, key))
            if paired_too and key in _PAIRED:
                cells.append("" if name == BASE else change(columns, name, key))
        rows.append((varied.told(name), int(part.run.sum()), *cells))
    heads: list[str] = []
    for key, word in told.items():
        heads += [word, *([f"{word}, against base"] if paired_too and key in _PAIRED else [])]
    if any(cell is not None for row in rows for cell in row[2:]):
        yield Table(title="What was done, by variation", head=("variation", "n", *heads),
                    rows=tuple(rows), note=_DONE)  # fmt: skip


_PAIRED = ("searched", "steps", "refused")
_DONE = (
    "Searched, refused and asked back are shares of the answers, paired differences in percentage "
    "points; steps, queries and pages opened are means, their differences too. In brackets 95 % "
    "intervals over items. Refused: it said that it does not know or cannot answer, or the "
    "endpoint refused."
)


def _level(columns: Columns, part: str) -> Cell:
    values = columns.part(part)
    if np.isnan(values).all():
        return None
    found = float(np.nanmean(values))
    return figures.percent(found) if part in _SHARES else f"{found:.2f}"


def change(columns: Columns, name: str, part: str) -> str | None:
    """Return how a part differs from the base, item by item, with its interval."""
    a, b = (_valued(varied.asked(columns, each), part) for each in (name, BASE))
    reach = 1.0 if part in _SHARES else max(_most(a), _most(b), 1.0)
    found = paired(*(replace(each, value=each.value / reach) for each in (a, b))).difference
    if found.value is None:
        return None
    return figures.points(found) if part in _SHARES else _times(found, reach)


def _valued(columns: Columns, part: str) -> Columns:
    """Return the columns with a part in the place of the value."""
    value = columns.part(part)
    known = ~np.isnan(value)
    return replace(columns, value=value, run=known, correct=known & (value > 0))


def _most(columns: Columns) -> float:
    return float(np.nanmax(columns.value)) if columns.run.any() else 0.0


def _times(found: Estimate, reach: float) -> str:
    """Return a difference of counts, "+0.31 [−0.10, +0.72]"."""
    told = [
        f"{reach * x:+.2f}".replace("-", "−")
        for x in (found.value, found.low, found.high)
        if x is not None
    ]
    return f"{told[0]} [{', '.join(told[1:])}]" if len(told) == 3 else told[0]


# --- the words of queries ---------------------------------------------------------------


def queries(parts: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Return what share of a query's words comes from where, a mean over episodes with one."""
    found = {name: _origins(part) for name, part in parts.items()}
    known = {name: row for name, row in found.items() if row["question"].value is not None}
    if not known:
        return
    rows: list[tuple[Cell, ...]] = [
        (name, row["question"].n, *(figures.share(row[key]) for key in ORIGINS))
        for name, row in known.items()
    ]
    yield Table(
        title=f"Where the words of queries come from, by {by}",
        head=(by, "answers with a query", *_ORIGINS.values()),
        rows=tuple(rows),
        note="Shares of the words that carry sense, a mean over queries and then over answers; in "
        "brackets 95 % intervals over items. A word that stands in several places counts for the "
        "first of them. Pages read: it stood on a page opened before.",
    )
    shares = {
        name: {str(key): row[key].value or 0.0 for key in ORIGINS} for name, row in known.items()
    }
    title = f"Where the words of queries come from, by {by}, drawn"
    yield _stack(title, _ORIGINS, shares, "% of the words")


def _origins(columns: Columns) -> dict[Origin, Estimate]:
    """Return the mean share of each origin; of none where no answer has a query."""
    return {key: mean(_valued(columns, f"from_{key}"), key) for key in ORIGINS}


def _worked(runs: Mapping[str, Columns]) -> Table:
    """Return how runs worked, side by side: native calls and prompt mode apart."""
    told = {**_SHARES, **_COUNTS}
    rows: list[tuple[Cell, ...]] = []
    for name, columns in runs.items():
        right = figures.share(varied.score(columns, ""))
        rows.append((name, int(columns.run.sum()), right, *(_level(columns, key) for key in told)))
    return Table(
        title="How runs worked",
        head=("run", "n", "accuracy", *told.values()),
        rows=tuple(rows),
        note="Over the variations of Table 2. Native: tools are called by the interface (FC in the "
        "paper); prompt: in text.",
    )
