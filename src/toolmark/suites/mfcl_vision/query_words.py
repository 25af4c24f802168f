"""Origins of the words of a query: question, lettering, appearance, pages read, or other."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Literal, NamedTuple, TypeAlias, get_args

from toolmark.core.data_files import DataRecord, read_table
from toolmark.suites.mfcl_vision import prompts
from toolmark.suites.mfcl_vision.item_records import ItemTruth, SignMark

Origin: TypeAlias = Literal["question", "text", "visual", "pages", "other"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)

_WORD = re.compile(r"[^\W_]+")
# Share of equal letters in order: tulden / tuldan 0.83, lamp / camp 0.75.
_MIN_SIMILARITY = 0.75
# Shorter words are never treated as misreadings of each other.
_MIN_LETTERS = 4
_IMAGE_MENTION = re.compile(
    r"\b(?:in|on|from) (?:(?:the|this|that|my|your) )?(?:(?:attached|above|given|provided) )?"
    r"(?:image|picture|photo|photograph|screenshot)\b|"
    r"\b(?:attached|this) (?:image|picture|photo|photograph|screenshot)\b",
    re.IGNORECASE,
)


class QueryWords(DataRecord, frozen=True):
    """The data file: words without meaning, and words for appearance and for pictures."""

    stop_words: frozenset[str]
    appearance: frozenset[str]
    image: frozenset[str]


def query_words() -> QueryWords:
    """Return the content of the data file."""
    return read_table(__file__, "query_words.toml", QueryWords)


class ItemWords(NamedTuple):
    """The words of an item by origin: the question, lettering, and other visible features."""

    question: frozenset[str]
    text: frozenset[str]
    visual: frozenset[str]


def split_content_words(text: str) -> list[str]:
    """Return the words that carry meaning, in lower case, without accents and plural endings."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    unaccented = "".join(c for c in plain if not unicodedata.combining(c)).replace("'", "")
    stop_words = query_words().stop_words
    return [_singular(word) for word in _WORD.findall(unaccented) if word not in stop_words]


def _singular(word: str) -> str:
    plural = word.endswith("s") and not word.endswith("ss") and len(word) > 3
    return word[:-1] if plural else word


@cache
def appearance_words() -> frozenset[str]:
    """Return words for visual appearance: colours, shapes, objects, positions in a picture."""
    return frozenset(map(_singular, query_words().appearance))


@cache
def image_words() -> frozenset[str]:
    """Return words for a picture and for being shown in one."""
    return frozenset(map(_singular, query_words().image))


def item_words(truth: ItemTruth) -> ItemWords:
    """Return the words of an item; a word with several origins counts for the first of them."""
    in_question = frozenset(split_content_words(prompts.question_text(truth.question)))
    text = frozenset(word for mark in truth.marks for word in split_content_words(mark.text))
    symbols = frozenset(word for mark in truth.marks for word in split_content_words(mark.symbol))
    return ItemWords(
        in_question, text - in_question, (symbols | appearance_words()) - text - in_question
    )


def word_origin(word: str, item_terms: ItemWords, pages: frozenset[str] = frozenset()) -> Origin:
    """Return the origin of a word of a query; `pages` are the words of pages read before."""
    if word in item_terms.question:
        return "question"
    if word in item_terms.text:
        return "text"
    if word in image_words():
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
