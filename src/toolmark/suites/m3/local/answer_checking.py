"""Check of the final answer: it has every part, in any usual form, and nothing else.

A part is a time of day or a span (`3:10`), a number (`37.4`, with its sign where that counts:
`+37.4`), a code (`R-462`, `4.1.5`, `D`) or a name. An answer that lists guesses fails, because it
has too much: another number, another code of the same shape, or a rival of a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal

_MAX_CHARS = 1_000
_ANSWER_LINE = re.compile(
    r"^[ \t>*_#`-]*(?:final )?answer[*_`]*[ \t]*:", re.IGNORECASE | re.MULTILINE
)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_TIMES = re.compile(r"(?<=\d)\s*[x×]\s*(?=\d)")

_CLOCK_PATTERN = re.compile(r"\d{1,2}:\d\d")
_NUMBER_PATTERN = re.compile(r"[+-]?\d+(?:\.\d+)?")
_VERSION_PATTERN = re.compile(r"\d+(?:\.\d+){2,}")
_TIME_PATTERN = re.compile(
    r"(?<![\d:.])(?:"
    r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::\d\d)?(?!\d)(?:\s?(?P<half>[ap])\.?m\b)?"
    r"|(?P<hour>\d{1,2})\s?(?P<noon>[ap])\.?m\b"
    r"|(?P<hours>\d{1,2})\s?(?:h|hrs?|hours?)(?![^\W\d])"
    r"(?:,?\s?(?:and\s)?(?P<more>\d{1,2})(?!\d)\s?(?:m|min|mins|minutes?)?\b)?"
    r"|(?P<minutes>\d{1,4})\s?(?:min|mins|minutes?)\b)",
    re.IGNORECASE,
)
# Digit separator and decimal mark of 1,253.5 and 1253.5 and 1.253,5 and 1 253.5.
_DIGIT_FORMATS = ((",", "."), ("", "."), (". '", ","), (" '", "."))
_FALL_WORDS = re.compile(
    r"\b(?:fell|fall(?:s|en)?|down|de(?:creas|clin)\w*|dropp?\w*|lower|less|minus)\b"
)
_RISE_WORDS = re.compile(
    r"\b(?:rose|ris(?:es?|en|ing)|up|increas\w*|grew|growth|gr[eo]wn?|more|plus)\b"
)

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_IRREGULAR_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fifth": 5,
    "eighth": 8,
    "ninth": 9,
    "twelfth": 12,
}


def check_answer(reply: str, expected: Sequence[str], rivals: Sequence[str] = ()) -> list[str]:
    """Return what is wrong with the answer of a reply, as sentences; empty if it is right.

    The answer is the text after the last `Answer:` at the beginning of a line, or else the last
    line.
    """
    text = _final_answer(reply)
    if len(text) > _MAX_CHARS:
        return [f"the answer has {len(text)} characters; at most {_MAX_CHARS} are read"]
    times = [part for part in expected if _CLOCK_PATTERN.fullmatch(part)]
    numbers = [part for part in expected if _NUMBER_PATTERN.fullmatch(part)]
    texts = [part for part in expected if part not in times and part not in numbers]
    faults, text = _check_texts(text, texts, rivals)
    if times:
        found = _find_times(text)
        faults += _set_differences({_to_minutes(part): part for part in times}, found)
    if numbers:
        faults += _check_numbers(_TIME_PATTERN.sub(" ; ", text) if times else text, numbers)
    return faults


def _final_answer(reply: str) -> str:
    plain = unicodedata.normalize("NFKC", reply).translate(_DASHES)
    heads = list(_ANSWER_LINE.finditer(plain))
    if heads:
        return plain[heads[-1].end() :].strip()
    lines = [line for line in plain.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def _set_differences(expected: dict[object, str], found: dict[object, str]) -> list[str]:
    """Return sentences on the wanted values that are missing and on values not wanted."""
    missing = [f"the answer lacks {expected[value]!r}" for value in expected if value not in found]
    extra = [f"the answer also tells {found[value]!r}" for value in found if value not in expected]
    return missing + extra


# --- names and codes --------------------------------------------------------------------


def _check_texts(
    text: str, expected: Sequence[str], rivals: Sequence[str]
) -> tuple[list[str], str]:
    """Return the problems with names and codes, and the text without the wanted ones."""
    faults = []
    for part in sorted(expected, key=len, reverse=True):
        pattern = _name_pattern(part)
        if not pattern.search(text):
            faults.append(f"the answer lacks {part!r}")
        text = pattern.sub(" ; ", text)
    others = [_name_pattern(name) for name in rivals if name not in expected]
    others += [
        _code_pattern(part) for part in expected if len(part) == 1 or any(map(str.isdigit, part))
    ]
    extra = {found[0]: None for pattern in others for found in pattern.finditer(text)}
    return faults + [f"the answer also tells {name!r}" for name in extra], text


def _name_pattern(part: str) -> re.Pattern[str]:
    """Return a pattern for a name or code as complete words, with any separators."""
    if len(part) == 1:
        # Capital letters only: `a` is a word.
        return re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")
    if _VERSION_PATTERN.fullmatch(part):
        return re.compile(rf"(?<![\w.])v?{re.escape(part)}(?!\w|\.\d)", re.IGNORECASE)
    between = r"\W?" if any(map(str.isdigit, part)) else r"\W{1,3}"
    words = between.join(map(re.escape, re.findall(r"\w+", part)))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _code_pattern(part: str) -> re.Pattern[str]:
    """Return a pattern for codes of the same shape as this one."""
    if _VERSION_PATTERN.fullmatch(part):
        return re.compile(r"(?<![\w.])v?\d+(?:\.\d+){2,}(?!\w)", re.IGNORECASE)
    if len(part) == 1:
        return re.compile(r"(?<!\w)[A-Z](?!\w)")
    marks = (
        r"\d" if mark.isdigit() else r"[^\W\d_]" if mark.isalpha() else re.escape(mark)
        for mark in part
    )
    return re.compile(rf"(?<!\w){''.join(marks)}(?!\w)")


# --- times ------------------------------------------------------------------------------


def _to_minutes(part: str) -> int:
    hours, minutes = map(int, part.split(":"))
    return 60 * hours + minutes


def _find_times(text: str) -> dict[object, str]:
    """Return the times and spans in a text: minutes, and the text as written."""
    found: dict[object, str] = {}
    for one in _TIME_PATTERN.finditer(text):
        half = (one["half"] or one["noon"] or "").lower()
        hours = int(one["h"] or one["hour"] or one["hours"] or 0)
        minutes = int(one["m"] or one["more"] or one["minutes"] or 0)
        if half:
            hours = hours % 12 + 12 * (half == "p")
        found[60 * hours + minutes] = one[0]
    return found


# --- numbers ----------------------------------------------------------------------------


def _check_numbers(text: str, expected_numbers: Sequence[str]) -> list[str]:
    """Return the problems with the numbers, in the notation with the fewest problems."""
    plain = _TIMES.sub(" x ", _DATE.sub(" ; ", _spelled_to_digits(text)))
    fall, rise = bool(_FALL_WORDS.search(plain.lower())), bool(_RISE_WORDS.search(plain.lower()))
    signed = any(part[0] in "+-" for part in expected_numbers)
    if signed and fall and rise and not re.search(r"(?<!\w)[+-]\d", plain):
        return ["the answer tells of a rise and of a fall"]
    expected: dict[object, str] = {Decimal(part): part for part in expected_numbers}
    faults_by_format = []
    for group, point in _DIGIT_FORMATS:
        found: dict[object, str] = {}
        for sign, value, written in _read_numbers(plain, group, point):
            is_negative = sign == "-" or (signed and fall and not sign)
            found[-value if is_negative else value] = written
        faults_by_format.append(_set_differences(expected, found))
    return min(faults_by_format, key=len)


def _read_numbers(text: str, group: str, point: str) -> Iterator[tuple[str, Decimal, str]]:
    """Yield the numbers of a text: sign, absolute value, and the text as written."""
    grouped = rf"\d{{1,3}}(?:[{group}]\d{{3}})+(?!\d)|" if group else ""
    pattern = (
        rf"(?<!\w)(?<![^\W\d_]-)([+-]?)((?:{grouped}\d+)(?:{re.escape(point)}\d+)?)"
        r"(?:st|nd|rd|th|px)?(?!\w)"
    )
    for one in re.finditer(pattern, text):
        digits = re.sub(rf"[{group}]", "", one[2]) if group else one[2]
        yield one[1], Decimal(digits.replace(point, ".")), one[0]


def _spelled_to_digits(text: str) -> str:
    """Return the text with number words below one hundred as digits."""
    return _SPELLED_PATTERN.sub(
        lambda one: str(_SPELLED_NUMBERS[re.sub(r"\W+", "-", one[0].lower())]), text
    )


def _number_spellings() -> Iterator[tuple[str, int]]:
    yield from ((word, value) for value, word in enumerate(_UNITS))
    yield from ((f"{word}th", value) for value, word in enumerate(_UNITS) if value > 3)
    yield from _IRREGULAR_ORDINALS.items()
    for value, ten in enumerate(_TENS, 2):
        yield ten, 10 * value
        yield f"{ten[:-1]}ieth", 10 * value
        for unit in range(1, 10):
            yield f"{ten}-{_UNITS[unit]}", 10 * value + unit
            nth = next(
                (word for word, n in _IRREGULAR_ORDINALS.items() if n == unit), f"{_UNITS[unit]}th"
            )
            yield f"{ten}-{nth}", 10 * value + unit


_SPELLED_NUMBERS = dict(_number_spellings())
_LONGEST_FIRST = sorted(_SPELLED_NUMBERS, key=len, reverse=True)
_SPELLED_PATTERN = re.compile(
    rf"\b(?:{'|'.join(one.replace('-', '[ -]') for one in _LONGEST_FIRST)})\b", re.IGNORECASE
)
