"""Stems of the words of a text, as far as matching questions with tools needs them."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ENDINGS = ("ing", "ies", "ed", "es", "e", "s")
_MIN_STEM_CHARS = 3
_COMMON_WORDS = (
    "a an the of to in on at for from by with and or is are was be i me my you your it its this "
    "that these what which who how when where can could would should please do does if as find get "
    "give tell show need want function"
)
_STOP_WORDS = frozenset(_COMMON_WORDS.split())


def word_stems(text: str) -> set[str]:
    """Return the stems of the words of a text or a name, without common words."""
    words = (found[0].lower() for found in _WORD.finditer(text))
    return {_stem_word(word) for word in words if word not in _STOP_WORDS}


def _stem_word(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM_CHARS:
            return word[: -len(ending)]
    return word
