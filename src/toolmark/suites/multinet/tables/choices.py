"""Tables of answers that are one of some options: shares, classes, confusions, players."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.score import labels
from toolmark.score.spread import Reading
from toolmark.stats import figures
from toolmark.stats.columns import Columns, valued
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell, Variants
from toolmark.types import Chart, Estimate, Series, Table

Counts: TypeAlias = NDArray[np.int64]

_HEAD = (
    "", "n", "exact match", "exact of valid", "invalid", "micro F1", "macro P", "macro R",
    "macro F1", "clipped",
)  # fmt: skip
_MACRO = ("macro_precision", "macro_recall", "macro_f1")
_CONFUSION = "Confusion: what was said where"
_FEW = 10  # classes whose confusion is a table of numbers; beyond that a map
_ENOUGH = 3  # rows per class: of fewer a map is specks
_NOTE = (
    "Exact match counts what cannot be read as wrong; of valid leaves it out. Micro precision, "
    "recall and F1 are one number. Macro: the mean over all declared classes, 0 for a class that "
    "never came or was never said. Clipped: a whole number out of range counts as the nearest "
    "option; what has no number stays wrong."
)
_MORE = (
    "Out of range: of the invalid ones those that are a whole number, which can be clipped. F1 "
    "without invalid joins the precision of what could be read with the recall of all rows, as the "
    "published code has it."
)
_PLAYERS = {
    False: "A joint action is right where both are.",
    True: "Of probabilities a player's own action is the likeliest once they are summed over the "
    "other's: both may be right where the likeliest joint action is not, and the other way round.",
}
"""What a player's action has to do with the joint one, by whether probabilities were asked."""
_SETS = " Options differ by {}: counts are sums over these, shares plain means."
_MEAN = " Options differ by {}: micro, macro and clipped are the plain means over these."


