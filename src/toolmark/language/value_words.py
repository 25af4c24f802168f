"""Words for what is written with signs (`value_words.toml`): symbols, units, currencies, days."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table

MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
COMPASS_NAMES = {"N": "north", "S": "south", "E": "east", "W": "west"}


CurrencySign: TypeAlias = Annotated[str, Meta(pattern="^[$€£¥₹]$")]
"""A sign that the patterns of amounts know."""


class ValueWords(DataRecord, frozen=True, kw_only=True):
    """The data file; its comments say what each table is for."""

    imperative_verbs: frozenset[str]
    rulers: frozenset[str]
    priced_nouns: frozenset[str]
    unambiguous_states: frozenset[str]
    capitalised_words: frozenset[str]
    label_nouns: frozenset[str]
    date_words: frozenset[str]
    symbols: dict[str, str]
    currencies: dict[CurrencySign, tuple[str, str]]
    magnitudes: dict[str, str]
    units: dict[str, tuple[str, str]]
    unit_spellings: dict[str, str]
    shares: dict[int, tuple[str, str]]
    us_states: dict[str, str]
    roman_numerals: dict[str, int]


def value_words() -> ValueWords:
    """Return the content of the data file."""
    return read_table(__file__, "value_words.toml", ValueWords)
