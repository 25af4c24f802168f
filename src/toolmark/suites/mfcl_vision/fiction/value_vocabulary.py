"""Values in words, combined from two lists: hundreds for each fact, all of them improbable."""

from __future__ import annotations

import random
from functools import cache
from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, placeholders, read_table

ValueWords: TypeAlias = str | tuple[str, ...]
"""Words, or the name of a shared list."""


class WordPair(DataRecord, frozen=True):
    """How a value is combined: a pattern with two gaps, and the words for each."""

    pattern: Annotated[str, Meta(pattern=placeholders(""))]
    first: ValueWords
    second: ValueWords


class ValueTable(DataRecord, frozen=True):
    """The data file: shared lists of words, and pairs by fact."""

    shared: dict[str, tuple[str, ...]]
    facts: dict[str, WordPair]


def value_table() -> ValueTable:
    """Return the content of the data file."""
    return read_table(__file__, "value_words.toml", ValueTable)


def draw_value(rng: random.Random, fact: str) -> str:
    """Return words for a fact."""
    first_words, second_words = _word_lists(fact)
    a = seeds.draw_one(rng, first_words)
    b = seeds.draw_one(rng, [word for word in second_words if word != a])
    return value_table().facts[fact].pattern.format(a, b)


def count_values(fact: str) -> int:
    """Return the number of possible values of a fact."""
    first_words, second_words = _word_lists(fact)
    return sum(a != b for a in first_words for b in second_words)


@cache
def _word_lists(fact: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    table = value_table()
    pair = table.facts[fact]
    first, second = (
        table.shared[words] if isinstance(words, str) else words
        for words in (pair.first, pair.second)
    )
    return first, second
