"""Names of weekdays and months as members of a set: Mon is Monday there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.language.value_tokens import ValueToken, cut_values, fold_text
from toolmark.language.written_tables import month_forms, weekday_forms
from toolmark.scoring.comparators.text_comparators import PlainText, find_words


def are_calendar_names(members: Sequence[Any]) -> bool:
    """Return whether members are two or more weekdays, or months; Sun alone may be the star."""
    texts = [fold_text(each).strip().strip(".") for each in members if isinstance(each, str)]
    if len(texts) < 2 or len(texts) != len(members):
        return False
    return any(all(text in table for text in texts) for table in (weekday_forms(), month_forms()))


class CalendarName(PlainText, frozen=True, kw_only=True):
    """A weekday or a month, in full or abbreviated."""

    def _forms(self, wanted: str) -> Sequence[str]:
        return calendar_forms(wanted)

    def _spans(self, tokens: Sequence[ValueToken], wanted: str) -> list[tuple[int, int]]:
        return sorted(
            span
            for form in calendar_forms(wanted)
            for span in find_words(tokens, cut_values(form))
            if not tokens[span[0]].text.islower() or len(form) > _MAX_SHORT
        )


_MAX_SHORT = 4  # letters of an abbreviation, which counts in capitals only: sun, sat, march


def calendar_forms(name: str) -> list[str]:
    """Return the ways to write a weekday or a month."""
    word = fold_text(name).strip().strip(".")
    tables: tuple[Mapping[str, int], ...] = (weekday_forms(), month_forms())
    for table in tables:
        if word in table:
            forms = [form for form, n in table.items() if n == table[word]]
            return [*forms, *(f"{form}s" for form in forms if len(form) > _MAX_SHORT)]
    return [name]
