"""Mistakes: from the words that were said to the words that are heard.

Two-state gate: after a mistake the next word errs more easily. A mistake loses the word, puts
one in, or replaces it: by a confusable letter, number or symbol, by another small word, by two
words or together with the next word by one, else by a word that sounds like it and fits after
the one before.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolmark.perturb.hear.simulated import phones, tables
from toolmark.perturb.hear.simulated.lexicon import Lexicon, lexicon

Floats = NDArray[np.float64]
_SMALL = frozenset(tables.SMALL)
_MERGED, _RUN = 0.10, 0.15  # shares of the replacements that take two words, or a row of letters
_SPLIT, _STRANGE = 0.11, 0.20  # of those that make two: per phone after the second; unknown words
_MOST_SPLIT = 0.7


class Manner(NamedTuple):
    """How a recogniser errs: shares of lost and put-in words, what follows an error, its taste.

    `after` is added to the chance of the next error; `sound` and `fit` weigh distance in sound and
    the language model's log probability when a word is heard for another.
    """

    lost: float
    added: float
    after: float
    sound: float
    fit: float


class Heard(NamedTuple):
    """A heard word, and the words of the reference that it stands for: [first, last)."""

    text: str
    first: int
    last: int


def mistakes(
    said: Sequence[str], chances: Floats, draws: Floats, manner: Manner, book: Lexicon
) -> list[Heard]:
    """Return what is heard of the words, given each one's chance of an error and its draws.

    `draws` is (n, 4) in [0, 1): whether, of what kind, in what form, and which. Words beyond a
    single error's reach never depend on draws of later ones.
    """
    heard: list[Heard] = []
    run = _runs(said)
    at, erred = 0, False
    while at < len(said):
        whether, kind, form, which = draws[at]
        chance = chances[at]
        if erred and chance > 0:
            chance = min(chance + manner.after * min(1.0, chance * 6), 0.97)
        erred = bool(whether < chance)
        before = heard[-1].text if heard else ""
        if not erred:
            heard.append(Heard(said[at], at, at + 1))
            at += 1
            continue
        taken, words = _mistake(said, at, run[at], before, (kind, form, which), manner, book)
        heard += [Heard(word, at, at + taken) for word in words.split()]
        at += taken
    return heard


def letters(said: Sequence[str]) -> list[bool]:
    """Tell of each word whether it is a letter: one alone but "a" and "i", or several in a row."""
    return [size > 1 or (size == 1 and word not in ("a", "i"))
            for word, size in zip(said, _lengths(said), strict=True)]  # fmt: skip


def _mistake(
    said: Sequence[str],
    at: int,
    run: int,
    before: str,
    draw: tuple[float, float, float],
    manner: Manner,
    book: Lexicon,
) -> tuple[int, str]:
    """Return how many words were taken and what was heard instead, maybe ""."""
    kind, form, which = draw
    word = said[at]
    lost = manner.lost * (1.8 if word in _SMALL else 0.7)
    if kind < lost:
        return 1, ""
    if kind > 1 - manner.added:
        return 1, f"{word} {_small(word, which)}"
    if run:
        return _letter(said, at, run, form, which, book)
    if (table := tables.NUMBERS.get(word) or tables.SYMBOLS.get(word)) is not None and form < 0.8:
        return 1, table[int(which * which * len(table))].lower()
    if form < _MERGED and at + 1 < len(said) and len(said[at + 1]) > 1:
        sounds = [*book.sounds(word), *book.sounds(said[at + 1])]
        if len(sounds) <= 12:
            return 2, _like(sounds, word, before, which, manner, book)
    if word in _SMALL:
        return 1, _small(word, form / 2 + which / 2)
    sounds = list(book.sounds(word))
    if len(sounds) >= 3 and form > 1 - _split(word, len(sounds), book):
        half = len(sounds) // 2
        first = _like(sounds[:half], word, before, which, manner, book)
        return 1, f"{first} {_like(sounds[half:], word, first, which, manner, book)}"
    return 1, _like(sounds, word, before, which, manner, book)


def _split(word: str, n: int, book: Lexicon) -> float:
    """Return the share of a word's replacements that are two words: long and strange ones' most."""
    return min(_SPLIT * (n - 2) + (0.0 if word in book else _STRANGE), _MOST_SPLIT)


def _letter(
    said: Sequence[str], at: int, run: int, form: float, which: float, book: Lexicon
) -> tuple[int, str]:
    """Return a letter that sounds alike, a word, or for a run of letters the word it spells."""
    letter = said[at]
    if form < _RUN and run > 2:
        spelled = "".join(said[at : at + run])[:12]
        near = book.near(book.sounds(spelled).tobytes())[:5]
        return run, spelled if spelled in book else near[int(which * len(near))][0]
    if form > 0.7 and letter in tables.LETTER_WORDS:
        return 1, tables.LETTER_WORDS[letter]
    others = tables.LETTERS.get(letter) or (tables.LETTER_WORDS.get(letter, letter),)
    return 1, others[int(which * len(others))]


def _like(
    sounds: Sequence[int],
    word: str,
    before: str,
    which: float,
    manner: Manner,
    book: Lexicon,
) -> str:
    """Return a word that sounds like these phones and fits after the word before."""
    near = book.near(bytes(sounds))
    options = [(other, far) for other, far in near if other != word and other != before]
    n = math.sqrt(max(len(sounds), 1))
    logs = [manner.fit * book.likely(other, before) - manner.sound * far / n
            - (2.0 if far < 0.05 else 0.0)  # context tells most words of equal sound apart
            for other, far in options]  # fmt: skip
    return _pick([other for other, _ in options], logs, which) or word


def _small(word: str, which: float) -> str:
    """Return another small word, nearer ones likelier."""
    return _pick(*_others(word), which)


@functools.lru_cache(maxsize=4096)
def _others(word: str) -> tuple[list[str], list[float]]:
    """Return the other small words, and the logs of their shares."""
    sounds = lexicon().sounds
    others = [other for other in tables.SMALL if other != word]
    return others, [-4.0 * phones.apart(sounds(word), sounds(other)) for other in others]


def _pick(options: Sequence[str], logs: Sequence[float], which: float) -> str:
    if not options:
        return ""
    top = max(logs)
    sums = list(itertools.accumulate(math.exp(each - top) for each in logs))
    wanted = which * sums[-1]
    return next((o for o, s in zip(options, sums, strict=True) if s > wanted), options[-1])


def _runs(said: Sequence[str]) -> list[int]:
    """Return for each letter how many letters from there on stand in a row; 0 for words."""
    sizes = [0] * (len(said) + 1)
    for i in range(len(said) - 1, -1, -1):
        sizes[i] = sizes[i + 1] + 1 if len(said[i]) == 1 and said[i].isalpha() else 0
    marked = letters(said)
    return [size if mark else 0 for size, mark in zip(sizes, marked, strict=False)]


def _lengths(said: Sequence[str]) -> list[int]:
    """Return for each word the length of the row of single letters around it, 0 for others."""
    lengths: list[int] = []
    for single, group in itertools.groupby(len(w) == 1 and w.isalpha() for w in said):
        size = len(list(group))
        lengths += [size if single else 0] * size
    return lengths
