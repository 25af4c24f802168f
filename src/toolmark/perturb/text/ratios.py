"""Two numbers with a stroke between them: a share of a whole, a mark, a measure of music.

3/4 may be three quarters, three out of four, or three over four; only what stands beside it
tells which. What may be a day (on 3/4), a range or a code is none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from toolmark.perturb.text import numerals
from toolmark.perturb.text.lexer import Lexeme
from toolmark.perturb.text.tables import MONTHS

_SHARES = {
    2: ("half", "halves"), 3: ("third", "thirds"), 4: ("quarter", "quarters"),
    5: ("fifth", "fifths"), 6: ("sixth", "sixths"), 8: ("eighth", "eighths"),
    10: ("tenth", "tenths"), 16: ("sixteenth", "sixteenths"),
}  # fmt: skip
_WHOLES = frozenset({5, 10, 100})
_MARKED = re.compile(r"(?:rat(?:ed|ing|ings)|reviews?|reviewed|scored?|scores|stars?|marks?)$")
_DAILY = frozenset((
    "on", "by", "till", "from", "since", "before", "after", "through", "due", "dated",
    "date", "day", "between", "until", "to", "at", "expires", "expiring", "expiration", "expiry",
    *MONTHS,
))  # fmt: skip
_WRITTEN = re.compile(r"(?<![\w/.-])(?:(\d{1,9}) )?(\d{1,3})/(\d{1,3})(?![\w/-]|\.\d)")
_FAR = 10  # how many pieces away a word still tells what is meant


def read(pieces: Sequence[Lexeme], i: int) -> tuple[int, str] | None:
    """Return how many pieces the ratio at i takes and what it is called; None if it is none."""
    mixed = i + 3 < len(pieces) and pieces[i].text.isdigit() and pieces[i + 1].text.isdigit()
    at = i + mixed
    pair = _pair(pieces, at)
    if pair is None or (mixed and pieces[i].glued) or _daily(pieces, i):
        return None
    part, whole = pair
    if mixed:
        share = _share(part, whole)
        said = f"{numerals.cardinal(pieces[i].text)} and {share}"
        return (4, said) if share and not pieces[at].glued else None
    over = f"{numerals.cardinal(str(part))} over {numerals.cardinal(str(whole))}"
    before = [piece.text.lower() for piece in pieces[max(i - _FAR, 0) : i]]
    after = [piece.text.lower() for piece in pieces[i + 3 : i + 5]]
    if "signature" in before or "signatures" in before or after[:1] == ["time"]:
        return 3, over
    marked = any(map(_MARKED.match, [*before, *after])) or (whole == 10 and part > 1)
    if marked and whole in _WHOLES and part <= whole and after[:1] != ["of"]:
        return 3, over.replace(" over ", " out of ")
    share = _share(part, whole)
    return (3, share) if share else None


def forms(value: str) -> Iterator[str]:
    """Yield the other ways to write a value that holds a ratio."""
    if not _WRITTEN.search(value):
        return
    for word in ("", "over", "out of"):
        yield _WRITTEN.sub(partial(_worded, word=word), value)


def _worded(found: re.Match[str], *, word: str) -> str:
    lead = f"{found[1]} and " if found[1] else ""
    share = "" if word and not lead else _share(int(found[2]), int(found[3]))
    plain = f"{found[2]} {word} {found[3]}" if word else found.group().removeprefix(f"{found[1]} ")
    return lead + (share or plain)


def _pair(pieces: Sequence[Lexeme], i: int) -> tuple[int, int] | None:
    """Return the numbers of a ratio that stands by itself at i."""
    if i + 2 >= len(pieces) or pieces[i + 1].text != "/":
        return None
    part, whole = pieces[i].text, pieces[i + 2].text
    if not all(re.fullmatch(r"[1-9]\d{0,2}", number) for number in (part, whole)):
        return None
    free = not pieces[i].glued or pieces[i - 1].kind == "mark"
    after = pieces[i + 3] if i + 3 < len(pieces) else None
    ends = after is None or not after.glued or after.kind == "mark"
    ranged = after is not None and after.text in {"-", "–", "/"}
    joined = pieces[i + 1].glued and pieces[i + 2].glued
    return (int(part), int(whole)) if free and ends and joined and not ranged else None


def _share(part: int, whole: int) -> str:
    if whole not in _SHARES or part >= whole:
        return ""
    return f"{numerals.cardinal(str(part))} {_SHARES[whole][part > 1]}"


def _daily(pieces: Sequence[Lexeme], i: int) -> bool:
    """Tell whether it may be a day: on 3/4, 9/10, 2026."""
    if i and (pieces[i - 1].text.lower() in _DAILY or pieces[i - 1].kind == "date"):
        return True
    near = [pieces[n].text for n in (i - 2, i - 1, i + 3, i + 4) if 0 <= n < len(pieces)]
    return any(re.fullmatch(r"(?:19|20)\d\d", text) for text in near)
