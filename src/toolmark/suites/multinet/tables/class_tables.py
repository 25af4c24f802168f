"""Tables and charts of classes: counts of truths by answers, recall, confusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from toolmark.core.records import Cell, Chart, EpisodeFilter, Series, Table
from toolmark.scoring import classification
from toolmark.scoring.error_statistics import GradingRule
from toolmark.statistics.estimate_charts import bar_positions, estimate_series
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.table_cells import none_if_nan
from toolmark.suites.multinet.tables import score_columns
from toolmark.suites.multinet.tables.row_links import link_filters

TallyCounts: TypeAlias = NDArray[np.int64]
_CONFUSION_TITLE = "Confusion: what was said where"
_MAX_LISTED_CLASSES = 10  # up to this many, confusion is a table of numbers; above, a map
_MIN_ROWS_PER_CLASS = 3  # with fewer rows per class, a map shows too little


def tally_answers(columns: Columns, rule: GradingRule, player: str = "") -> TallyCounts:
    """Return counts of truths by answers, for rows with the same options, or for one player."""
    n = len(score_columns.ACTION_NAMES) if player else score_columns.count_options(columns)
    truth, answers = (columns.part(f"{part}{player}") for part in ("truth", "predicted"))
    raw = columns.part("raw") if not player else np.full(len(answers), np.nan)
    answers_or_raw = np.where(answers < 0, raw, answers)
    return classification.tally_predictions(truth, answers_or_raw, n, rule=rule)


def class_figures(
    columns: Columns, rule: GradingRule, suffix: str, episodes: EpisodeFilter
) -> Iterator[Table | Chart]:
    """Yield the figures of rows whose options are the same; `episodes` selects these rows."""
    table = tally_answers(columns, rule)
    yield from _class_histograms(columns, rule, table, suffix)
    yield recall_chart(columns, suffix)
    if len(table) - 1 <= _MAX_LISTED_CLASSES:
        yield confusion_table(columns, table, suffix, episodes)
    elif has_enough_rows(table):
        yield confusion_chart(columns, table, suffix)


def has_enough_rows(table: TallyCounts) -> bool:
    """Return whether there are enough rows for a confusion map."""
    return int(table.sum()) >= _MIN_ROWS_PER_CLASS * (len(table) - 1)


def _confusion_shares(table: TallyCounts) -> list[list[float]]:
    """Return answers by truth, each row as shares of its sum; the last column is invalid ones."""
    counts = classification.confusion_matrix(table)
    total = counts.sum(axis=1, keepdims=True)
    shares: list[list[float]] = np.where(total, counts / np.maximum(total, 1), np.nan).tolist()
    return shares


def confusion_chart(columns: Columns, table: TallyCounts, suffix: str = "") -> Chart:
    """Draw answers (columns) by truth (rows), each row as shares of its sum."""
    shares = _confusion_shares(table)
    names = score_columns.option_names(columns, len(shares), short=True)
    positions = bar_positions(len(names) + 1)
    rows = zip(names, shares, strict=True)
    note = "Each row in shares of its own; framed: said and right are one. ×: invalid."
    if score_columns.has_number(columns, "truth_0").any():
        note += " Letters: player 0, then player 1; N S E W move, · stay, I interact."
    return Chart(
        title=f"{_CONFUSION_TITLE}{suffix}",
        kind="heat",
        x_label="predicted",
        y_label="right",
        note=note,
        series=tuple(Series(name=name, x=positions, y=tuple(row)) for name, row in rows),
        ticks=(*names, "×"),
    )


def confusion_table(
    columns: Columns, table: TallyCounts, suffix: str, episodes: EpisodeFilter
) -> Table:
    """Return the confusion as a table, if there are few classes; `episodes` selects the rows."""
    shares = _confusion_shares(table)
    names = score_columns.option_names(columns, len(shares))
    counts = classification.class_measures(table).support.tolist()
    rows = tuple(
        (name, n, *map(none_if_nan, row))
        for name, n, row in zip(names, counts, shares, strict=True)
    )
    made = Table(
        title=f"{_CONFUSION_TITLE}{suffix}", head=("right", "rows", *names, "invalid"), rows=rows,
        n_shaded_columns=len(names) + 1, note="Each row in shares of its own: what was said.",
    )  # fmt: skip
    truth = columns.part("truth")
    filters = (_select_class(columns.where(truth == i), episodes) for i in range(len(names)))
    return link_filters(made, filters)


def _select_class(rows: Columns, episodes: EpisodeFilter) -> EpisodeFilter | None:
    """Return the episodes of one class, of all classes where tasks have no axis for it."""
    levels = {str(level) for level in rows.axis("class")}
    if not levels:
        return None
    named = {"class": levels.pop()} if len(levels) == 1 and "" not in levels else {}
    return replace(episodes, axes={**episodes.axes, **named})


def recall_chart(columns: Columns, suffix: str) -> Chart:
    """Draw the recall of each class; intervals go by group if rows of a group are dependent."""
    n, truth = score_columns.count_options(columns), columns.part("truth")
    present = [i for i in range(n) if (truth == i).any()]
    found = [estimate_mean(columns.where(truth == i), "") for i in present]
    names = score_columns.option_names(columns, n)
    absent_note = (
        f"; {n - len(present)} of {n} classes are never right here" if len(present) < n else ""
    )

    return Chart(
        title=f"Recall by class{suffix}",
        kind="bar",
        series=(estimate_series("recall", found),),
        y_label="recall",
        ticks=tuple(names[i] for i in present),
        note=f"Whiskers are 95 % intervals{absent_note}.",
    )


def _class_histograms(
    columns: Columns, rule: GradingRule, table: TallyCounts, suffix: str
) -> Iterator[Chart]:
    """Draw how often each class is correct and answered; for two players, each player's too."""
    if score_columns.has_number(columns, "truth_0").any():
        for player in ("_0", "_1"):
            title = f"Actions of player {player[1]}: right and said{suffix}"
            yield _class_histogram(
                tally_answers(columns, rule, player), score_columns.ACTION_NAMES, title
            )
    yield _class_histogram(
        table, score_columns.option_names(columns, len(table) - 1), f"Right and said{suffix}"
    )


