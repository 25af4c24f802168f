"""Where the two readings differ: every item, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from toolmark.stats.columns import Columns
from toolmark.suites.bfcl import agentic_score, errata, fair
from toolmark.types import Table

RULES = {**fair.RULES, **agentic_score.RULES}
Row: TypeAlias = tuple[str, int, str, str, str]

# the family whose fair reading has one rule for all its differences
_FAMILIES = {
    "multi_turn_": "calls are executed one by one, with the arguments as they were sent",
}


def tables(readings: Mapping[str, Columns]) -> list[Table]:
    """Return the reasons with their counts, then each item with its reason.

    Nothing where either reading is missing or nothing differs.
    """
    official, fairly = readings.get("official"), readings.get("fair")
    if official is None or fairly is None:
        return []
    rows = list(differences(official, fairly))
    if not rows:
        return []
    counts = Counter((row[4], _short(row[2]), _short(row[3])) for row in rows)
    return [
        Table(
            title="Why the readings differ",
            head=("reason", "official", "fair", "n"),
            rows=tuple((*change, n) for change, n in counts.most_common()),
            note=f"Entries are set aside by version {errata.VERSION} of the errata.",
        ),
        Table(
            title="Items whose readings differ",
            head=("item", "repeat", "official", "fair", "reason"),
            rows=tuple(rows),
        ),
    ]


def differences(official: Columns, fairly: Columns) -> Iterator[Row]:
    """Go through the items that ran and whose readings differ, in the order of the columns."""
    place = {key: at for at, key in enumerate(zip(fairly.task, fairly.repeat, strict=True))}
    for at, key in enumerate(zip(official.task, official.repeat, strict=True)):
        if not official.run[at]:
            continue
        other = place.get(key)
        item = str(official.item[at])
        first = _told(official, at)
        if other is None:
            reason = errata.SET_ASIDE.get(item, "the fair reading does not judge it")
            yield str(key[0]), int(key[1]), first, "set aside", reason
        elif official.correct[at] != fairly.correct[other]:
            reason = _reason(fairly, other)
            yield str(key[0]), int(key[1]), first, _told(fairly, other), reason


def _short(told: str) -> str:
    return told if told in ("correct", "set aside") else "incorrect"


def _told(columns: Columns, at: int) -> str:
    return "correct" if columns.correct[at] else str(columns.native[at])


def _reason(columns: Columns, at: int) -> str:
    """Return the rules that a verdict names as its parts, else its family's."""
    rules = [rule for rule in RULES if columns.part(f"{fair.PART}{rule}")[at] == 1.0]
    if rules:
        return "; ".join(RULES[rule] for rule in rules)
    category = str(columns.category[at])
    found = (why for family, why in _FAMILIES.items() if category.startswith(family))
    return next(found, "")
