"""Where the words of a query come from: the question, lettering, what else is seen, pages read."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias, get_args

from toolmark.suites.mfcl.vision import wording
from toolmark.suites.mfcl.vision.item import Mark, Truth

Origin: TypeAlias = Literal["question", "text", "visual", "pages", "other"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)

_WORD = re.compile(r"[^\W_]+")
_ALIKE = 0.75  # of the letters, in order: tulden / tuldan 0.83, lamp / camp 0.75
_LEAST = 4  # letters of a word that may be misread and still be known
_STOP_WORDS = (
    "a an and are as at be been but by did do does for from had has have how in into is it its of "
    "on or s t that the their them there these they this those to was were what when where which "
    "who whom whose why will with about many much site www http https com org wiki html"
)
_LOOKS = (
    "red blue green yellow black white orange purple brown grey gray pink gold golden silver beige "
    "dark light bright striped stripe stripes dotted plain shield circle circular round square "
    "diamond hexagon hexagonal triangle triangular rectangle rectangular oval star crescent moon "
    "anchor tree wave mountain arrow sun key leaf fish crown bolt lightning wheel tower drop "
    "emblem logo crest symbol icon badge flag sign signboard billboard poster banner plaque label "
    "jersey shirt kit bib ticket screen scoreboard board shelf window wall door street building "
    "facade left right middle wooden brick glass stone metal man woman people crowd car"
)
_SEEING = (
    "image picture photo photograph screenshot shown depicted pictured displayed visible seen "
    "attached above"
)
_SEES = re.compile(
    r"\b(?:in|on|from) (?:(?:the|this|that|my|your) )?(?:(?:attached|above|given|provided) )?"
    r"(?:image|picture|photo|photograph|screenshot)\b|"
    r"\b(?:attached|this) (?:image|picture|photo|photograph|screenshot)\b",
    re.IGNORECASE,
)
_STOPS = frozenset(_STOP_WORDS.split())


class Known(NamedTuple):
    """Words by where they stand: in the question, in lettering, in what else is seen."""

    question: frozenset[str]
    text: frozenset[str]
    visual: frozenset[str]


def split(text: str) -> list[str]:
    """Return the words that carry sense, in lower case, without accents and plural."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(c for c in plain if not unicodedata.combining(c)).replace("'", "")
    return [_stem(word) for word in _WORD.findall(bare) if word not in _STOPS]


def _stem(word: str) -> str:
    plural = word.endswith("s") and not word.endswith("ss") and len(word) > 3
    return word[:-1] if plural else word


SEEN = frozenset(map(_stem, _LOOKS.split()))
"""Words for what is seen and not read: colours, shapes, things, places in a picture."""
SHOWN = frozenset(map(_stem, _SEEING.split()))
"""Words for a picture and for what is in it: whoever asks of it speaks of them."""


def known(truth: Truth) -> Known:
    """Return the words of an item; of a word that stands in several places the first counts."""
    asked = frozenset(split(wording.question(truth.asked)))
    text = frozenset(word for mark in truth.marks for word in split(mark.text))
    drawn = frozenset(word for mark in truth.marks for word in split(mark.symbol))
    return Known(asked, text - asked, (drawn | SEEN) - text - asked)


def origin(word: str, held: Known, pages: frozenset[str] = frozenset()) -> Origin:
    """Return where a word of a query comes from; `pages` are the words of what was read before."""
    if word in held.question:
        return "question"
    if word in held.text:
        return "text"
    if word in SHOWN:
        return "question"
    if word in held.visual:
        return "visual"
    return "pages" if word in pages else "other"


def shares(counts: Sequence[Counter[Origin]]) -> dict[Origin, float]:
    """Return what share of the words comes from where, a mean over queries that have words."""
    filled = [count for count in counts if count.total()]
    if not filled:
        return {}
    return {
        name: sum(count[name] / count.total() for count in filled) / len(filled) for name in ORIGINS
    }


def sees(text: str) -> bool:
    """Tell whether a query speaks as if whoever answers it could see: "shown in the photo"."""
    return _SEES.search(text) is not None


def near(word: str, others: Iterable[str]) -> str:
    """Return the first other word that this one may be a misreading of, "" for none."""
    if len(word) < _LEAST:
        return ""
    for other in others:
        if other != word and len(other) >= _LEAST:
            alike = SequenceMatcher(None, word, other, autojunk=False)
            if alike.quick_ratio() >= _ALIKE and alike.ratio() >= _ALIKE:
                return other
    return ""


def of(mark: Mark) -> frozenset[str]:
    """Return the words of a sign, lettering and symbol."""
    return frozenset(split(f"{mark.text} {mark.symbol}"))