def _class_histogram(table: TallyCounts, names: Sequence[str], title: str) -> Chart:
    found, rows = classification.class_measures(table), max(1, int(table.sum()))
    invalid = classification.exact_match_rates(table)["invalid_rate"]
    positions = bar_positions(len(names) + 1)
    pair = (
        Series(name="right", x=positions, y=(*(found.support / rows).tolist(), 0.0)),
        Series(name="predicted", x=positions, y=(*(found.predicted / rows).tolist(), invalid)),
    )
    return Chart(title=title, kind="bar", series=pair, ticks=(*names, "invalid"),
                 y_label="share of rows")  # fmt: skip


def class_table(
    parts: Mapping[str, tuple[Columns, TallyCounts]],
    category_name: str,
    suffix: str,
    filters: Mapping[str, EpisodeFilter],
) -> Table:
    """Return precision, recall and F1 of every class, over all sets of options.

    Classes that are never correct and never answered are counted, not listed. `filters` selects the
    episodes of each set: a class rests on its rows and on those that were taken for it.
    """
    rows: list[tuple[Cell, ...]] = []
    n_idle = 0
    for name, (columns, table) in parts.items():
        found = classification.class_measures(table)
        options = score_columns.option_names(columns, len(found.support))
        has_names = options != [str(i) for i in range(len(options))]
        shares = zip(found.precision.tolist(), found.recall.tolist(), found.f1.tolist(),
                     strict=True)  # fmt: skip
        for i, (option, three) in enumerate(zip(options, shares, strict=True)):
            counts = int(found.support[i]), int(found.predicted[i])
            if not any(counts):
                n_idle += 1
                continue
            rows.append((name, i, option if has_names else "", *counts, *map(none_if_nan, three)))
    omitted_note = f" Left out are {n_idle} that never came and were never said." if n_idle else ""
    made = Table(
        title=f"Per class{suffix}", rows=tuple(rows), n_shaded_columns=3, is_collapsed=True,
        head=(category_name, "index", "class", "rows", "predicted", "precision", "recall", "F1"),
        note="A dash: nothing to divide by, which counts 0 in macro means." + omitted_note
        + _undrawn_sets_note(parts),
    )  # fmt: skip
    return link_filters(made, (filters[str(row[0])] for row in rows), n_names=3)


def _undrawn_sets_note(parts: Mapping[str, tuple[Columns, TallyCounts]]) -> str:
    """Return a note that names the sets whose confusion is not drawn."""
    undrawn = [
        name
        for name, (_, table) in parts.items()
        if not has_enough_rows(table) and (name or len(table) - 1 > _MAX_LISTED_CLASSES)
    ]
    if not undrawn:
        return ""
    suffix = f" of {', '.join(undrawn)}" if undrawn[0] else ""
    return f" No map of the confusions{suffix}: fewer than {_MIN_ROWS_PER_CLASS} rows per class."
