"""Openings of requests, and names whose spelling a listener cannot know (`request_words.toml`)."""

from __future__ import annotations

from toolmark.core.data_files import DataRecord, read_table
from toolmark.language import spoken_letters


class RequestWords(DataRecord, frozen=True):
    """The data file: what comes before an imperative, and names with several common spellings."""

    openings: tuple[str, ...]
    names_with_variants: frozenset[str]


def request_words() -> RequestWords:
    """Return the content of the data file."""
    return read_table(__file__, "request_words.toml", RequestWords)


def needs_spelling(name: str) -> bool:
    """Return whether a name must be spelled out: it is unknown or has several spellings."""
    has_variants = name in request_words().names_with_variants
    return has_variants or not spoken_letters.is_dictionary_word(name)
