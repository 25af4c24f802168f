"""Two runs against each other: the numbers, what differs between them, and the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from toolmark.errors import UsageError, near
from toolmark.report import names, spent, tables, unlike
from toolmark.runs.presentation import (
    Presentation,
    finishing,
    fitting,
    lacking,
    read_presentation,
)
from toolmark.runs.spent import Spent, known
from toolmark.runs.store import Run
from toolmark.stats import figures
from toolmark.stats.columns import Columns, Names, columns
from toolmark.stats.formulas import Metric
from toolmark.stats.interval import codes
from toolmark.stats.paired import Paired, holm, paired
from toolmark.types import Estimate, Record, Table

CLEAR = 0.05
ALONE = "intervals and the smallest difference are those of this pair alone, not adjusted"
ROUNDING = 5e-4  # what no reader sees of a share
MEANS = "means over the pairs whose answers on both sides have the number"
FEW = 3  # levels of an axis that are named as what was paired
PER_ROW = "p-values are per row, not corrected for the number of rows"
SHOWN = 12  # flipped items of each way that the terminal names


class Comparison(Record, frozen=True, kw_only=True):
    """Run A against run B in one reading; differences are A minus B, on the items of both.

    `score_a` and `score_b` are the headlines over all rows of each run that they rest on, partial
    (`Estimate.partial`) where a run lacks some of them, which a warning says; `paired`
    is over the common ones of these rows alone, and so are `categories`; `over` names them where
    they are not all, and `common` the levels of axes that both runs have where one has more.
    `measures` are the suite's further numbers that are means over answers (`Metric.part`), on the
    pairs that have them. `levels` are over all common rows, by axis and level, for the axes that
    the suite compares by. `warnings` say what makes the runs unlike; `n_changed` of the common
    tasks differ in content, and unless that was asked for no test is made between them: `p` and
    `detectable` are None. `p_adjusted` is p among the `n_compared` comparisons that were made
    together (`together`), None of one that stands alone. `spent_a` and `spent_b` are what each run
    took as a whole.
    """

    a: str
    b: str
    reading: str
    score_a: Estimate
    score_b: Estimate
    paired: Paired
    over: str = ""
    common: str = ""
    measures: tuple[Paired, ...] = ()
    levels: dict[str, tuple[Paired, ...]] = {}
    categories: tuple[Paired, ...] = ()
    settings: tuple[tuple[str, str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    n_changed: int = 0
    p_adjusted: float | None = None
    n_compared: int = 1
    spent_a: Spent = Spent()
    spent_b: Spent = Spent()

    def __str__(self) -> str:
        """Return the readable summary."""
        return text(self)


def compare(a: Run, b: Run, reading: str | None = None, *, differing: bool = False) -> Comparison:
    """Compare two scored runs item by item, in the headline reading unless another is named.

    Nothing is needed but the folders: numbers are A's, by the formulas that it names. Raises
    UsageError when the runs have no item in common, are of different suites or are not scored.
    Tasks that differ under one id, and knobs that differ, are told in `warnings`; where tasks
    differ nothing is tested unless `differing` says that this is wanted.
    """
    suite_a, suite_b = a.info.plan.suite, b.info.plan.suite
    if suite_a != suite_b:
        raise UsageError(f"different suites: {a.path} is {suite_a!r}, {b.path} is {suite_b!r}")
    shown = _stored(a)
    chosen = _reading(a, shown, reading)
    _reading(b, _stored(b), chosen)
    table_a, table_b = _columns(a, chosen), _columns(b, chosen)
    settings = tuple(unlike.settings(a, b))
    if not _meet(table_a, table_b):
        raise UsageError(f"{a.path} and {b.path} have no item in common; {unlike.mend(settings)}")
    name_a, name_b = names.tell([a, b])
    changed = unlike.changed(a, b)
    test: Callable[[Paired], Paired] = (
        _untested if changed[0] and not differing else lambda found: found
    )
    with fitting(a, b):
        numbers = _numbers(a, shown, chosen, table_a, table_b, test)
        _, mine, other = _headline(shown.metrics[chosen], table_a, table_b)
        sides = (name_a, numbers["score_a"]), (name_b, numbers["score_b"])
        return Comparison(
            a=name_a,
            b=name_b,
            reading=chosen,
            **numbers,
            settings=settings,
            warnings=(*_partial(sides, mine, other), *unlike.warnings(a, b, *changed)),
            n_changed=changed[0],
            spent_a=known(a),
            spent_b=known(b),
        )


def _numbers(
    run: Run,
    shown: Presentation,
    reading: str,
    a: Columns,
    b: Columns,
    test: Callable[[Paired], Paired],
) -> dict[str, Any]:
    """Return the numbers of a comparison by name; `run` is A's."""
    metrics = shown.metrics[reading]
    head, mine, other = _headline(metrics, a, b)
    return {
        "score_a": head.measure(a),
        "score_b": head.measure(b),
        "paired": test(paired(mine, other)),
        "over": head.label if head.rows else "",
        "common": _common(mine, other),
        "measures": tuple(map(test, _measures(metrics, a, b))),
        "levels": {
            axis: tuple(map(test, found))
            for axis, named in shown.levels.items()
            if len(found := list(_levels(a, b, axis, named))) > 1
        },
        "categories": tuple(map(test, _categories(mine, other, _ordered(run, a, metrics)))),
    }


