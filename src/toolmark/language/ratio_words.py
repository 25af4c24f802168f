"""Two numbers with a slash between them: a fraction, a rating, a time signature of music.

3/4 may be three quarters, three out of four, or three over four; the words near it decide.
A possible date (on 3/4), a range or a code is not a ratio.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from toolmark.language import number_words
from toolmark.language.text_lexer import Lexeme
from toolmark.language.value_words import MONTH_NAMES, value_words

_RATING_MAXIMA = frozenset({5, 10, 100})
_RATING_WORD = re.compile(r"(?:rat(?:ed|ing|ings)|reviews?|reviewed|scored?|scores|stars?|marks?)$")
_RATIO = re.compile(r"(?<![\w/.-])(?:(\d{1,9}) )?(\d{1,3})/(\d{1,3})(?![\w/-]|\.\d)")
_CONTEXT_PIECES = 10  # a word at most this many pieces away can decide the meaning


def read_ratio(pieces: Sequence[Lexeme], i: int) -> tuple[int, str] | None:
    """Return how many pieces the ratio at i takes and its words; None if there is no ratio."""
    mixed = i + 3 < len(pieces) and pieces[i].text.isdigit() and pieces[i + 1].text.isdigit()
    at = i + mixed
    pair = _ratio_numbers(pieces, at)
    if pair is None or (mixed and pieces[i].glued) or _may_be_date(pieces, i):
        return None
    numerator, denominator = pair
    if mixed:
        share = _share_words(numerator, denominator)
        words = f"{number_words.cardinal_words(pieces[i].text)} and {share}"
        return (4, words) if share and not pieces[at].glued else None
    over = (
        f"{number_words.cardinal_words(str(numerator))} over "
        f"{number_words.cardinal_words(str(denominator))}"
    )
    before = [piece.text.lower() for piece in pieces[max(i - _CONTEXT_PIECES, 0) : i]]
    after = [piece.text.lower() for piece in pieces[i + 3 : i + 5]]
    if "signature" in before or "signatures" in before or after[:1] == ["time"]:
        return 3, over
    marked = any(map(_RATING_WORD.match, [*before, *after])) or (
        denominator == 10 and numerator > 1
    )
    if (
        marked
        and denominator in _RATING_MAXIMA
        and numerator <= denominator
        and after[:1] != ["of"]
    ):
        return 3, over.replace(" over ", " out of ")
    share = _share_words(numerator, denominator)
    return (3, share) if share else None


def ratio_forms(value: str) -> Iterator[str]:
    """Yield the other ways to write a value that contains a ratio."""
    if not _RATIO.search(value):
        return
    for word in ("", "over", "out of"):
        yield _RATIO.sub(partial(_ratio_in_words, word=word), value)


def _ratio_in_words(found: re.Match[str], *, word: str) -> str:
    lead = f"{found[1]} and " if found[1] else ""
    share = "" if word and not lead else _share_words(int(found[2]), int(found[3]))
    plain = f"{found[2]} {word} {found[3]}" if word else found.group().removeprefix(f"{found[1]} ")
    return lead + (share or plain)


def _ratio_numbers(pieces: Sequence[Lexeme], i: int) -> tuple[int, int] | None:
    """Return the two numbers of the ratio at i; None if it is part of something longer."""
    if i + 2 >= len(pieces) or pieces[i + 1].text != "/":
        return None
    numerator, denominator = pieces[i].text, pieces[i + 2].text
    if not all(re.fullmatch(r"[1-9]\d{0,2}", number) for number in (numerator, denominator)):
        return None
    free = not pieces[i].glued or pieces[i - 1].kind == "mark"
    after = pieces[i + 3] if i + 3 < len(pieces) else None
    ends = after is None or not after.glued or after.kind == "mark"
    ranged = after is not None and after.text in {"-", "–", "/"}
    joined = pieces[i + 1].glued and pieces[i + 2].glued
    return (int(numerator), int(denominator)) if free and ends and joined and not ranged else None


def _share_words(numerator: int, denominator: int) -> str:
    names = value_words().shares.get(denominator)
    if names is None or numerator >= denominator:
        return ""
    return f"{number_words.cardinal_words(str(numerator))} {names[numerator > 1]}"


def _may_be_date(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether the ratio may be a date: on 3/4, 9/10, 2026."""
    before = pieces[i - 1].text.lower() if i else ""
    if before in value_words().date_words or before in MONTH_NAMES:
        return True
    if i and pieces[i - 1].kind == "date":
        return True
    near = [pieces[n].text for n in (i - 2, i - 1, i + 3, i + 4) if 0 <= n < len(pieces)]
    return any(re.fullmatch(r"(?:19|20)\d\d", text) for text in near)
