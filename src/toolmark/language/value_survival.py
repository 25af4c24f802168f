"""Find argument values in a text, and decide whether they survive in its spoken form.

Written and spoken text become the same canonical tokens: numbers in digits, dates as dates, signs
by name, one name per unit. A text states a string if the joined tokens contain it from the start
of one token to the end of another, so "l i a m", "Liam" and "LIAM" are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Literal, TypeAlias

from toolmark.language import number_words, ratio_words
from toolmark.language.argument_facts import Fact
from toolmark.language.text_meaning import Meaning, parse_meaning
from toolmark.language.value_words import MONTH_NAMES, value_words

FactState: TypeAlias = Literal["preserved", "lost", "unstated"]
Span: TypeAlias = tuple[int, int]


def fact_survives(written: str, spoken: str, fact: Fact) -> bool:
    """Return whether a fact that the written text states is also stated by the spoken text.

    For a fact that the written text does not state (an inference, a code) return True.
    """
    return fact_state(written, spoken, fact) != "lost"


def fact_state(written: str, spoken: str, fact: Fact) -> FactState:
    """Return "preserved", "lost", or "unstated" if the written text does not state the fact."""
    stated_values = [value for value in fact.values if value_spans(written, value)]
    if not stated_values:
        return "unstated"
    dashes = bool(identifier_values(fact))
    return (
        "preserved" if any(_is_stated(spoken, value, dashes) for value in stated_values) else "lost"
    )


def _is_stated(spoken: str, value: Any, dashes: bool) -> bool:
    found = value_spans(spoken, value)
    if dashes and isinstance(value, str) and is_slug(value):
        whole = any(_count_dashes(spoken, span) >= value.count("-") for span in found)
        return whole or bool(value_spans(spoken, value.replace("-", " dash ")))
    return bool(found)


_IDENTIFIER_NAME = re.compile(
    r"(?i)(id|name|url|uri|namespace|path|slug|key|file|branch|repo|directory)$"
)


def is_slug(value: str) -> bool:
    """Return whether a value is lower-case words joined by dashes, like an identifier."""
    return bool(re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", value) and re.search(r"[a-z]", value))


def identifier_values(fact: Fact) -> tuple[str, ...]:
    """Return the values of a fact whose dashes must be heard: my-bot-id, but not gluten-free."""
    if not _IDENTIFIER_NAME.search(re.sub(r"\[\d+\]$", "", fact.name)):
        return ()
    return tuple(value for value in fact.values if isinstance(value, str) and is_slug(value))


def _count_dashes(text: str, span: Span) -> int:
    return len(re.findall(r"-|\bdash\b", text[span[0] : span[1]]))


def lost_facts(written: str, spoken: str, facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that the spoken text no longer states; with none, the text may be used."""
    return [fact for fact in facts if not fact_survives(written, spoken, fact)]


def value_spans(text: str, value: Any) -> tuple[Span, ...]:
    """Return the spans (characters) where the text states the value."""
    meaning = parse_meaning(text)
    if isinstance(value, bool):
        return tuple(_string_spans(meaning, str(value)))
    if isinstance(value, int | float):
        return tuple(_number_spans(meaning, Decimal(repr(value)) if value == value else None))
    if not isinstance(value, str) or not value.strip():
        return ()
    found = tuple(_string_spans(meaning, value))
    return found or tuple(
        span for other in _other_forms(value) for span in _string_spans(meaning, other)
    )


def _number_spans(meaning: Meaning, value: Decimal | None) -> Iterator[Span]:
    if value is None or not value.is_finite():
        return
    for token in meaning.tokens:
        if value in token.values:
            yield token.start, token.end


def _string_spans(meaning: Meaning, value: str) -> Iterator[Span]:
    joined = parse_meaning(value).joined
    at = meaning.joined.find(joined) if joined else -1
    while at >= 0:
        first, last = meaning.starts.get(at), meaning.ends.get(at + len(joined))
        if first is not None and last is not None:
            yield meaning.tokens[first].start, meaning.tokens[last].end
        at = meaning.joined.find(joined, at + 1)


def _other_forms(value: str) -> Iterator[str]:
    """Yield other ways to say a value: dates, the state of a place, an identifier's dashes."""
    yield from _date_forms(value)
    yield from ratio_words.ratio_forms(value)
    if re.fullmatch(r"(?:0?[1-9]|1[0-2])/(?:19|20)\d\d", value):
        yield value.replace("/", " slash ")
    if re.search(r"\d A$", value):
        yield f"{value}mpere"
    if is_slug(value):
        yield value.replace("-", " dash ")
    states = value_words().us_states
    yield from _replace_names(value, r"(?:^|(?<=[a-z.] )|(?<=[a-z.], ))[A-Z]{2}\b", states)
    for names in _roman_numeral_readings():
        yield from _replace_names(value, r"(?<=[a-z] )[IVX]{2,4}\b", names)


@cache
def _roman_numeral_readings() -> tuple[dict[str, str], dict[str, str]]:
    """Return the words for Roman numerals: as cardinals, as ordinals."""
    numerals = value_words().roman_numerals
    return (
        {letters: number_words.cardinal_words(str(n)) for letters, n in numerals.items()},
        {letters: f"the {number_words.ordinal_words(n)}" for letters, n in numerals.items()},
    )


def _replace_names(value: str, pattern: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the value with abbreviations replaced by names: all of them at once, and each alone."""
    found = [m for m in re.finditer(pattern, value) if m.group() in names]
    if len(found) > 1:
        yield re.sub(pattern, lambda m: names.get(m.group(), m.group()), value)
    for m in found[:8]:
        yield value[: m.start()] + names[m.group()] + value[m.end() :]


def _date_forms(value: str) -> Iterator[str]:
    """Yield other ways to write a date: month or day first, with and without the year."""
    if found := re.fullmatch(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:[T ].*)?", value.strip()):
        year, month, day = found.groups()
        options = [(month, day, year)]
    elif found := re.fullmatch(r"(\d\d?)[/.-](\d\d?)[/.-](\d{4})", value.strip()):
        a, b, year = found.groups()
        options = [(a, b, year), (b, a, year)]
    else:
        return
    for month, day, year in options:
        if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
            name = MONTH_NAMES[int(month) - 1]
            yield f"{name} {int(day)}, {year}"
            yield f"{name} {int(day)}"
