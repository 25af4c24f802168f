"""Draw recognition errors: from the spoken words to the heard words.

The model has two states: after an error the next word is more likely to be wrong. An error deletes
the word, inserts one, or replaces it. A replacement is a confusable letter, number or symbol,
another function word, two words, one word for this word and the next, else a word that sounds
similar and fits after the previous one.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolmark.core.data_files import DataRecord
from toolmark.perturb.hearing import phone_distances
from toolmark.perturb.hearing.pronunciation_lexicon import Lexicon, load_lexicon
from toolmark.perturb.hearing.simulated.confusion_tables import (
    confusion_table,
    letter_confusions,
)

Floats = NDArray[np.float64]
# shares of the replacements that take two words, or a run of letters
_MERGE_SHARE = 0.10
_LETTER_RUN_SHARE = 0.15
# shares of the replacements that give two words: per phone after the second; unknown words
_SPLIT_SHARE_PER_PHONE = 0.11
_UNKNOWN_SPLIT_SHARE = 0.20
_MAX_SPLIT_SHARE = 0.7


class ErrorManner(DataRecord, frozen=True, kw_only=True):
    """How a recogniser errs: shares of deleted and inserted words, and the weights of its choices.

    `after_error` is added to the chance of the next error. `distance_weight` and `language_weight`
    are the weights of the phone distance and of the language model's log probability when a word is
    heard as another.
    """

    deletion_share: float
    insertion_share: float
    after_error: float
    distance_weight: float
    language_weight: float


class DrawnWord(NamedTuple):
    """A heard word, and the range [first, last) of spoken words that it replaces."""

    text: str
    first: int
    last: int


def draw_heard_words(
    spoken: Sequence[str],
    chances: Floats,
    draws: Floats,
    manner: ErrorManner,
    pronunciations: Lexicon,
) -> list[DrawnWord]:
    """Return the heard words, given the chance of an error and the draws of each spoken word.

    `draws` is (n, 4) in [0, 1): whether there is an error, its kind, its form, and which word. A
    heard word never depends on draws of later words outside its own error.
    """
    heard: list[DrawnWord] = []
    run = _letters_from_here(spoken)
    at, erred = 0, False
    while at < len(spoken):
        error_draw, kind, form, word_draw = draws[at]
        chance = chances[at]
        if erred and chance > 0:
            chance = min(chance + manner.after_error * min(1.0, chance * 6), 0.97)
        erred = bool(error_draw < chance)
        before = heard[-1].text if heard else ""
        if not erred:
            heard.append(DrawnWord(spoken[at], at, at + 1))
            at += 1
            continue
        n_taken, words = _draw_mistake(
            spoken, at, run[at], before, (kind, form, word_draw), manner, pronunciations
        )
        heard += [DrawnWord(word, at, at + n_taken) for word in words.split()]
        at += n_taken
    return heard


def letter_mask(spoken: Sequence[str]) -> list[bool]:
    """Return for each word whether it is a letter: in a run, or alone except "a" and "i"."""
    return [size > 1 or (size == 1 and word not in ("a", "i"))
            for word, size in zip(spoken, _letter_row_lengths(spoken), strict=True)]  # fmt: skip


def _draw_mistake(
    spoken: Sequence[str],
    at: int,
    run: int,
    before: str,
    draw: tuple[float, float, float],
    manner: ErrorManner,
    pronunciations: Lexicon,
) -> tuple[int, str]:
    """Return how many words the error takes and what is heard instead, which may be ""."""
    kind, form, word_draw = draw
    word, confusions = spoken[at], confusion_table()
    is_function_word = word in confusions.function_words
    loss_share = manner.deletion_share * (1.8 if is_function_word else 0.7)
    if kind < loss_share:
        return 1, ""
    if kind > 1 - manner.insertion_share:
        return 1, f"{word} {_other_function_word(word, word_draw)}"
    if run:
        return _confuse_letter(spoken, at, run, form, word_draw, pronunciations)
    if (
        table := confusions.numbers.get(word) or confusions.symbols.get(word)
    ) is not None and form < 0.8:
        return 1, table[int(word_draw * word_draw * len(table))].lower()
    if form < _MERGE_SHARE and at + 1 < len(spoken) and len(spoken[at + 1]) > 1:
        sounds = [*pronunciations.sounds(word), *pronunciations.sounds(spoken[at + 1])]
        if len(sounds) <= 12:
            return 2, _similar_word(sounds, word, before, word_draw, manner, pronunciations)
    if is_function_word:
        return 1, _other_function_word(word, form / 2 + word_draw / 2)
    sounds = list(pronunciations.sounds(word))
    if len(sounds) >= 3 and form > 1 - _split_share(word, len(sounds), pronunciations):
        half = len(sounds) // 2
        first = _similar_word(sounds[:half], word, before, word_draw, manner, pronunciations)
        return (
            1,
            (
                f"{first} "
                f"{_similar_word(sounds[half:], word, first, word_draw, manner, pronunciations)}"
            ),
        )
    return 1, _similar_word(sounds, word, before, word_draw, manner, pronunciations)


def _split_share(word: str, n: int, pronunciations: Lexicon) -> float:
    """Return the share of replacements by two words: highest for long and unknown words."""
    return min(
        _SPLIT_SHARE_PER_PHONE * (n - 2)
        + (0.0 if word in pronunciations else _UNKNOWN_SPLIT_SHARE),
        _MAX_SPLIT_SHARE,
    )


def _confuse_letter(
    spoken: Sequence[str], at: int, run: int, form: float, word_draw: float, pronunciations: Lexicon
) -> tuple[int, str]:
    """Return a similar letter, a word, or for a run of letters the word that it spells."""
    letter = spoken[at]
    if form < _LETTER_RUN_SHARE and run > 2:
        spelled = "".join(spoken[at : at + run])[:12]
        near = pronunciations.similar_words(pronunciations.sounds(spelled).tobytes())[:5]
        return run, spelled if spelled in pronunciations else near[int(word_draw * len(near))][0]
    letter_words = confusion_table().letter_words
    if form > 0.7 and letter in letter_words:
        return 1, letter_words[letter]
    others = letter_confusions().get(letter) or (letter_words.get(letter, letter),)
    return 1, others[int(word_draw * len(others))]


def _similar_word(
    sounds: Sequence[int],
    word: str,
    before: str,
    word_draw: float,
    manner: ErrorManner,
    pronunciations: Lexicon,
) -> str:
    """Return a word that sounds like these phones and fits after the previous word."""
    near = pronunciations.similar_words(bytes(sounds))
    options = [(other, far) for other, far in near if other != word and other != before]
    n = math.sqrt(max(len(sounds), 1))
    logs = [
        manner.language_weight * pronunciations.log_probability(other, before)
        - manner.distance_weight * far / n
        - (2.0 if far < 0.05 else 0.0)  # context decides between most words of equal sound
        for other, far in options
    ]
    return _pick_by_log_weight([other for other, _ in options], logs, word_draw) or word


def _other_function_word(word: str, word_draw: float) -> str:
    """Return another function word; similar ones are more likely."""
    return _pick_by_log_weight(*_function_word_options(word), word_draw)


@functools.lru_cache(maxsize=4096)
def _function_word_options(word: str) -> tuple[list[str], list[float]]:
    """Return the other function words, and the logs of their shares."""
    sounds = load_lexicon().sounds
    others = [other for other in confusion_table().function_words if other != word]
    return others, [
        -4.0 * phone_distances.word_distance(sounds(word), sounds(other)) for other in others
    ]


def _pick_by_log_weight(options: Sequence[str], logs: Sequence[float], word_draw: float) -> str:
    if not options:
        return ""
    top = max(logs)
    sums = list(itertools.accumulate(math.exp(each - top) for each in logs))
    threshold = word_draw * sums[-1]
    return next((o for o, s in zip(options, sums, strict=True) if s > threshold), options[-1])


def _letters_from_here(spoken: Sequence[str]) -> list[int]:
    """Return for each letter the length of the run that starts there; 0 for words."""
    sizes = [0] * (len(spoken) + 1)
    for i in range(len(spoken) - 1, -1, -1):
        sizes[i] = sizes[i + 1] + 1 if len(spoken[i]) == 1 and spoken[i].isalpha() else 0
    marked = letter_mask(spoken)
    return [size if mark else 0 for size, mark in zip(sizes, marked, strict=False)]


def _letter_row_lengths(spoken: Sequence[str]) -> list[int]:
    """Return for each word the length of the run of single letters around it; 0 for others."""
    lengths: list[int] = []
    for single, group in itertools.groupby(len(w) == 1 and w.isalpha() for w in spoken):
        size = len(list(group))
        lengths += [size if single else 0] * size
    return lengths
