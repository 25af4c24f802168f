"""How recognisers write: case, punctuation, digits, spelled letters, fillers."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from toolmark.core.data_files import DataRecord
from toolmark.language import normalised_words

_QUESTION_TEXT = (
    "what when where which who whose why how can could is are do does did will would should"
)
_QUESTION_WORDS = frozenset(_QUESTION_TEXT.split())


class TranscriptStyle(DataRecord, frozen=True, kw_only=True):
    """The style of a recogniser's text; `letter_joiner` joins letters ("": L I A M with spaces)."""

    cased: bool = False
    punctuated: bool = False
    writes_digits: bool = False
    letter_joiner: str = " "
    fillers: bool = False


def render_transcript(
    heard: Sequence[str], style: TranscriptStyle, names: Collection[str] = ()
) -> str:
    """Return the words as this style writes them; `normalise_words` gives the words back.

    `names` get a capital letter if the style is cased. Fillers are an exception: a style without
    fillers leaves them out.
    """
    written_words = [
        word for word in heard if style.fillers or word not in normalised_words.FILLER_WORDS
    ]
    if not written_words:
        return ""
    is_question = written_words[0] in _QUESTION_WORDS
    if style.writes_digits:
        written_words = normalised_words.write_digits(written_words)
    parts = list(_join_letters(written_words, style))
    if style.cased:
        parts = [_apply_case(word, names) for word in parts]
        parts[0] = parts[0][:1].upper() + parts[0][1:]
    return " ".join(parts) + (("?" if is_question else ".") if style.punctuated else "")


def _join_letters(heard: Sequence[str], style: TranscriptStyle) -> Iterator[str]:
    """Yield the words, with consecutive single letters joined into one word."""
    for letter, group in itertools.groupby(heard, lambda word: len(word) == 1 and word.isalpha()):
        row = list(group)
        if letter and len(row) > 1:
            yield style.letter_joiner.join(word.upper() if style.cased else word for word in row)
        else:
            yield from row


def _apply_case(word: str, names: Collection[str]) -> str:
    if word == "i" or word.startswith("i'"):
        return word[:1].upper() + word[1:]
    return word[:1].upper() + word[1:] if word in names else word
