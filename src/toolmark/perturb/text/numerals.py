"""Numbers as words, both ways: as a person says them, and back to digits.

Said numbers hold no "and" (one hundred five), so that "between one hundred and five hundred" can
be read back. num2words knows the words; the choice of form is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from num2words import num2words

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_DIGIT = {word: n for n, word in enumerate(DIGITS)}
_TEEN = {word: n for n, word in enumerate(_TEENS, 10)}
_TEN = {word: n * 10 for n, word in enumerate(_TENS, 2)}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_LONGEST = 15


def cardinal(digits: str) -> str:
    """Say a number written in digits, "1234.5": one thousand two hundred thirty-four point five.

    What is longer than 15 digits is read digit by digit; "1e-9" is one times ten to a power.
    """
    digits, _, power = digits.lower().partition("e")
    if power:
        sign = "minus " if power[0] == "-" else ""
        return f"{cardinal(digits)} times ten to the power of {sign}{_words(abs(int(power)))}"
    whole, _, rest = digits.partition(".")
    if len(whole) > _LONGEST or (len(whole) > 1 and whole[0] == "0"):
        said = spelled(whole)
    else:
        said = _words(int(whole or "0"))
    return f"{said} point {spelled(rest)}" if rest else said


@lru_cache(maxsize=4096)
def _words(n: int) -> str:
    return str(num2words(n)).replace(",", "").replace(" and ", " ")


@lru_cache(maxsize=4096)
def ordinal(n: int) -> str:
    """Say the place in a row: 21 is twenty-first."""
    return str(num2words(n, to="ordinal")).replace(",", "").replace(" and ", " ")


def spelled(digits: str) -> str:
    """Say digits one by one."""
    return " ".join(DIGITS[int(digit)] for digit in digits)


def year(n: int) -> str:
    """Say a year of 1000 to 2099: nineteen ninety-five, nineteen oh five, two thousand five."""
    high, low = divmod(n, 100)
    if high % 10 == 0 and low < 10:
        return _words(n)
    if low == 0:
        return f"{_words(high)} hundred"
    return f"{_words(high)} oh {DIGITS[low]}" if low < 10 else f"{_words(high)} {_words(low)}"


def decade(digits: str) -> str:
    """Say the ten years that begin with a year of two or four digits: nineteen eighties."""
    said = year(int(digits)) if len(digits) == 4 else _words(int(digits))
    return said[:-1] + "ies" if said.endswith("y") else said + "s"


def clock(text: str, *, half: bool) -> str:
    """Say "14:30" as fourteen thirty; `half`: a.m. or p.m. follows, so ten, not ten o'clock."""
    hours, minutes, *seconds = text.split(":")
    if any(map(int, seconds)):
        many = "second" if int(seconds[0]) == 1 else "seconds"
        return f"{clock(f'{hours}:{minutes}', half=True)} and {_words(int(seconds[0]))} {many}"
    first = spelled(hours) if hours[0] == "0" else _words(int(hours))
    if int(hours) and hours[0] == "0":
        first = f"oh {DIGITS[int(hours)]}"
    if minutes == "00":
        if half:
            return first
        if hours in {"0", "00"}:
            return f"{first} hundred"
        return (
            f"{first} o'clock" if 0 < int(hours) <= 12 and hours[0] != "0" else f"{first} hundred"
        )
    last = f"oh {DIGITS[int(minutes)]}" if minutes[0] == "0" else _words(int(minutes))
    return f"{first} {last}"


def plain(value: Decimal) -> str:
    """Write a number without exponent and idle zeros."""
    if abs(value.adjusted()) > 60:
        return str(value)
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def heard(words: Sequence[str], at: int) -> tuple[str, int] | None:
    """Read the number that starts at a word: its digits ("1995", "25th", "0.5") and its words.

    None where no number starts. Digit words in a row are one string of digits; pairs are
    years and clock times (nineteen ninety-five, ten oh five, oh eight hundred).
    """
    run = _run(words, at)
    if run >= 2 and (found := _string(words, at, run)):
        return found
    if words[at] == "oh":
        return None
    first = _pair(words, at)
    if first is None:
        rank = RANKS.get(words[at])
        return (suffixed(rank), 1) if rank is not None else None
    paired = _two_pairs(words, at, *first)
    return paired or _scaled(words, at)


def counts(word: str) -> bool:
    """Tell whether a word is a number below a hundred, or the first part of one."""
    return word in _DIGIT or word in _TEEN or word.split("-")[0] in _TEN


def _word(words: Sequence[str], at: int) -> str:
    return words[at] if at < len(words) else ""


def _run(words: Sequence[str], at: int) -> int:
    n = 0
    while _word(words, at + n) in _DIGIT or _word(words, at + n) == "oh":
        n += 1
    return n