def tables(readings: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Go through what there is to see; `by` is what a category is."""
    variants = measure.variants(readings)
    told, (reading, columns) = measure.fullest(variants)
    rows = measure.named(variants)
    yield main(rows, by)
    yield more(rows, by)
    yield from _categories(variants, by)
    yield from _players(rows)
    of = f" ({told})" if told else ""
    parts = dict(measure.sets(columns.where(columns.run)))
    if "" in parts:
        yield from pictured(parts[""], reading, of)
    tallies = {name: (part, tally(part, reading)) for name, part in parts.items()}
    for name, (part, table) in tallies.items():
        if name:  # many sets: of each no more than stands side by side
            set_of = f" ({', '.join(filter(None, (name, told)))})"
            yield _recalls(part, set_of)
            if enough(table):
                yield mapped(part, table, set_of)
    yield _per_class(tallies, by, of)


# --- shares -----------------------------------------------------------------------------


def main(own: Variants, by: str) -> Table:
    """Return one's own rows and the baselines', which answered the same items."""
    _, first = measure.first(own)
    every = list(_every(own))
    rows = [line(*each) for each in every]
    lost = dict.fromkeys(filter(None, (lacks for *_, lacks in every)))
    note = f"{_NOTE}{'' if measure.one(first) else _MEAN.format(by)}"
    note += "".join(f" A dash there: {lacks}." for lacks in lost) + " In brackets 95 % intervals "
    note += f"over {measure.counted(first)}.{measure.caveat(first)}"
    return Table(title="Exact match and classes", head=_HEAD, rows=measure.joined(rows), note=note)


def more(own: Variants, by: str) -> Table:
    """Return the rarer measures of the same rows: counts, and what leaves invalid answers out."""
    rows: list[tuple[Cell, ...]] = []
    for name, reading, columns, lacks in _every(own):
        ran = columns.where(columns.run)
        if not len(ran):
            rows.append((name,))
            continue
        tallies = [tally(part, reading) for _, part in measure.sets(ran)]
        found = [labels.measures(each) for each in tallies]
        near = [labels.measures(labels.clipped(each)) for each in tallies]
        counts = [sum(each[key] for each in found) for key in ("tp", "valid_fp", "invalid_fp")]
        clippable = sum(int(labels.rates(each)["clippable"]) for each in tallies)
        keys = "micro_precision_without_invalid", "micro_f1_without_invalid"
        shares = (_mean(found, key, lacks) for key in keys)
        told = (*counts, clippable, *shares, *(_mean(near, key, lacks) for key in _MACRO))
        rows.append((name, *told))
    head = ("", "right", "wrong", "invalid", "out of range", "precision without invalid",
            "F1 without invalid", *(f"{key}, clipped" for key in _HEAD[6:9]))  # fmt: skip
    _, first = measure.first(own)
    note = f"{_MORE}{'' if measure.one(first) else _SETS.format(by)}{measure.caveat(first)}"
    return Table(title="More measures: classes", head=head, rows=measure.joined(rows), note=note,
                 fold=True)  # fmt: skip


def _every(own: Variants) -> Iterator[tuple[str, Reading, Columns, str]]:
    """Go through one's own rows, then the baselines', which answered the same items.

    Last what of the sets did not run, where options differ by set.
    """

    def lacks(columns: Columns) -> str:
        return "" if measure.one(columns) else measure.lacking(columns)

    yield from ((name, read, columns, lacks(columns)) for name, (read, columns) in own.items())
    reading, first = measure.first(own)
    for name in measure.guesses(first):
        yield measure.called(first, name), reading, measure.guess(first, name), lacks(first)


def line(name: str, reading: Reading, columns: Columns, lacks: str = "") -> tuple[Cell, ...]:
    """Return the cells under the head of the main table."""
    ran = columns.where(columns.run)
    if not len(ran):
        return (name, 0)
    tallies = [tally(part, reading) for _, part in measure.sets(ran)]
    found = [labels.measures(each) for each in tallies]
    near = [labels.measures(labels.clipped(each)) for each in tallies]
    return (
        name,
        len(ran),
        figures.share(measure.exact(columns)),
        figures.share(measure.exact(measure.readable(ran))),
        measure.invalid(ran),
        *(_mean(found, key, lacks) for key in ("micro_f1", *_MACRO)),
        _mean(near, "exact_match", lacks),
    )


def tally(columns: Columns, reading: Reading, player: str = "") -> Counts:
    """Return counts of truths by answers, of rows whose options are the same; of one player too."""
    n = len(measure.MOVES) if player else measure.classes(columns)
    truth, said = (columns.part(f"{part}{player}") for part in ("truth", "said"))
    raw = columns.part("raw") if not player else np.full(len(said), np.nan)
    told = np.where(said < 0, raw, said)
    return labels.tally(truth, told, n, reading=reading)


def _mean(found: Sequence[Mapping[str, Any]], key: str, lacks: str) -> str:
    """Return the mean over sets; of some of them it would be another number."""
    return figures.DASH if lacks else figures.percent(float(np.mean([each[key] for each in found])))


def _categories(variants: Variants, by: str) -> Iterator[Table]:
    """Return the shares by category, the baselines' beside one's own."""
    told, (reading, first) = measure.fullest(variants)
    names = measure.levels(first.category)
    if len(names) < 2:
        return
    guesses = measure.guesses(first)
    rows: list[tuple[Cell, ...]] = []
    for level in names:
        part = first.where((first.category == level) & first.run)
        if len(part):
            found = labels.measures(tally(part, reading))
            rows.append((level, len(part), measure.classes(part),
                         figures.share(measure.exact(part)), measure.invalid(part),
                         figures.percent(found["macro_f1"]),
                         *(measure.right(part, name) for name in guesses)))  # fmt: skip
    yield Table(
        title=f"Exact match by {by}{f' ({told})' if told else ''}",
        head=(
            by,
            "n",
            "options",
            "exact match",
            "invalid",
            "macro F1",
            *(measure.called(first, name) for name in guesses),
        ),
        rows=tuple(rows),
        note=f"Behind macro F1 the baselines' exact match on the same rows.{measure.caveat(first)}",
    )


def _players(own: Variants) -> Iterator[Table]:
    """Return each player's own action, told from the joint one, with the recall of each action."""
    _, first = measure.first(own)
    if not measure.known(first, "truth_0").any():
        return
    rows: list[tuple[Cell, ...]] = []
    for player in ("_0", "_1"):
        for name, read, columns, _ in _every(own):
            if not columns.run.any():
                rows.append((f"player {player[1]}", name))
                continue
            table = tally(columns.where(columns.run), read, player)
            rows.append((f"player {player[1]}", name,
                         figures.share(exact_of(columns, player)),
                         figures.percent(labels.measures(table)["macro_f1"]),
                         *map(_known, labels.classes(table).recall.tolist())))  # fmt: skip
    odds = bool(measure.known(first, "brier_0").any())
    yield Table(
        title="Each player's action",
        head=("", "", "exact match", "macro F1", *measure.MOVES),
        rows=measure.joined(rows, 1),
        heat=len(measure.MOVES),
        note=f"Behind macro F1 the recall of each action. {_PLAYERS[odds]}{measure.caveat(first)}",
    )


def exact_of(columns: Columns, player: str, name: str = "") -> Estimate:
    """Return the share of rows in which a player's own action is right; `player` is _0 or _1."""
    truth, said = columns.part(f"truth{player}"), columns.part(f"said{player}")
    right = np.where(np.isnan(truth) | np.isnan(said), np.nan, truth == said)
    return measure.exact(valued(columns, right), name)


# --- classes ----------------------------------------------------------------------------


def pictured(columns: Columns, reading: Reading, of: str) -> Iterator[Table | Chart]:
    """Go through the figures of rows whose options are the same."""
    table = tally(columns, reading)
    yield from _histograms(columns, reading, table, of)
    yield _recalls(columns, of)
    if len(table) - 1 <= _FEW:
        yield listed(columns, table, of)
    elif enough(table):
        yield mapped(columns, table, of)


def enough(table: Counts) -> bool:
    """Tell whether there are rows enough for a map of the confusions."""
    return int(table.sum()) >= _ENOUGH * (len(table) - 1)


def _confusion(table: Counts) -> list[list[float]]:
    """Return what was said by what is right, each row in shares of its own; the last: invalid."""
    counts = labels.confusion(table)
    total = counts.sum(axis=1, keepdims=True)
    shares: list[list[float]] = np.where(total, counts / np.maximum(total, 1), np.nan).tolist()
    return shares


def mapped(columns: Columns, table: Counts, of: str = "") -> Chart:
    """Draw what was said (columns) by what is right (rows), each row in shares of its own."""
    shares = _confusion(table)
    names = measure.options(columns, len(shares), short=True)
    places = tuple(map(float, range(len(names) + 1)))
    rows = zip(names, shares, strict=True)
    note = "Each row in shares of its own; framed: said and right are one. ×: invalid."
    if measure.known(columns, "truth_0").any():
        note += " Letters: player 0, then player 1; N S E W move, · stay, I interact."
    return Chart(
        title=f"{_CONFUSION}{of}", kind="heat", x_label="said", y_label="right", note=note,
        series=tuple(Series(name=name, x=places, y=tuple(row)) for name, row in rows),
        ticks=(*names, "×"),
    )  # fmt: skip


def listed(columns: Columns, table: Counts, of: str = "") -> Table:
    """Return the same as a table, which few classes leave room for."""
    shares = _confusion(table)
    names = measure.options(columns, len(shares))
    counts = labels.classes(table).support.tolist()
    rows = tuple(
        (name, n, *map(_known, row)) for name, n, row in zip(names, counts, shares, strict=True)
    )
    return Table(
        title=f"{_CONFUSION}{of}", head=("right", "rows", *names, "invalid"), rows=rows,
        heat=len(names) + 1, note="Each row in shares of its own: what was said.",
    )  # fmt: skip


def _recalls(columns: Columns, of: str) -> Chart:
    """Draw how much of each class was found; whiskers by groups where rows hang together."""
    n, truth = measure.classes(columns), columns.part("truth")
    there = [i for i in range(n) if (truth == i).any()]
    found = [measure.exact(columns.where(truth == i)) for i in there]
    names = measure.options(columns, n)
    lost = f"; {n - len(there)} of {n} classes are never right here" if len(there) < n else ""

    def line(ends: Iterable[float | None]) -> tuple[float, ...]:
        return tuple(np.nan if end is None else end for end in ends)

    series = Series(
        name="recall", x=tuple(map(float, range(len(there)))), y=line(each.value for each in found),
        low=line(each.low for each in found), high=line(each.high for each in found),
    )  # fmt: skip
    return Chart(
        title=f"Recall by class{of}", kind="bar", series=(series,), y_label="recall",
        ticks=tuple(names[i] for i in there), note=f"Whiskers are 95 % intervals{lost}.",
    )  # fmt: skip


def _histograms(columns: Columns, reading: Reading, table: Counts, of: str) -> Iterator[Chart]:
    """Draw how often each class is right and was said; of two players each by itself too."""
    if measure.known(columns, "truth_0").any():
        for player in ("_0", "_1"):
            title = f"Actions of player {player[1]}: right and said{of}"
            yield _histogram(tally(columns, reading, player), measure.MOVES, title)
    yield _histogram(table, measure.options(columns, len(table) - 1), f"Right and said{of}")


def _histogram(table: Counts, names: Sequence[str], title: str) -> Chart:
    found, rows = labels.classes(table), max(1, int(table.sum()))
    invalid = labels.rates(table)["invalid_rate"]
    places = tuple(map(float, range(len(names) + 1)))
    pair = (
        Series(name="right", x=places, y=(*(found.support / rows).tolist(), 0.0)),
        Series(name="said", x=places, y=(*(found.predicted / rows).tolist(), invalid)),
    )
    return Chart(title=title, kind="bar", series=pair, ticks=(*names, "invalid"),
                 y_label="share of rows")  # fmt: skip


def _per_class(parts: Mapping[str, tuple[Columns, Counts]], by: str, of: str) -> Table:
    """Return precision, recall and F1 of every class, of all sets of options.

    Those that never came and were never said are counted, not listed.
    """
    rows: list[tuple[Cell, ...]] = []
    idle = 0
    for name, (columns, table) in parts.items():
        found = labels.classes(table)
        options = measure.options(columns, len(found.support))
        named = options != [str(i) for i in range(len(options))]
        shares = zip(found.precision.tolist(), found.recall.tolist(), found.f1.tolist(),
                     strict=True)  # fmt: skip
        for i, (option, three) in enumerate(zip(options, shares, strict=True)):
            counts = int(found.support[i]), int(found.predicted[i])
            if not any(counts):
                idle += 1
                continue
            rows.append((name, i, option if named else "", *counts, *map(_known, three)))
    left = f" Left out are {idle} that never came and were never said." if idle else ""
    return Table(
        title=f"Per class{of}", rows=tuple(rows), heat=3, fold=True,
        head=(by, "index", "class", "rows", "said", "precision", "recall", "F1"),
        note="A dash: nothing to divide by, which counts 0 in macro means." + left
        + _unmapped(parts),
    )  # fmt: skip


def _unmapped(parts: Mapping[str, tuple[Columns, Counts]]) -> str:
    """Name the sets whose confusion is not drawn."""
    some = [name for name, (_, table) in parts.items()
            if not enough(table) and (name or len(table) - 1 > _FEW)]  # fmt: skip
    if not some:
        return ""
    of = f" of {', '.join(some)}" if some[0] else ""
    return f" No map of the confusions{of}: fewer than {_ENOUGH} rows per class."


def _known(share: float) -> float | None:
    return None if np.isnan(share) else share
