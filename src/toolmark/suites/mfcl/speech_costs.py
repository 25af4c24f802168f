"""What conditions cost: paired item by item, by group, by module and by level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np

from toolmark.stats.columns import Columns
from toolmark.stats.paired import Paired, paired
from toolmark.stats.strata import leaves
from toolmark.suites.mfcl import costs
from toolmark.suites.mfcl import speech_marks as marks
from toolmark.suites.mfcl.speech_columns import GROUPS, HALLUCINATION
from toolmark.suites.mfcl.speech_marks import CLEAN, NOISY, TEXT
from toolmark.types import Chart, Table

Cell: TypeAlias = str | float | int | None
_PAIRS = ((CLEAN, TEXT), (NOISY, TEXT), (NOISY, CLEAN))


def difference(columns: Columns, condition: str, base: str) -> Paired:
    """Compare two conditions item by item: the recognisers' answers to an item are averaged."""
    return paired(marks.asked(columns, condition), marks.asked(columns, base))


def compared(reading: str, columns: Columns) -> Iterator[Table]:
    """Return clean against text, noisy against text and clean: all items, then by group."""
    present = set(marks.conditions(columns))
    rows: list[tuple[Cell, ...]] = []
    for condition, base in _PAIRS:
        if not {condition, base} <= present:
            continue
        for name, part in _groups(columns):
            found = difference(part, condition, base)
            if found.n_items:
                told = (marks.named(condition, columns), marks.named(base, columns))
                rows.append((name, *told, *costs.changed(found)))
    if rows:
        yield Table(
            title=f"Text, clean and noisy audio, item by item ({reading})",
            head=("items of", "condition", "against", *costs.CHANGED),
            rows=tuple(rows),
            note=costs.PAIRED + marks.note(columns),
        )


def _groups(columns: Columns) -> Iterator[tuple[str, Columns]]:
    yield "all", columns
    found = []
    for group in GROUPS:
        names = [*leaves(group), *(["live_irrelevance"] if group is HALLUCINATION else [])]
        part = columns.where(np.isin(columns.category, names))
        if len(part):
            found.append((group.name.replace("_", "-"), part))
    yield from found if len(found) > 1 else ()


# --- what each module and level costs ---------------------------------------------------


def effects(reading: str, columns: Columns) -> Iterator[Table | Chart]:
    """Return every condition against clean sound: a table, bars of modules, lines over levels."""
    present = marks.conditions(columns)
    base = CLEAN if CLEAN in present else TEXT
    others = [name for name in present if name not in (TEXT, CLEAN)]
    if base not in present or not others:
        return
    found = {name: difference(columns, name, base) for name in others}
    rows = [
        (marks.named(name, columns), *costs.changed(x)) for name, x in found.items() if x.n_items
    ]
    if not rows:
        return
    note = f"Against {marks.named(base, columns)}. {costs.PAIRED}{marks.note(columns)}"
    yield Table(
        title=f"What each condition costs ({reading})",
        head=("condition", *costs.CHANGED),
        rows=tuple(rows),
        note=note,
    )
    yield from _charts(reading, columns, found, base)


def _charts(
    reading: str, columns: Columns, found: Mapping[str, Paired], base: str
) -> Iterator[Chart]:
    levels = [known for known in map(marks.graded, found) if known]
    several = {family for family, _ in levels if sum(family == each for each, _ in levels) > 1}
    families: dict[str, dict[float, Paired]] = {}
    plain: dict[str, Paired] = {}
    for condition, x in found.items():
        family, level = marks.graded(condition) or ("", 0.0)
        if family in several:
            families.setdefault(family, {})[level] = x
        else:
            plain[marks.tick(condition, columns)] = x
    label = f"accuracy against {base}, points"
    if len(plain) > 1:
        places = [float(i) for i in range(len(plain))]
        yield Chart(
            title=marks.mark(f"What each condition costs, drawn ({reading})", columns),
            kind="bar", ticks=tuple(plain),
            series=(costs.line("", places, list(plain.values())),), y_label=label,
            note="Paired by item; whiskers are 95 % intervals.",
        )  # fmt: skip
    for family, levelled in families.items():
        noise = family.partition(":")[2]
        ratio = marks.is_ratio(family)
        name = f"Signal-to-noise ratio{noise and f', {noise}'}" if ratio else family
        yield Chart(
            title=marks.mark(f"{name}: what each level costs ({reading})", columns),
            kind="line", series=(costs.line("", list(levelled), list(levelled.values())),),
            x_label="dB" if ratio else "severity", y_label=label,
            note="Paired by item; bars are 95 % intervals.",
        )  # fmt: skip