def _digits(words: Sequence[str]) -> str:
    return "".join(str(_DIGIT.get(word, 0)) for word in words)


def _string(words: Sequence[str], at: int, run: int) -> tuple[str, int] | None:
    """Read digit words in a row, with the point or the clock's end that may follow."""
    found, after = _digits(words[at : at + run]), _word(words, at + run)
    if after == "hundred" and run == 2 and found[0] == "0":
        return f"{found}00", run + 1
    if after == "hundred" or after in SCALES:
        return (_digits(words[at : at + run - 1]), run - 1) if run > 2 else None
    if run == 2 and found[0] == "0" and (low := _pair(words, at + run)) and low[0] > 9:
        return f"{found}{low[0]}", run + low[1]
    if after == "point" and (rest := _run(words, at + run + 1)):
        return f"{found}.{_digits(words[at + run + 1 : at + run + 1 + rest])}", run + 1 + rest
    return found, run


def _pair(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """Read a number below 100: its value and how many words it took."""
    word = _word(words, at)
    if word in _DIGIT:
        return _DIGIT[word], 1
    if word in _TEEN:
        return _TEEN[word], 1
    if word not in _TEN:
        return None
    unit = _DIGIT.get(_word(words, at + 1), 0)
    return (_TEN[word] + unit, 2) if unit else (_TEN[word], 1)


def _two_pairs(words: Sequence[str], at: int, value: int, n: int) -> tuple[str, int] | None:
    """Read a year or a clock time: two numbers below 100 in a row."""
    if value and _word(words, at + n) == "oh" and _word(words, at + n + 1) in _DIGIT:
        return f"{value}0{_DIGIT[words[at + n + 1]]}", n + 2
    low = _pair(words, at + n)
    if low is None or low[0] < 10:
        return None
    after = _word(words, at + n + low[1])
    if after in {"hundred", "point"} or after in SCALES:
        return None
    if _word(words, at + n) in _TEN and low[1] == 1 and after in RANKS and RANKS[after] < 10:
        return None  # fifteen twenty-first: two things
    return f"{value}{low[0]}", n + low[1]


def _scaled(words: Sequence[str], at: int) -> tuple[str, int]:
    """Read hundreds, thousands and so on, a fraction, and a place in a row at the end."""
    i, total, limit = at, Decimal(0), 10**18
    while (found := _hundreds(words, i)) is not None:
        value, n = found
        fraction = ""
        if _word(words, i + n) == "point" and (rest := _run(words, i + n + 1)):
            fraction = _digits(words[i + n + 1 : i + n + 1 + rest])
            n += 1 + rest
        scale = SCALES.get(_word(words, i + n), 1)
        if i > at and (scale >= limit):
            break
        total += Decimal(f"{value}.{fraction or 0}") * scale
        i += n + (scale > 1)
        limit = scale
        if fraction or scale == 1:
            if fraction and scale == 1:
                kept = Decimal(f"{total}")
                return plain(kept), i - at
            break
    if _word(words, i) == "point" and total == int(total) and (rest := _run(words, i + 1)):
        return f"{plain(total)}.{_digits(words[i + 1 : i + 1 + rest])}", i + 1 + rest - at
    rank = RANKS.get(_word(words, i))
    if rank is not None and _joins(words[i - 1], rank):
        return suffixed(int(total) + rank), i + 1 - at
    return plain(total), i - at


def _hundreds(words: Sequence[str], at: int) -> tuple[int, int] | None:
    first = _pair(words, at)
    if first is None or (first[0] == 0 and at and _word(words, at - 1) in SCALES):
        return None
    value, n = first
    if _word(words, at + n) != "hundred" or not value:
        return value, n
    rest = _pair(words, at + n + 1)
    if rest is None or rest[0] == 0 or _word(words, at + n + 1 + rest[1]) == "hundred":
        return value * 100, n + 1
    return value * 100 + rest[0], n + 1 + rest[1]


def _joins(last: str, rank: int) -> bool:
    if last in _TEN:
        return rank < 10
    return rank < 100 and (last == "hundred" or last in SCALES)


def suffixed(n: int) -> str:
    """Write a place in a row: 1st, 22nd."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{n}{'th' if 10 <= n % 100 <= 20 else ends.get(n % 10, 'th')}"


RANKS = {ordinal(n): n for n in (*range(1, 21), *range(30, 100, 10))}
"""Words of places in a row, one word each."""

DECADES = {
    tuple(decade(str(n)).split()): f"{n}s" for n in (*range(20, 100, 10), *range(1100, 2100, 10))
}
"""Words of decades, two at most, and how they are written."""
