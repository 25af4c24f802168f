"""How recognisers write what they heard: cases, punctuation, digits, spelled letters, fillers."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from toolmark.perturb.hear import words

_ASKING = "what when where which who whose why how can could is are do does did will would should"
_QUESTIONS = frozenset(_ASKING.split())


class Style(NamedTuple):
    """What a recogniser's text looks like; `spelled` joins letters ("" is L I A M with spaces)."""

    cased: bool = False
    stops: bool = False
    digits: bool = False
    spelled: str = " "
    fillers: bool = False


def text(heard: Sequence[str], style: Style, names: Collection[str] = ()) -> str:
    """Return the words as this style writes them; `words.words` of it are the words again.

    `names` are written with a capital where the style has cases. Fillers are the exception: a
    style without them leaves them out.
    """
    kept = [word for word in heard if style.fillers or word not in words.FILLERS]
    if not kept:
        return ""
    asks = kept[0] in _QUESTIONS
    if style.digits:
        kept = words.digits(kept)
    shown = list(_joined(kept, style))
    if style.cased:
        shown = [_cased(word, names) for word in shown]
        shown[0] = shown[0][:1].upper() + shown[0][1:]
    return " ".join(shown) + (("?" if asks else ".") if style.stops else "")


def _joined(kept: Sequence[str], style: Style) -> Iterator[str]:
    """Go through the words, rows of letters written as one."""
    for letter, group in itertools.groupby(kept, lambda word: len(word) == 1 and word.isalpha()):
        row = list(group)
        if letter and len(row) > 1:
            yield style.spelled.join(word.upper() if style.cased else word for word in row)
        else:
            yield from row


def _cased(word: str, names: Collection[str]) -> str:
    if word == "i" or word.startswith("i'"):
        return word[:1].upper() + word[1:]
    return word[:1].upper() + word[1:] if word in names else word
