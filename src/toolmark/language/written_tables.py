"""The table of values and their written forms: one for what is said, shown and judged.

The words of speech (`value_words.toml`, `plain_forms.toml`, `figure_readings`) are its first part.
The files here add what speech does not read aloud: conversions, spellings, codes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table
from toolmark.language.plain_forms import plain_forms
from toolmark.language.value_words import MONTH_NAMES, WEEKDAY_NAMES, value_words

Factor: TypeAlias = Annotated[str, Meta(pattern=r"^\d+(?:\.\d+)?(?:[*/]\d+(?:\.\d+)?)*$")]
"""Numbers joined by `*` and `/`."""


class Unit(DataRecord, frozen=True, kw_only=True):
    """A unit of measure: how many base units of its dimension one is, and how it is written."""

    dimension: str
    factor: Factor
    offset: Factor = "0"
    forms: frozenset[str] = frozenset()


class Currency(DataRecord, frozen=True, kw_only=True):
    """A currency: its sign, its other forms, and what a hundredth of it is called."""

    sign: str = ""
    forms: frozenset[str] = frozenset()
    hundredths: frozenset[str] = frozenset()


class CalendarWords(DataRecord, frozen=True, kw_only=True):
    """The file `calendar_words.toml`; its comments say what each table is for."""

    weekday_forms: dict[str, str]
    named_days: dict[str, str]
    named_times: dict[str, int]
    day_parts: dict[str, str]
    parts_of_a_day_part: frozenset[str]
    parts_of_an_hour: dict[str, int]
    zones: dict[str, int]


class CountingWords(DataRecord, frozen=True, kw_only=True):
    """The file `counting_words.toml`; its comments say what each table is for."""

    numbers: dict[str, int]
    signs: dict[str, int]
    percent_forms: dict[str, int]
    weight_words: frozenset[str]
    price_words: frozenset[str]


class NameWords(DataRecord, frozen=True, kw_only=True):
    """The file `name_words.toml`; its comments say what each table is for."""

    titles: frozenset[str]
    suffixes: frozenset[str]
    particles: frozenset[str]
    plain_letters: dict[str, str]
    transliterations: dict[str, str]
    company_words: frozenset[str]


class PlaceNames(DataRecord, frozen=True, kw_only=True):
    """The file `places.toml`; its comments say what each table is for."""

    countries: dict[str, tuple[str, ...]]
    regions: dict[str, tuple[str, ...]]
    cities: dict[str, tuple[str, ...]]
    word_forms: dict[str, str]
    state_codes: dict[str, str]
    state_titles: frozenset[str]


def units() -> dict[str, Unit]:
    """Return the units by their name in the singular."""
    return read_table(__file__, "units.toml", dict[str, Unit])


def currencies() -> dict[str, Currency]:
    """Return the currencies by their ISO 4217 code."""
    return read_table(__file__, "currencies.toml", dict[str, Currency])


def calendar_words() -> CalendarWords:
    """Return the words of dates and clock times."""
    return read_table(__file__, "calendar_words.toml", CalendarWords)


@cache  # asked for at every token of a text
def counting_words() -> CountingWords:
    """Return the words of numbers that are not cardinals."""
    return read_table(__file__, "counting_words.toml", CountingWords)


def name_words() -> NameWords:
    """Return the words around the names of persons."""
    return read_table(__file__, "name_words.toml", NameWords)


def place_names() -> PlaceNames:
    """Return countries, their parts and cities."""
    return read_table(__file__, "places.toml", PlaceNames)


# --- units ------------------------------------------------------------------------------


def read_factor(text: str) -> Fraction:
    """Return the number of a factor such as 1852/3600."""
    parts = text.replace("/", "*/").split("*")
    return math.prod(
        (1 / Fraction(part[1:]) if part[0] == "/" else Fraction(part) for part in parts),
        start=Fraction(1),
    )


def convert_unit(value: Fraction, unit: str, target: str) -> Fraction | None:
    """Return a value in another unit; None where the two measure different things."""
    source, wanted = units()[unit], units()[target]
    if source.dimension != wanted.dimension:
        return None
    base = value * read_factor(source.factor) + read_factor(source.offset)
    return (base - read_factor(wanted.offset)) / read_factor(wanted.factor)


@cache
def unit_forms() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the units that each written form may mean."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in units():
        for form in forms_of_unit(name):
            found[form].append(name)
    return {form: tuple(names) for form, names in found.items()}


@cache
def forms_of_unit(name: str) -> tuple[str, ...]:
    """Return the written forms of a unit: its names, those of speech, and those of the table."""
    spoken = value_words()
    forms = [name, *sorted(units()[name].forms)]
    for symbol, (one, many) in spoken.units.items():
        if one == name:
            forms += [symbol, one, many]
    plain = plain_forms()
    forms += [symbol for symbol, one in plain.units.items() if one == name and len(symbol) > 2]
    return tuple(dict.fromkeys(forms))


# --- currencies -------------------------------------------------------------------------


@cache
def currency_forms() -> Mapping[str, tuple[str, ...]]:
    """Return the codes of the currencies that each written form may mean."""
    found: dict[str, list[str]] = defaultdict(list)
    for code in currencies():
        for form in forms_of_currency(code):
            found[form].append(code)
    return {form: tuple(codes) for form, codes in found.items()}


@cache
def forms_of_currency(code: str) -> tuple[str, ...]:
    """Return the written forms of a currency: its code, its sign, its words."""
    currency = currencies()[code]
    main = value_words().currencies.get(currency.sign, ()) if code in MAIN_CODES else ()
    sign = (currency.sign,) if currency.sign else ()
    return tuple(dict.fromkeys((code, *sign, *main, *sorted(currency.forms))))


MAIN_CODES = frozenset({"USD", "EUR", "GBP", "JPY", "INR"})
"""The currencies that the words of a sign name where nothing else is said."""


# --- days -------------------------------------------------------------------------------


@cache
def month_forms() -> Mapping[str, int]:
    """Return the number of the month, from 1, by its names and abbreviations in small letters."""
    numbers = {name: n for n, name in enumerate(MONTH_NAMES, 1)}
    short = {
        form: numbers[words[0]]
        for form, words in plain_forms().abbreviations.items()
        if words[0] in numbers
    }
    return {**numbers, **short}


@cache
def weekday_forms() -> Mapping[str, int]:
    """Return the number of the weekday, Monday 0, by its names in small letters."""
    numbers = {name: n for n, name in enumerate(WEEKDAY_NAMES)}
    return {**numbers, **{k: numbers[v] for k, v in calendar_words().weekday_forms.items()}}


def longest_forms(forms: Iterable[str]) -> list[str]:
    """Return written forms, longest first."""
    return sorted(forms, key=len, reverse=True)
