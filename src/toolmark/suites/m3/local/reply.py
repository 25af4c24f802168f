"""Does a reply end with the answer: every part of it, in any usual form, and nothing beside?

A part is a time of day or a span (`3:10`), a number (`37.4`, with its sign where that counts:
`+37.4`), a code (`R-462`, `4.1.5`, `D`) or a name. Whoever lists guesses tells more than was asked:
another number, another code of that shape, or one of the rivals of a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal

_MAX_CHARS = 1_000
_ANSWER = re.compile(r"^[ \t>*_#`-]*(?:final )?answer[*_`]*[ \t]*:", re.IGNORECASE | re.MULTILINE)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_TIMES = re.compile(r"(?<=\d)\s*[x×]\s*(?=\d)")

_CLOCK = re.compile(r"\d{1,2}:\d\d")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_MOMENT = re.compile(
    r"(?<![\d:.])(?:"
    r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::\d\d)?(?!\d)(?:\s?(?P<half>[ap])\.?m\b)?"
    r"|(?P<hour>\d{1,2})\s?(?P<noon>[ap])\.?m\b"
    r"|(?P<hours>\d{1,2})\s?(?:h|hrs?|hours?)(?![^\W\d])"
    r"(?:,?\s?(?:and\s)?(?P<more>\d{1,2})(?!\d)\s?(?:m|min|mins|minutes?)?\b)?"
    r"|(?P<minutes>\d{1,4})\s?(?:min|mins|minutes?)\b)",
    re.IGNORECASE,
)
# what groups digits and what begins decimals: 1,253.5 and 1253.5 and 1.253,5 and 1 253.5
_WAYS = ((",", "."), ("", "."), (". '", ","), (" '", "."))
_FALL = re.compile(
    r"\b(?:fell|fall(?:s|en)?|down|de(?:creas|clin)\w*|dropp?\w*|lower|less|minus)\b"
)
_RISE = re.compile(r"\b(?:rose|ris(?:es?|en|ing)|up|increas\w*|grew|growth|gr[eo]wn?|more|plus)\b")

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NTHS = {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}


def check(said: str, wanted: Sequence[str], rivals: Sequence[str] = ()) -> list[str]:
    """Return what is wrong with the answer of a reply, as sentences; none means that it is right.

    The answer is what follows the last `Answer:` that begins a line, or else the last line.
    """
    text = _answer(said)
    if len(text) > _MAX_CHARS:
        return [f"the answer has {len(text)} characters; at most {_MAX_CHARS} are read"]
    moments = [part for part in wanted if _CLOCK.fullmatch(part)]
    numbers = [part for part in wanted if _NUMBER.fullmatch(part)]
    texts = [part for part in wanted if part not in moments and part not in numbers]
    faults, text = _texts(text, texts, rivals)
    if moments:
        found = _moments(text)
        faults += _apart({_minutes(part): part for part in moments}, found)
    if numbers:
        faults += _numbers(_MOMENT.sub(" ; ", text) if moments else text, numbers)
    return faults


def _answer(said: str) -> str:
    plain = unicodedata.normalize("NFKC", said).translate(_DASHES)
    heads = list(_ANSWER.finditer(plain))
    if heads:
        return plain[heads[-1].end() :].strip()
    lines = [line for line in plain.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def _apart(wanted: dict[object, str], found: dict[object, str]) -> list[str]:
    """Say what of the values wanted is not among those found, and what is there beside."""
    lacking = [f"the answer lacks {wanted[value]!r}" for value in wanted if value not in found]
    beside = [f"the answer also tells {found[value]!r}" for value in found if value not in wanted]
    return lacking + beside


# --- names and codes --------------------------------------------------------------------


def _texts(text: str, wanted: Sequence[str], rivals: Sequence[str]) -> tuple[list[str], str]:
    """Return what is wrong with names and codes, and the text without those that were wanted."""
    faults = []
    for part in sorted(wanted, key=len, reverse=True):
        pattern = _spelt(part)
        if not pattern.search(text):
            faults.append(f"the answer lacks {part!r}")
        text = pattern.sub(" ; ", text)
    others = [_spelt(name) for name in rivals if name not in wanted]
    others += [_shape(part) for part in wanted if len(part) == 1 or any(map(str.isdigit, part))]
    beside = {found[0]: None for pattern in others for found in pattern.finditer(text)}
    return faults + [f"the answer also tells {name!r}" for name in beside], text


def _spelt(part: str) -> re.Pattern[str]:
    """Return what finds a name or code as whole words, whatever stands between these."""
    if len(part) == 1:
        return re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")  # no small letter: `a` is a word
    if _VERSION.fullmatch(part):
        return re.compile(rf"(?<![\w.])v?{re.escape(part)}(?!\w|\.\d)", re.IGNORECASE)
    between = r"\W?" if any(map(str.isdigit, part)) else r"\W{1,3}"
    words = between.join(map(re.escape, re.findall(r"\w+", part)))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _shape(part: str) -> re.Pattern[str]:
    """Return what finds codes of the same shape as this one."""
    if _VERSION.fullmatch(part):
        return re.compile(r"(?<![\w.])v?\d+(?:\.\d+){2,}(?!\w)", re.IGNORECASE)
    if len(part) == 1:
        return re.compile(r"(?<!\w)[A-Z](?!\w)")
    marks = (
        r"\d" if mark.isdigit() else r"[^\W\d_]" if mark.isalpha() else re.escape(mark)
        for mark in part
    )
    return re.compile(rf"(?<!\w){''.join(marks)}(?!\w)")


# --- times ------------------------------------------------------------------------------


def _minutes(part: str) -> int:
    hours, minutes = map(int, part.split(":"))
    return 60 * hours + minutes


def _moments(text: str) -> dict[object, str]:
    """Return the times and spans in a text, in minutes, each as it is written."""
    found: dict[object, str] = {}
    for one in _MOMENT.finditer(text):
        half = (one["half"] or one["noon"] or "").lower()
        hours = int(one["h"] or one["hour"] or one["hours"] or 0)
        minutes = int(one["m"] or one["more"] or one["minutes"] or 0)
        if half:
            hours = hours % 12 + 12 * (half == "p")
        found[60 * hours + minutes] = one[0]
    return found


# --- numbers ----------------------------------------------------------------------------


def _numbers(text: str, wanted: Sequence[str]) -> list[str]:
    """Say what is wrong with the numbers, read in the way in which least is."""
    plain = _TIMES.sub(" x ", _DATE.sub(" ; ", _figures(text)))
    fall, rise = bool(_FALL.search(plain.lower())), bool(_RISE.search(plain.lower()))
    signed = any(part[0] in "+-" for part in wanted)
    if signed and fall and rise and not re.search(r"(?<!\w)[+-]\d", plain):
        return ["the answer tells of a rise and of a fall"]
    asked: dict[object, str] = {Decimal(part): part for part in wanted}
    ways = []
    for group, point in _WAYS:
        found: dict[object, str] = {}
        for sign, value, told in _read(plain, group, point):
            down = sign == "-" or (signed and fall and not sign)
            found[-value if down else value] = told
        ways.append(_apart(asked, found))
    return min(ways, key=len)


def _read(text: str, group: str, point: str) -> Iterator[tuple[str, Decimal, str]]:
    """Go through the numbers of a text: sign, value without it, and as it is written."""
    grouped = rf"\d{{1,3}}(?:[{group}]\d{{3}})+(?!\d)|" if group else ""
    pattern = (
        rf"(?<!\w)(?<![^\W\d_]-)([+-]?)((?:{grouped}\d+)(?:{re.escape(point)}\d+)?)"
        r"(?:st|nd|rd|th|px)?(?!\w)"
    )
    for one in re.finditer(pattern, text):
        digits = re.sub(rf"[{group}]", "", one[2]) if group else one[2]
        yield one[1], Decimal(digits.replace(point, ".")), one[0]


def _figures(text: str) -> str:
    """Return the text with the numbers below a hundred that are spelt out as digits."""
    return _WORDS.sub(lambda one: str(_SPELT[re.sub(r"\W+", "-", one[0].lower())]), text)


def _spellings() -> Iterator[tuple[str, int]]:
    yield from ((word, value) for value, word in enumerate(_UNITS))
    yield from ((f"{word}th", value) for value, word in enumerate(_UNITS) if value > 3)
    yield from _NTHS.items()
    for value, ten in enumerate(_TENS, 2):
        yield ten, 10 * value
        yield f"{ten[:-1]}ieth", 10 * value
        for unit in range(1, 10):
            yield f"{ten}-{_UNITS[unit]}", 10 * value + unit
            nth = next((word for word, n in _NTHS.items() if n == unit), f"{_UNITS[unit]}th")
            yield f"{ten}-{nth}", 10 * value + unit


_SPELT = dict(_spellings())
_LONGEST_FIRST = sorted(_SPELT, key=len, reverse=True)
_WORDS = re.compile(
    rf"\b(?:{'|'.join(one.replace('-', '[ -]') for one in _LONGEST_FIRST)})\b", re.IGNORECASE
)
