"""Cut foreign text into the pieces that values are read from: numbers, words, signs.

The time is linear in the text. The lexer of speech (`text_lexer`) decides how each piece is said
from what stands near it. This one decides nothing, so that a value is read as it is written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from toolmark.language.written_tables import name_words

Kind: TypeAlias = Literal["number", "word", "sign"]


class ValueToken(NamedTuple):
    """One piece of a text.

    - `kind`: a number has digits, a word letters; each other character is a sign.
    - `text`: as written. `folded`: without case, accents and points, for comparison.
    - `start`, `end`: the span in characters.
    - `glued`: whether it touches the piece before. `new_line`: whether a line begins with it.
    """

    kind: Kind
    text: str
    folded: str
    start: int
    end: int
    glued: bool
    new_line: bool


_SPACES = " \u00a0\u2009\u202f"
# each group of three digits is judged where it ends: judged at the end of all groups, 1'234'567'8
# would be read anew from each of them
_GROUP_END = r"(?!\d|['’](?!\d{3}(?!\d))\d)"
_PIECE = re.compile(
    rf"(?P<number>\d{{1,3}}(?:[{_SPACES}'’]\d{{3}}{_GROUP_END})+(?:[.,]\d+)?|\d+(?:[.,_]\d+)*)"
    r"|(?P<word>[^\W\d_⁰¹²³⁴-⁹½¼¾⅐-⅞]+(?:['’][^\W\d_⁰¹²³⁴-⁹½¼¾⅐-⅞]+)*)"
    r"|(?P<sign>\S)"
)


def cut_values(text: str) -> list[ValueToken]:
    """Return the pieces of a text in order, without spaces."""
    tokens: list[ValueToken] = []
    end = 0
    for found in _PIECE.finditer(text):
        piece = found.group()
        kind: Kind = "number" if found["number"] else "word" if found["word"] else "sign"
        new_line = not tokens or "\n" in text[end : found.start()]
        glued = bool(tokens) and end == found.start()
        tokens.append(
            ValueToken(kind, piece, fold_text(piece), found.start(), found.end(), glued, new_line)
        )
        end = found.end()
    return tokens


def plain_text(text: str) -> str:
    """Return a text with letters in one piece and full-width characters as usual ones."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text).translate(_FULL_WIDTH)


_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def fold_text(text: str) -> str:
    """Return a text without case, accents and typographic apostrophes."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text.replace("’", "'")).casefold()
    plain = _plain_letters()
    return "".join(plain.get(c, c) for c in folded if not unicodedata.combining(c))


@cache
def _plain_letters() -> dict[str, str]:
    return dict(name_words().plain_letters)


def folded_words(text: str) -> tuple[str, ...]:
    """Return the folded numbers and words of a text, without its signs and possessive endings."""
    return tuple(
        token.folded.removesuffix("'s") for token in cut_values(text) if token.kind != "sign"
    )


def text_at(tokens: Sequence[ValueToken], at: int) -> str:
    """Return the folded text of a token, "" beyond the ends."""
    return tokens[at].folded if 0 <= at < len(tokens) else ""


def is_glued(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether a token exists and touches the one before."""
    return 0 < at < len(tokens) and tokens[at].glued
