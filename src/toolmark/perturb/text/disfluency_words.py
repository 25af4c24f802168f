"""The words of disfluencies (`disfluencies.toml`)."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from toolmark.core.data_files import DataRecord, read_table
from toolmark.language.value_words import value_words


class DisfluencyWords(DataRecord, frozen=True, kw_only=True):
    """The data file; its comments say what each table is for."""

    fillers: tuple[str, ...]
    hesitations: tuple[str, ...]
    markers: tuple[str, ...]
    filler_like_words: frozenset[str]
    repairs: tuple[str, ...]
    false_starts: tuple[str, ...]
    break_offs: tuple[str, ...]
    greetings: frozenset[str]
    unrestartable_words: frozenset[str]
    function_words: frozenset[str]
    determiners: frozenset[str]
    clause_openers: frozenset[str]
    main_clause_openers: frozenset[str]
    other_verbs: frozenset[str]
    words_before_verbs: frozenset[str]
    other_common_words: frozenset[str]
    day_and_month_names: frozenset[str]
    sign_words: frozenset[str]
    elongations: dict[str, str]
    slips: dict[str, str]
    contractions: dict[str, str]
    slang: dict[str, str]
    casual_pronouns: dict[str, str]
    simpler_words: dict[str, str]
    weights: dict[str, float]


class Contraction(NamedTuple):
    """The words of a full form, in lower case, and the contraction."""

    full: tuple[str, ...]
    short: str


def disfluency_words() -> DisfluencyWords:
    """Return the content of the data file."""
    return read_table(__file__, "disfluencies.toml", DisfluencyWords)


@cache
def contractions() -> tuple[Contraction, ...]:
    """Return the casual contractions in order."""
    table = disfluency_words().contractions
    return tuple(Contraction(tuple(full.split()), short) for full, short in table.items())


@cache
def verbs() -> frozenset[str]:
    """Return the verbs that may follow "going to"."""
    return value_words().imperative_verbs | disfluency_words().other_verbs


@cache
def common_words() -> frozenset[str]:
    """Return the words that have no capital inside a sentence."""
    words = disfluency_words()
    openers = words.clause_openers | words.main_clause_openers
    others = words.function_words | words.other_common_words
    return value_words().imperative_verbs | openers | others
