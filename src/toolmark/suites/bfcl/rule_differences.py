"""Where the two grading rules differ: every item, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from toolmark.core.records import EpisodeFilter, Table
from toolmark.official_bfcl import agentic_scoring, errata, fair_rule
from toolmark.statistics.score_columns import Columns

CORRECTIONS = {**fair_rule.CORRECTIONS, **agentic_scoring.CORRECTIONS}
DifferenceRow: TypeAlias = tuple[str, int, str, str, str]

# the family whose fair rule has one correction for all its differences
_REASON_OF_FAMILY = {
    "multi_turn_": "calls are executed one by one, with the arguments as they were sent",
}


def difference_tables(columns_by_rule: Mapping[str, Columns]) -> list[Table]:
    """Return the reasons with their counts, then each item with its reason.

    Nothing where either grading rule is missing or nothing differs.
    """
    official, fair_columns = columns_by_rule.get("official"), columns_by_rule.get("fair")
    if official is None or fair_columns is None:
        return []
    rows = list(find_differences(official, fair_columns))
    if not rows:
        return []
    counts = Counter((row[4], _outcome(row[2]), _outcome(row[3])) for row in rows)
    return [
        Table(
            title="Why the rules differ",
            head=("reason", "official", "fair", "n"),
            rows=tuple((*change, n) for change, n in counts.most_common()),
            note=f"Entries are set aside by version {errata.errata().version} of the errata.",
        ),
        Table(
            title="Items on which the rules differ",
            head=("item", "repeat", "official", "fair", "reason"),
            rows=tuple(rows),
            row_episodes=tuple(EpisodeFilter(task=row[0]) for row in rows),
            column_episodes=(EpisodeFilter(),) * 5,
        ),
    ]


def find_differences(official: Columns, fair_columns: Columns) -> Iterator[DifferenceRow]:
    """Yield the items that ran and whose grading rules differ, in the order of the columns."""
    index_of = {
        key: index
        for index, key in enumerate(zip(fair_columns.task, fair_columns.repeat, strict=True))
    }
    for index, key in enumerate(zip(official.task, official.repeat, strict=True)):
        if not official.run[index]:
            continue
        fair_index = index_of.get(key)
        item = str(official.item[index])
        first = _describe_verdict(official, index)
        if fair_index is None:
            reason = errata.set_aside().get(item, "the fair rule does not judge it")
            yield str(key[0]), int(key[1]), first, "set aside", reason
        elif official.correct[index] != fair_columns.correct[fair_index]:
            reason = _difference_reason(fair_columns, fair_index)
            yield (
                str(key[0]),
                int(key[1]),
                first,
                _describe_verdict(fair_columns, fair_index),
                reason,
            )


def _outcome(description: str) -> str:
    return description if description in ("correct", "set aside") else "incorrect"


def _describe_verdict(columns: Columns, index: int) -> str:
    return "correct" if columns.correct[index] else str(columns.suite_cause[index])


def _difference_reason(columns: Columns, index: int) -> str:
    """Return the corrections that a verdict names as its parts, else its family's."""
    corrections = [
        correction
        for correction in CORRECTIONS
        if columns.part(f"{fair_rule.PART_PREFIX}{correction}")[index] == 1.0
    ]
    if corrections:
        return "; ".join(CORRECTIONS[correction] for correction in corrections)
    category = str(columns.category[index])
    found = (text for family, text in _REASON_OF_FAMILY.items() if category.startswith(family))
    return next(found, "")
