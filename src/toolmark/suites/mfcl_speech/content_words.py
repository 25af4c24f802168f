"""Which words of a wording carry its meaning, and which are function words. English only."""

from __future__ import annotations

from collections.abc import Sequence

from toolmark.core.data_files import DataRecord, read_table
from toolmark.language.canonical_tokens import Token

_MIN_STEM = 4  # least number of letters that two forms of a word share
_MIN_SHARED_SHARE = 0.6  # of the longer form


class ContentWords(DataRecord, frozen=True, kw_only=True):
    """The data file; its comments say what each table is for."""

    negations: frozenset[str]
    exclusions: frozenset[str]
    function_words: frozenset[str]
    confused_numbers: tuple[frozenset[str], ...]
    small_words: frozenset[str]
    ambiguous_words: frozenset[str]
    order_words: frozenset[str]
    negating_prefixes: frozenset[str]


def content_words() -> ContentWords:
    """Return the content of the data file."""
    return read_table(__file__, "content_words.toml", ContentWords)


def is_content_word(token: Token) -> bool:
    """Return whether a token is a word that carries meaning."""
    word, table = token.text, content_words()
    is_empty = word in table.function_words or word in table.negations
    return len(word) > 1 and word.isalpha() and not is_empty


def is_negation(tokens: Sequence[Token], n: int) -> bool:
    """Return whether a token is a negation or an exclusion; "no" before a number stands for it."""
    is_no_of_number = tokens[n].text == "no" and n + 1 < len(tokens) and bool(tokens[n + 1].values)
    table, word = content_words(), tokens[n].text
    return not is_no_of_number and (word in table.negations or word in table.exclusions)


def share_stem(one: str, other: str) -> bool:
    """Return whether two words are forms of one, by their first letters."""
    n_shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        n_shared += 1
    return n_shared >= max(
        min(_MIN_STEM, len(one), len(other)), _MIN_SHARED_SHARE * max(len(one), len(other))
    )