def together(found: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the p-values of comparisons that are read together (`stats.paired.holm`).

    Without it ten equal models would nearly always show a winner among their 45 pairs.
    """
    tested = [(n, p) for n, each in enumerate(found) if (p := each.paired.p) is not None]
    made = list(found)
    if len(tested) > 1:
        for (n, _), p in zip(tested, holm([p for _, p in tested]), strict=True):
            made[n] = replace(found[n], p_adjusted=p, n_compared=len(tested))
    return made


def _headline(metrics: Sequence[Metric], a: Columns, b: Columns) -> tuple[Metric, Columns, Columns]:
    """Return the first of A's numbers that rests on items of both runs, and its rows in each."""
    for metric in metrics:
        mine, other = (metric.among(table) for table in (a, b))
        if _meet(mine, other):
            return metric, mine, other
    return metrics[0], a, b


def _levels(a: Columns, b: Columns, axis: str, named: Mapping[str, str]) -> Iterator[Paired]:
    """Compare level by level, in the order of A's tasks."""
    mine, other = (_by(table, table.axis(axis)) for table in (a, b))
    for level, name in named.items():
        if level and level in mine and level in other and _meet(mine[level], other[level]):
            yield paired(mine[level], other[level], name=name)


def _by(table: Columns, names: Names) -> dict[str, Columns]:
    """Return the rows of each name, in their order; names come as they first appear."""
    code = codes(names)
    order = np.argsort(code, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(code[order])) + 1) if len(code) else []
    return {names[rows[0]]: table.where(rows) for rows in parts}


def _meet(a: Columns, b: Columns) -> bool:
    """Tell whether two tables have an item in common."""
    return not set(a.item).isdisjoint(b.item)


def _common(a: Columns, b: Columns) -> str:
    """Name the levels that both have of axes of which one has more, such as "form text"."""
    told = []
    for axis in a.axes.keys() & b.axes.keys():
        mine, other = ({*each.axis(axis).tolist()} - {""} for each in (a, b))
        if mine != other and 0 < len(mine & other) <= FEW:
            told.append(f"{axis} {', '.join(sorted(mine & other))}")
    return "; ".join(sorted(told))


def _partial(sides: Sequence[tuple[str, Estimate]], a: Columns, b: Columns) -> Iterator[str]:
    """Say which headlines are partial, and what is compared instead of them."""
    lacking = [f"{name} ({score.partial})" for name, score in sides if score.partial]
    if not lacking:
        return
    ran = [dict.fromkeys(each.category[each.run].tolist()) for each in (a, b)]
    both = [name for name in ran[0] if name and name in ran[1]]
    told = f": {', '.join(both)}" if 0 < len(both) <= SHOWN else ""
    yield (
        f"the headline is partial of {' and of '.join(lacking)}; the difference is over what both "
        f"runs have{told}"
    )


def _measures(metrics: Sequence[Metric], a: Columns, b: Columns) -> Iterator[Paired]:
    """Compare by the further numbers that are means of a part of the verdicts."""
    for metric in metrics:
        if not metric.part:
            continue
        mine, other = (metric.among(table) for table in (a, b))
        share = metric.formula.share
        found = paired(mine, other, name=metric.label, part=metric.part, share=share)
        if found.n_pairs:
            yield found


def _untested(found: Paired) -> Paired:
    return replace(found, p=None, method="none", detectable=None)


def text(comparison: Comparison) -> str:
    """Return the comparison for a terminal."""
    parts = [tables.text(table) for table in (summary(comparison), *details(comparison))]
    told = [f"warning: {warning}" for warning in comparison.warnings]
    flips = "\n".join(_flips(comparison.paired))
    blocks = ["\n".join([*told, verdict(comparison)]), *parts, flips]
    return "\n\n".join(block for block in blocks if block)


