"""Invented words: pronounceable, easy to distinguish on signs, none of them a known name.

Two words of a world differ by at least two letters, so that one misread letter never leads to
another entity. Pairs of letters that look like another letter (rn, cl, vv) do not occur.
"""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Annotated

from toolmark.core import seeds
from toolmark.core.data_files import WEIGHTED, DataRecord, read_table

_MAX_TRIES = 2_000
_LENGTHS = range(6, 9)


class WordParts(DataRecord, frozen=True):
    """The data file: the parts of words, and what words must not contain or resemble.

    `confusable` are pairs of letters that look like another letter.
    """

    onsets: tuple[str, ...]
    vowels: Annotated[tuple[str, ...], WEIGHTED]
    middle_consonants: Annotated[tuple[str, ...], WEIGHTED]
    endings: tuple[str, ...]
    confusable: frozenset[str]
    offensive: frozenset[str]
    known_names: frozenset[str]


def word_parts() -> WordParts:
    """Return the content of the data file."""
    return read_table(__file__, "invented_words.toml", WordParts)


@cache
def _unfit_pattern() -> re.Pattern[str]:
    parts = word_parts()
    return re.compile("|".join(sorted(parts.confusable | parts.offensive)))


class WordMaker:
    """Makes words; none is used twice, and none is similar to another one or to a known name."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._taken_shadows: set[str] = set()
        for word in sorted(word_parts().known_names):
            self._taken_shadows.update(_one_letter_deletions(word))

    def make_word(self, head: str = "") -> str:
        """Return a capitalised word, which begins with `head` if possible.

        Raises ValueError if no more words are found.
        """
        for attempt in range(_MAX_TRIES):
            candidate = self._assemble_word(head if attempt < _MAX_TRIES // 2 else "")
            if (
                len(candidate) in _LENGTHS
                and not _unfit_pattern().search(candidate)
                and self._claim_word(candidate)
            ):
                return candidate.capitalize()
        raise ValueError("no more words: draw a smaller world")

    def _assemble_word(self, head: str) -> str:
        rng, parts = self._rng, word_parts()
        start = (head or seeds.draw_one(rng, parts.onsets)) + seeds.draw_one(rng, parts.vowels)
        middle = seeds.draw_one(rng, parts.middle_consonants)
        if seeds.draw_below(rng, 2):
            middle += seeds.draw_one(rng, parts.vowels) + seeds.draw_one(
                rng, parts.middle_consonants
            )
        return start + middle + seeds.draw_one(rng, parts.endings)

    def _claim_word(self, word: str) -> bool:
        shadows = _one_letter_deletions(word)
        if not self._taken_shadows.isdisjoint(shadows):
            return False
        self._taken_shadows.update(shadows)
        return True


def word_beginning(word: str) -> str:
    """Return the beginning of a word up to one letter after its first vowel.

    Names with the same beginning are similar.
    """
    found = re.match(r"[^aeiou]*[aeiou][^aeiou]?", word.lower())
    return found[0] if found else word[:3].lower()


def _one_letter_deletions(word: str) -> set[str]:
    """Return the word, and the word without each letter.

    Two words whose sets have nothing in common differ by at least two letters.
    """
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}
