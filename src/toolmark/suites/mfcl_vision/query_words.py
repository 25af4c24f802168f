"""Origins of the words of a query: question, lettering, appearance, pages read, or other."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias, get_args

from toolmark.suites.mfcl_vision import prompts
from toolmark.suites.mfcl_vision.item_records import ItemTruth, SignMark

Origin: TypeAlias = Literal["question", "text", "visual", "pages", "other"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)

_WORD = re.compile(r"[^\W_]+")
# Share of equal letters in order: tulden / tuldan 0.83, lamp / camp 0.75.
_MIN_SIMILARITY = 0.75
# Shorter words are never treated as misreadings of each other.
_MIN_LETTERS = 4
_STOP_WORDS = (
    "a an and are as at be been but by did do does for from had has have how in into is it its of "
    "on or s t that the their them there these they this those to was were what when where which "
    "who whom whose why will with about many much site www http https com org wiki html"
)
_APPEARANCE_TEXT = (
    "red blue green yellow black white orange purple brown grey gray pink gold golden silver beige "
    "dark light bright striped stripe stripes dotted plain shield circle circular round square "
    "diamond hexagon hexagonal triangle triangular rectangle rectangular oval star crescent moon "
    "anchor tree wave mountain arrow sun key leaf fish crown bolt lightning wheel tower drop "
    "emblem logo crest symbol icon badge flag sign signboard billboard poster banner plaque label "
    "jersey shirt kit bib ticket screen scoreboard board shelf window wall door street building "
    "facade left right middle wooden brick glass stone metal man woman people crowd car"
)
_IMAGE_TEXT = (
    "image picture photo photograph screenshot shown depicted pictured displayed visible seen "
    "attached above"
)
_IMAGE_MENTION = re.compile(
    r"\b(?:in|on|from) (?:(?:the|this|that|my|your) )?(?:(?:attached|above|given|provided) )?"
    r"(?:image|picture|photo|photograph|screenshot)\b|"
    r"\b(?:attached|this) (?:image|picture|photo|photograph|screenshot)\b",
    re.IGNORECASE,
)
_STOP_WORD_SET = frozenset(_STOP_WORDS.split())


class ItemWords(NamedTuple):
    """The words of an item by origin: the question, lettering, and other visible features."""

    question: frozenset[str]
    text: frozenset[str]
    visual: frozenset[str]


def split_content_words(text: str) -> list[str]:
    """Return the words that carry meaning, in lower case, without accents and plural endings."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    unaccented = "".join(c for c in plain if not unicodedata.combining(c)).replace("'", "")
    return [_singular(word) for word in _WORD.findall(unaccented) if word not in _STOP_WORD_SET]


def _singular(word: str) -> str:
    plural = word.endswith("s") and not word.endswith("ss") and len(word) > 3
    return word[:-1] if plural else word


APPEARANCE_WORDS = frozenset(map(_singular, _APPEARANCE_TEXT.split()))
"""Words for visual appearance: colours, shapes, objects, positions in a picture."""
IMAGE_WORDS = frozenset(map(_singular, _IMAGE_TEXT.split()))
"""Words for a picture and for being shown in one: any question about a picture uses them."""


def item_words(truth: ItemTruth) -> ItemWords:
    """Return the words of an item; a word with several origins counts for the first of them."""
    in_question = frozenset(split_content_words(prompts.question_text(truth.asked)))
    text = frozenset(word for mark in truth.marks for word in split_content_words(mark.text))
    symbols = frozenset(word for mark in truth.marks for word in split_content_words(mark.symbol))
    return ItemWords(
        in_question, text - in_question, (symbols | APPEARANCE_WORDS) - text - in_question
    )


def word_origin(word: str, item_terms: ItemWords, pages: frozenset[str] = frozenset()) -> Origin:
    """Return the origin of a word of a query; `pages` are the words of pages read before."""
    if word in item_terms.question:
        return "question"
    if word in item_terms.text:
        return "text"
    if word in IMAGE_WORDS:
        return "question"
    if word in item_terms.visual:
        return "visual"
    return "pages" if word in pages else "other"


def origin_shares(counts: Sequence[Counter[Origin]]) -> dict[Origin, float]:
    """Return the share of words per origin, as a mean over queries that have words."""
    filled = [count for count in counts if count.total()]
    if not filled:
        return {}
    return {
        name: sum(count[name] / count.total() for count in filled) / len(filled) for name in ORIGINS
    }


def mentions_image(text: str) -> bool:
    """Tell whether a query assumes that the search tool sees the picture: "shown in the photo"."""
    return _IMAGE_MENTION.search(text) is not None


def find_similar_word(word: str, others: Iterable[str]) -> str:
    """Return the first candidate that this word may be a misreading of, "" if there is none."""
    if len(word) < _MIN_LETTERS:
        return ""
    for candidate in others:
        if candidate != word and len(candidate) >= _MIN_LETTERS:
            matcher = SequenceMatcher(None, word, candidate, autojunk=False)
            if matcher.quick_ratio() >= _MIN_SIMILARITY and matcher.ratio() >= _MIN_SIMILARITY:
                return candidate
    return ""


def sign_words(mark: SignMark) -> frozenset[str]:
    """Return the words of a sign's lettering and symbol."""
    return frozenset(split_content_words(f"{mark.text} {mark.symbol}"))
