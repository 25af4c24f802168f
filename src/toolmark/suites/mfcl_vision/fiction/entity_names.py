"""Names of entities by kind, in tribes of names that are easy to confuse."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from msgspec import Meta

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.suites.mfcl_vision.fiction.invented_words import WordMaker, word_beginning

# Names that share a word or their first letters: six look-alikes for each name.
TRIBE_SIZE = 7


class NamePattern(DataRecord, frozen=True):
    """How a kind is named: {A} is an invented word, {B} one of the words, or of the given names."""

    pattern: Annotated[str, Meta(pattern=placeholders("A", "B"))]
    words: tuple[str, ...] = ()
    given_names: bool = False


class NameTable(DataRecord, frozen=True):
    """The data file: given names, names without a page by fact, patterns by kind."""

    women: tuple[str, ...]
    men: tuple[str, ...]
    coined: dict[str, tuple[Annotated[str, Meta(pattern=placeholders("A"))], ...]]
    kinds: dict[str, NamePattern]


def name_table() -> NameTable:
    """Return the content of the data file."""
    return read_table(__file__, "entity_names.toml", NameTable)


class EntityName(NamedTuple):
    """A name, its invented word, and the number of its tribe."""

    name: str
    word: str
    tribe: int


def draw_names(
    rng: random.Random, word_maker: WordMaker, kind: str, n: int
) -> Iterator[EntityName]:
    """Yield n names of a kind."""
    pattern, listed_words = _name_pattern(kind)
    for tribe, start in enumerate(range(0, n, TRIBE_SIZE)):
        for word, listed_word in _draw_tribe(
            rng, word_maker, listed_words, min(TRIBE_SIZE, n - start)
        ):
            yield EntityName(pattern.format(A=word, B=listed_word), word, tribe)


def draw_single_name(rng: random.Random, word_maker: WordMaker, kind: str) -> str:
    """Return a name in the pattern of a kind that belongs to no tribe."""
    pattern, listed_words = _name_pattern(kind)
    return pattern.format(A=word_maker.make_word(), B=seeds.draw_one(rng, listed_words))


def draw_coined_name(rng: random.Random, word_maker: WordMaker, fact: str) -> str:
    """Return a name that a fact states, of something without a page."""
    pattern = seeds.draw_one(rng, name_table().coined[fact])
    return pattern.format(A=word_maker.make_word())


def _name_pattern(kind: str) -> tuple[str, tuple[str, ...]]:
    """Return a kind's pattern and the words for {B}, one empty word where there are none."""
    table = name_table()
    found = table.kinds[kind]
    words = (*table.women, *table.men) if found.given_names else found.words
    return found.pattern, words or ("",)


def _draw_tribe(
    rng: random.Random, word_maker: WordMaker, listed_words: Sequence[str], n: int
) -> Iterator[tuple[str, str]]:
    """Yield n names: every other one begins like the first, the others share its listed word."""
    first_word, shared = word_maker.make_word(), seeds.draw_one(rng, listed_words)
    yield first_word, shared
    others = [word for word in listed_words if word != shared] or [shared]
    for i in range(1, n):
        begins_alike = i % 2 == 1 or not shared
        invented = word_maker.make_word(word_beginning(first_word) if begins_alike else "")
        yield invented, seeds.draw_one(rng, others) if begins_alike else shared