def verdict(comparison: Comparison) -> str:
    """Return the one sentence that a reader came for."""
    found = comparison.paired
    difference = found.difference
    if difference.value is None:
        return "No episode ran in both runs: nothing can be compared."
    if found.p is None:
        step = f"{unlike.mend(comparison.settings)}, or compare them all the same with --differing"
        return f"No verdict: these are not the same tasks. next: {step}"
    told = _decided(comparison, difference.value, found.p)
    if comparison.score_a.partial or comparison.score_b.partial:
        told = f"On what both runs have: {told}"
    return told


def _decided(comparison: Comparison, value: float, chance: float) -> str:
    """Say who is better, if anyone, by the test of this difference and its p-value."""
    difference = comparison.paired.difference
    decides = chance if comparison.p_adjusted is None else comparison.p_adjusted
    p = _chances(comparison)
    if decides > CLEAR:
        size = f"{figures.points(difference)} points (A minus B), {p}"
        told = f"No clear difference between {comparison.a} and {comparison.b}: {size}."
    elif value > 0:
        told = f"{comparison.a} is better than {comparison.b} by {_size(difference, 1)}, {p}."
    else:
        told = f"{comparison.b} is better than {comparison.a} by {_size(difference, -1)}, {p}."
    apart = (difference.low or 0.0) > 0 or (difference.high or 0.0) < 0
    if apart != (chance <= CLEAR):
        told += " Here test and interval part: the test decides."
    elif apart != (decides <= CLEAR):
        told += " The interval is of this pair alone: the adjusted test decides."
    return told


def _chances(comparison: Comparison) -> str:
    """Word the p-value, and what it is among all comparisons that are read together."""
    told = f"p = {figures.chance(comparison.paired.p or 0.0)}"
    if comparison.p_adjusted is not None:
        told += f"; among {comparison.n_compared} pairs p = {figures.chance(comparison.p_adjusted)}"
    return told.replace("= <", "<")


def _size(difference: Estimate, sign: int) -> str:
    """Word a difference seen from the better side."""
    ends = sorted(100 * sign * (end or 0.0) for end in (difference.low, difference.high))
    value = 100 * sign * (difference.value or 0.0)
    return f"{value:.1f} points [{ends[0]:.1f}, {ends[1]:.1f}]".replace("-", "−")


def summary(comparison: Comparison) -> Table:
    """Return the table of the headline, the difference and how it was tested."""
    found = comparison.paired
    seen = f"{tables.plural(found.n_pairs, 'pair')}, {tables.plural(found.n_items, 'item')}"
    seen += f" in {tables.plural(found.n_groups, 'group')}" if found.n_groups else ""
    seen += ", the tasks of an item averaged" if found.by == "item" else ""
    rows: list[tuple[str, str, str]] = [
        *_side(f"A: {comparison.a}", comparison.score_a, found.value_a),
        *_side(f"B: {comparison.b}", comparison.score_b, found.value_b),
        ("A minus B, paired", figures.points(found.difference), seen),
    ]
    rows += _tested(comparison)
    rows += [
        ("not run", f"A {found.not_run_a}, B {found.not_run_b}", _between(found)),
        (
            "without a partner",
            f"A {found.unpaired_a}, B {found.unpaired_b}",
            f"left out; both have: {comparison.common}" if comparison.common else "left out",
        ),
    ]
    if tokens := spent.both(comparison.spent_a, comparison.spent_b):
        rows.append(("tokens per episode", tokens, "in and out, all of each run"))
    title = f"Comparison, {comparison.reading} reading"
    title += f": {comparison.over}" if comparison.over else ""
    note = ALONE if comparison.p_adjusted is not None else ""
    return Table(title=title, head=("", "value [95 % interval]", "on"), rows=tuple(rows), note=note)


def _side(name: str, whole: Estimate, paired: float | None) -> Iterator[tuple[str, str, str]]:
    """Tell a side's value on the pairs, and over all that its headline rests on if that differs."""
    told = figures.value(whole), f"n = {whole.n}"
    if whole.partial and paired is not None:
        yield name, figures.percent(paired), "the pairs"
        yield f"{name[0]}, the headline", *told
        return
    if paired is None or (whole.value is not None and abs(whole.value - paired) < ROUNDING):
        yield name, *told
        return
    yield name, figures.percent(paired), "the pairs"
    yield f"{name[0]}, the whole run", *told


