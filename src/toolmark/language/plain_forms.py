"""The vocabulary of plain words (`plain_forms.toml`), and the patterns that are made from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Annotated

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table
from toolmark.language.figure_readings import ONES_WORDS, SCALES, TENS_WORDS

NUMBER_WORDS = frozenset(
    [*ONES_WORDS, *TENS_WORDS, "hundred", "point", *(name for _, name in SCALES)]
)
NUMBER_WORD_PATTERN = "(?:" + "|".join(sorted(NUMBER_WORDS)) + ")"


class PlainForms(DataRecord, frozen=True, kw_only=True):
    """The data file; its comments say what each table is for.

    Where the patterns of `normalised_words` list the keys of a table, so does its type.
    """

    initials: frozenset[str]
    marks: dict[str, str]
    currencies: dict[Annotated[str, Meta(pattern="^[$€£]$")], str]
    magnitudes: dict[Annotated[str, Meta(pattern="^(?:k|m|b|bn)$")], str]
    units: dict[str, str]
    compound_units: dict[str, str]
    unit_letters: dict[Annotated[str, Meta(pattern="^[mglsh]$")], str]
    abbreviations: dict[str, tuple[str, ...]]
    casual_forms: dict[str, str]
    clipped_forms: dict[str, str]
    joints: dict[Annotated[str, Meta(pattern="^[-/]$")], tuple[str, ...]]


def plain_forms() -> PlainForms:
    """Return the content of the data file."""
    return read_table(__file__, "plain_forms.toml", PlainForms)


@cache
def clipped_form_pattern() -> re.Pattern[str]:
    """Return the pattern of a word whose beginning is left out after an apostrophe."""
    return re.compile(rf"(?<!\w)'({_any_of(plain_forms().clipped_forms)})\b")


@cache
def unit_pattern() -> re.Pattern[str]:
    """Return the pattern of a number word and the symbol of a unit."""
    forms = plain_forms()
    return re.compile(
        rf"\b({NUMBER_WORD_PATTERN}) ({_any_of([*forms.units, *forms.compound_units])})\b"
    )


@cache
def single_unit_pattern() -> re.Pattern[str]:
    """Return the pattern of one of something whose name is in the plural: one dollars."""
    names = ("dollar", "euro", "pound", "cent", *plain_forms().units.values())
    return re.compile(rf"\bone ({_any_of(names)})s\b")


def _any_of(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, words))
