"""The comparators of one value each, by the names that rows use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolmark.core.errors import UsageError, suggest_names
from toolmark.scoring.comparators.comparison import Comparator
from toolmark.scoring.comparators.number_comparators import Money, Number
from toolmark.scoring.comparators.structured_comparators import FileContent, JsonValue, Pattern
from toolmark.scoring.comparators.text_comparators import Name, PlaceName, PlainText
from toolmark.scoring.comparators.time_comparators import Date, Time
from toolmark.scoring.comparators.truth_comparator import YesOrNo

MEMBER_COMPARATORS: Mapping[str, type[Comparator]] = {
    each.kind: each
    for each in (
        Number, Money, Date, Time, PlainText, YesOrNo, Name, PlaceName, JsonValue, FileContent,
        Pattern,
    )
}  # fmt: skip


def choose_member(expected: Any) -> Comparator:
    """Return the comparator of one value by its type: bool, number, text, else JSON."""
    match expected:
        case bool():
            return YesOrNo()
        case int() | float():
            return Number()
        case str():
            return PlainText()
        case _:
            return JsonValue()


def make_member(kind: str) -> Comparator:
    """Return a comparator of one value by its name. Raises UsageError for an unknown one."""
    if kind not in MEMBER_COMPARATORS:
        near = suggest_names(kind, MEMBER_COMPARATORS)
        raise UsageError(f"no comparator of one value {kind!r}{near}")
    return MEMBER_COMPARATORS[kind]()