def _tested(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    found = comparison.paired
    if found.p is None or found.detectable is None:
        return
    yield "p-value", figures.chance(found.p), found.method
    if (p := comparison.p_adjusted) is not None:
        among = f"Holm, {comparison.n_compared} pairs on this page"
        yield "adjusted p-value", figures.chance(p), among
    yield "only A right", str(len(found.only_a)), "items"
    yield "only B right", str(len(found.only_b)), "items"
    size = f"{100 * found.detectable:.1f} points"
    yield "smallest difference likely found", size, "80 % power, 5 % level"


def _between(found: Paired) -> str:
    bounds = found.difference
    if bounds.worst is None or bounds.best is None or not found.not_run_a + found.not_run_b:
        return "of the pairs"
    low = figures.points(Estimate(name="", value=bounds.worst))
    high = figures.points(Estimate(name="", value=bounds.best))
    return f"bounds {low} to {high} points"


def details(comparison: Comparison) -> Iterator[Table]:
    """Go through the further tables: other measures, by axis and category, settings that differ."""
    if comparison.measures:
        yield _others(comparison.measures)
    for axis, found in comparison.levels.items():
        yield from _split(axis, found)
    if len(comparison.categories) > 1:
        yield from _split("category", comparison.categories, comparison.over)
    if comparison.settings:
        yield Table(title="Settings that differ", head=("", "A", "B"), rows=comparison.settings)


def _others(measures: Sequence[Paired]) -> Table:
    """Make the table of the measures beside the headline."""
    notes = [MEANS, *([PER_ROW] if any(each.p is not None for each in measures) else [])]
    rows = tuple(
        (
            each.difference.name,
            *(
                figures.value(Estimate(name="", value=value, share=each.difference.share))
                for value in (each.value_a, each.value_b)
            ),
            figures.difference(each.difference),
            None if each.p is None else figures.chance(each.p),
            each.n_pairs,
        )
        for each in measures
    )
    head = ("", "A", "B", "A minus B [95 % interval]", "p", "pairs")
    return Table(title="Other measures, paired", head=head, rows=rows, note="; ".join(notes))


def _flips(found: Paired) -> Iterator[str]:
    """Name the items that flipped, a line for each way."""
    for word, items in (("only A", found.only_a), ("only B", found.only_b)):
        if not items or found.p is None:
            continue
        rest = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
        yield f"{word} right: {', '.join(items[:SHOWN])}{rest}"


def _split(by: str, parts: Sequence[Paired], over: str = "") -> Iterator[Table]:
    """Make the table of these groups; one item is no group."""
    kept = [found for found in parts if found.n_items != 1]
    if not kept:
        return
    n_left = len(parts) - len(kept)
    notes = [PER_ROW] if any(found.p is not None for found in kept) else []
    if n_left:
        notes.append(f"{tables.plural(n_left, 'group')} of one item left out")
    rows = tuple(
        (
            found.difference.name,
            figures.points(found.difference),
            None if found.p is None else figures.chance(found.p),
            found.n_pairs,
            len(found.only_a),
            len(found.only_b),
        )
        for found in kept
    )
    yield Table(
        title=f"A minus B by {by}, in points{over and f' ({over})'}",
        head=(by, "difference", "p", "pairs", "only A right", "only B right"),
        rows=rows,
        note="; ".join(notes),
    )


def _stored(run: Run) -> Presentation:
    found = read_presentation(run)
    if found is None:
        raise UsageError(f"{run.path}: {lacking(run)}; next: {finishing(run)}")
    return found


def _reading(run: Run, shown: Presentation, reading: str | None) -> str:
    if reading is None:
        return shown.readings[0]
    if reading not in shown.readings:
        raise UsageError(f"{run.path}: no reading {reading!r}{near(reading, shown.readings)}")
    return reading


def _columns(run: Run, reading: str) -> Columns:
    table = columns(run.scores(), reading)
    if not len(table):
        raise UsageError(f"{run.path}: no scores; next: {finishing(run)}")
    return table


def _ordered(run: Run, table: Columns, metrics: Sequence[Metric]) -> list[str]:
    """Return a run's categories in the order of the suite's metrics, else of the tasks."""
    present = set(table.category)
    measured = [metric.name for metric in metrics if metric.name in present]
    if present - set(measured):
        measured += [task.category for task in run.tasks() if task.category in present]
    return list(dict.fromkeys(measured))


def _categories(a: Columns, b: Columns, order: Sequence[str]) -> Iterator[Paired]:
    mine, other = (_by(table, table.category) for table in (a, b))
    for name in order:
        if name in mine and name in other and _meet(mine[name], other[name]):
            yield paired(mine[name], other[name], name=str(name))
