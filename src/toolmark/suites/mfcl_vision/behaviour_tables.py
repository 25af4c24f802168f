"""Behaviour tables of a vision run: failure modes, searches, steps, words of queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, Estimate, Table
from toolmark.statistics import failure_mode_tables
from toolmark.statistics.episode_filters import link_rows
from toolmark.statistics.estimate_charts import stacked_bars
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.group_tables import count_run, group_table
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.score_columns import Columns, part_as_value
from toolmark.suites.mfcl_vision import failure_modes, variation_statistics
from toolmark.suites.mfcl_vision.episode_scoring import MODE_PREFIX
from toolmark.suites.mfcl_vision.item_records import BASE_VARIATION
from toolmark.suites.mfcl_vision.query_words import ORIGINS, Origin

PROMPTED_PART = "prompted"
"""A part of a verdict: 1 if tools were called in text, 0 if natively."""
_SHARE_LABELS = {"searched": "searched", "refused": "refused", "asked_back": "asked back"}
_COUNT_LABELS = {"steps": "steps", "queries": "queries", "fetched": "pages opened"}
_ORIGIN_LABELS = {
    "question": "question", "text": "image text", "visual": "visual features",
    "pages": "pages read", "other": "elsewhere",
}  # fmt: skip
_OTHER_MODE_LABELS = {
    failure_modes.OTHER_MODE: "other: same on base",
    failure_modes.FORM_MODE: "form alone",
    failure_modes.FORCED_MODE: "ended by force",
    failure_modes.UNEXPLAINED_MODE: "no rule fits",
}
_FIGURE5_LABELS = {
    "1": "1 visual reasoning", "2": "2 avoiding tool use", "3": "3 poor keywords",
    "5": "5 over-reliance", failure_modes.UNEXPLAINED_MODE: "none of these",
}  # fmt: skip


def build_tables(columns: Columns) -> Iterator[Table | Chart]:
    """Yield the tables of failure modes, of actions by variation, and of the words of queries."""
    parts = {
        variation_statistics.variation_label(name): part
        for name, part in variation_statistics.answers_by_variation(columns).items()
        if part.run.any()
    }
    yield from failure_tables(parts, "variation", columns)
    yield from activity_table(columns)
    yield from query_word_tables(parts, "variation", columns)


def build_comparison_tables(runs: Mapping[str, Columns]) -> Iterator[Table | Chart]:
    """Yield the same tables for several runs; runs with native calls come first."""
    ordered = dict(sorted(runs.items(), key=lambda pair: tool_call_mode(pair[1])))
    mains = {
        name: variation_statistics.scored_answers(columns) for name, columns in ordered.items()
    }
    several = len({tool_call_mode(columns) for columns in ordered.values()}) > 1
    parts = {f"{name}, {tool_call_mode(part) or 'unknown'}" if several else name: part
             for name, part in mains.items()}  # fmt: skip
    yield _run_activity_table(parts)
    yield from query_word_tables(parts, "run")
    yield from failure_tables(parts, "run")


def tool_call_mode(columns: Columns) -> str:
    """Return how a run called tools: `native` ("FC" in the paper), `prompt` or `mixed`.

    Returns "" if this is unknown.
    """
    part = columns.part(PROMPTED_PART)
    known = part[~np.isnan(part)]
    if not len(known):
        return ""
    return "native" if not known.any() else "prompt" if known.all() else "mixed"


# --- failures ---------------------------------------------------------------------------


def failure_tables(
    parts: Mapping[str, Columns], by: str, whole: Columns | None = None
) -> Iterator[Table | Chart]:
    """Yield the failure modes with each failed answer once, then as in the paper's Figure 5.

    Figure 5 counts the mode that an error shows, even if the undamaged picture has the same error.
    `whole` has all rows of the run, where the parts are those of one.
    """
    failed = {name: failure_mode_tables.failed_answers(part) for name, part in parts.items()}
    failed = {name: part for name, part in failed.items() if len(part)}
    if not failed:
        return
    labels = {mode: f"{mode} {text}" for mode, text in failure_modes.MODE_LABELS.items()}
    yield failure_mode_tables.failure_mode_table(
        f"Failure modes by {by}",
        by,
        labels | _OTHER_MODE_LABELS,
        {name: count_modes(part) for name, part in failed.items()},
        f"{failure_mode_tables.EACH_ONCE_NOTE} Other: the same error on the "
        "undamaged picture too. Form alone: a right answer written otherwise, or a reply or call "
        "that could not be read. No rule fits: nothing that is known of the item explains it.",
        whole=whole,
        failed_by_row=failed,
    )
    shares = {name: figure5_shares(part) for name, part in failed.items()}
    table = Table(
        title=f"Failure modes as in Figure 5, by {by}",
        head=(by, "failed", *_FIGURE5_LABELS.values()),
        rows=tuple((name, len(failed[name]), *found.values()) for name, found in shares.items()),
        note="Shares of failed answers by the mode that the error shows, whether or not it is made "
        "on the undamaged picture too; modes 4 and 6 count under 1, as in the paper.",
        n_shaded_columns=len(_FIGURE5_LABELS),
    )
    yield table if whole is None else link_rows(table, whole, failed.values())
    title = f"Failure modes as in Figure 5, by {by}, drawn"
    yield _stacked_chart(title, _FIGURE5_LABELS, shares, "% of failed answers")


def count_modes(failed: Columns) -> dict[str, int]:
    """Count failed answers by primary mode; answers that no rule explains count in the last one."""
    return failure_mode_tables.count_modes(
        failed, (*failure_modes.MODE_LABELS, *_OTHER_MODE_LABELS)
    )


def figure5_shares(failed: Columns) -> dict[str, float]:
    """Return the shares of failed answers by the mode that they show, as Figure 5 counts it."""
    shares = dict.fromkeys(_FIGURE5_LABELS, 0.0)
    for name in failure_modes.MODE_LABELS:
        n_shown = float(np.nansum(failed.part(f"{MODE_PREFIX}{name}")))
        shares[failure_modes.figure5_mode(name)] += n_shown / len(failed)
    return shares | {failure_modes.UNEXPLAINED_MODE: max(0.0, 1.0 - sum(shares.values()))}


def _stacked_chart(
    title: str, labels: Mapping[str, str], rows: Mapping[str, Mapping[str, float]], y_label: str
) -> Chart:
    """Return a chart with one bar of shares per row; parts without any share are omitted."""
    present = {
        part: label for part, label in labels.items() if any(row[part] for row in rows.values())
    }
    heights = {name: {part: 100 * row[part] for part in present} for name, row in rows.items()}
    return stacked_bars(title, present, heights, y_label)


# --- what was done ----------------------------------------------------------------------


def activity_table(columns: Columns) -> Iterator[Table]:
    """Yield shares of searches and refusals, and mean steps, by variation, against the base."""
    parts = variation_statistics.answers_by_variation(columns)
    parts = {name: part for name, part in parts.items() if part.run.any()}
    labels = {**_SHARE_LABELS, **_COUNT_LABELS}
    paired_too = len(parts) > 1 and BASE_VARIATION in parts
    rows: list[tuple[Cell, ...]] = []
    for name, part in parts.items():
        cells: list[Cell] = []
        for key in labels:
            cells.append(_level_cell(part, key))
            if paired_too and key in _COMPARED_PARTS:
                cells.append("" if name == BASE_VARIATION else change_from_base(columns, name, key))
        rows.append((variation_statistics.variation_label(name), count_run(part), *cells))
    heads: list[str] = []
    for key, word in labels.items():
        heads += [
            word,
            *([f"{word}, against base"] if paired_too and key in _COMPARED_PARTS else []),
        ]
    if any(cell is not None for row in rows for cell in row[2:]):
        table = Table(
            title="What was done, by variation",
            head=("variation", "n", *heads),
            rows=tuple(rows),
            note=_ACTIVITY_NOTE,
        )
        yield link_rows(table, columns, parts.values())


_COMPARED_PARTS = ("searched", "steps", "refused")
_ACTIVITY_NOTE = (
    "Searched, refused and asked back are shares of the answers, paired differences in percentage "
    "points; steps, queries and pages opened are means, their differences too. In brackets 95 % "
    "intervals over items. Refused: it said that it does not know or cannot answer, or the "
    "endpoint refused."
)


def _level_cell(columns: Columns, part: str) -> Cell:
    values = columns.part(part)
    if np.isnan(values).all():
        return None
    found = float(np.nanmean(values))
    if part in _SHARE_LABELS:
        return number_format.format_percent(found)
    return number_format.format_fixed(found, 2)


def change_from_base(columns: Columns, name: str, part: str) -> str | None:
    """Return the difference of a part from the base, paired by item, with its interval.

    Returns None if there is no pair.
    """
    a, b = (
        part_as_value(variation_statistics.answers_in_variation(columns, variation), part)
        for variation in (name, BASE_VARIATION)
    )
    reach = 1.0 if part in _SHARE_LABELS else max(_largest_value(a), _largest_value(b), 1.0)
    a, b = (replace(variation, value=variation.value / reach) for variation in (a, b))
    found = compare_paired(a, b).difference
    if found.value is None:
        return None
    return (
        number_format.format_points(found)
        if part in _SHARE_LABELS
        else _count_difference(found, reach)
    )


def _largest_value(columns: Columns) -> float:
    return float(np.nanmax(columns.value)) if columns.run.any() else 0.0


def _count_difference(found: Estimate, reach: float) -> str:
    """Return a difference of counts as text: "+0.31 [−0.10, +0.72]"."""
    texts = [
        number_format.format_fixed(reach * x, 2, signed=True)
        for x in (found.value, found.low, found.high)
        if x is not None
    ]
    return f"{texts[0]} [{', '.join(texts[1:])}]" if len(texts) == 3 else texts[0]


# --- the words of queries ---------------------------------------------------------------


def query_word_tables(
    parts: Mapping[str, Columns], by: str, whole: Columns | None = None
) -> Iterator[Table | Chart]:
    """Yield the share of query words by origin, a mean over episodes that have a query.

    `whole` has all rows of the run, where the parts are those of one.
    """
    found = {name: _origin_estimates(part) for name, part in parts.items()}
    known = {name: row for name, row in found.items() if row["question"].value is not None}
    if not known:
        return
    rows: list[tuple[Cell, ...]] = [
        (name, row["question"].n, *(number_format.format_share(row[key]) for key in ORIGINS))
        for name, row in known.items()
    ]
    table = Table(
        title=f"Where the words of queries come from, by {by}",
        head=(by, "answers with a query", *_ORIGIN_LABELS.values()),
        rows=tuple(rows),
        note="Shares of the words that carry sense, a mean over queries and then over answers; in "
        "brackets 95 % intervals over items. A word that stands in several places counts for the "
        "first of them. Pages read: it stood on a page opened before.",
    )
    with_query = (_rows_with_query(parts[name]) for name in known)
    yield table if whole is None else link_rows(table, whole, with_query)
    shares = {
        name: {str(key): row[key].value or 0.0 for key in ORIGINS} for name, row in known.items()
    }
    title = f"Where the words of queries come from, by {by}, drawn"
    yield _stacked_chart(title, _ORIGIN_LABELS, shares, "% of the words")


def _rows_with_query(columns: Columns) -> Columns:
    return columns.where(~np.isnan(columns.part("from_question")))


def _origin_estimates(columns: Columns) -> dict[Origin, Estimate]:
    """Return the mean share of each origin; without values if no answer has a query."""
    return {key: estimate_mean(part_as_value(columns, f"from_{key}"), key) for key in ORIGINS}


def _run_activity_table(runs: Mapping[str, Columns]) -> Table:
    """Return the behaviour of runs side by side; the names show the mode if modes differ."""
    labels = {**_SHARE_LABELS, **_COUNT_LABELS}
    return group_table(
        "How runs worked",
        ("run",),
        (((name,), columns) for name, columns in runs.items()),
        {
            "n": count_run,
            "accuracy": variation_statistics.mean_share_cell,
            **{label: partial(_level_cell, part=part) for part, label in labels.items()},
        },
        note="Over the variations of Table 2. Native: tools are called by the interface (FC in the "
        "paper); prompt: in text.",
    )
