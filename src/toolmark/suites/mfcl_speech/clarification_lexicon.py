"""The words of a question that only checks what was heard, and the words that name topics."""

from __future__ import annotations

from functools import cache

from toolmark.core.data_files import DataRecord, read_table
from toolmark.language.value_words import MONTH_NAMES


class ClarificationLexicon(DataRecord, frozen=True, kw_only=True):
    """The data file; its comments say what each table is for."""

    checking_words: frozenset[str]
    request_subjects: frozenset[str]
    person_topics: frozenset[str]
    place_topics: frozenset[str]
    common_name_parts: frozenset[str]
    symbol_words: frozenset[str]
    synonym_groups: tuple[frozenset[str], ...]
    nouns_of_kind: dict[str, frozenset[str]]


def lexicon() -> ClarificationLexicon:
    """Return the content of the data file."""
    return read_table(__file__, "clarification_lexicon.toml", ClarificationLexicon)


def nouns_of(kind: str) -> frozenset[str]:
    """Return the nouns that mean any topic of a kind; none for an unknown kind."""
    return lexicon().nouns_of_kind.get(kind, frozenset())


@cache
def never_misheard_words() -> frozenset[str]:
    """Return the words that are never a misheard value."""
    words = lexicon()
    nouns = frozenset[str]().union(*words.nouns_of_kind.values())
    return words.checking_words | words.request_subjects | nouns - frozenset(MONTH_NAMES)
