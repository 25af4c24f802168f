"""Convert numbers to words as a person says them, and words back to digits.

Spoken numbers contain no "and" (one hundred five), so that "between one hundred and five hundred"
can be read back. The words come from num2words; this module chooses the form.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from num2words import num2words

from toolmark.language import figure_readings

DIGIT_WORDS = tuple(figure_readings.ONES_WORDS[:10])
_DIGIT_VALUES = {word: n for n, word in enumerate(DIGIT_WORDS)}
_TEEN_VALUES = {word: n for n, word in enumerate(figure_readings.ONES_WORDS) if n > 9}
_TENS_VALUES = {word: n * 10 for n, word in enumerate(figure_readings.TENS_WORDS, 2)}
SCALES = {word: size for size, word in reversed(figure_readings.SCALES)}


def cardinal_words(digits: str) -> str:
    """Return a number in words: "1234.5" is one thousand two hundred thirty-four point five.

    A number of more than 15 digits is read digit by digit; "1e-9" is one times ten to a power.
    """
    digits, _, power = digits.lower().partition("e")
    if power:
        sign = "minus " if power[0] == "-" else ""
        return (
            f"{cardinal_words(digits)} times ten to the power of "
            f"{sign}{_integer_words(abs(int(power)))}"
        )
    whole, _, decimals = digits.partition(".")
    if len(whole) > figure_readings.MAX_DIGITS or (len(whole) > 1 and whole[0] == "0"):
        words = spell_digits(whole)
    else:
        words = _integer_words(int(whole or "0"))
    return f"{words} point {spell_digits(decimals)}" if decimals else words


@lru_cache(maxsize=4096)
def _integer_words(n: int) -> str:
    return str(num2words(n)).replace(",", "").replace(" and ", " ")


@lru_cache(maxsize=4096)
def ordinal_words(n: int) -> str:
    """Return an ordinal in words: 21 is twenty-first."""
    return str(num2words(n, to="ordinal")).replace(",", "").replace(" and ", " ")


def spell_digits(digits: str) -> str:
    """Return the words of digits, one by one."""
    return " ".join(DIGIT_WORDS[int(digit)] for digit in digits)


def year_words(n: int) -> str:
    """Return a year, 1000 to 2099, in words: nineteen ninety-five, nineteen oh five."""
    high, low = divmod(n, 100)
    if high % 10 == 0 and low < 10:
        return _integer_words(n)
    if low == 0:
        return f"{_integer_words(high)} hundred"
    return (
        f"{_integer_words(high)} oh {DIGIT_WORDS[low]}"
        if low < 10
        else f"{_integer_words(high)} {_integer_words(low)}"
    )


def decade_words(digits: str) -> str:
    """Return a decade in words, from its first year in two or four digits: nineteen eighties."""
    words = year_words(int(digits)) if len(digits) == 4 else _integer_words(int(digits))
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def clock_words(text: str, *, am_pm_follows: bool) -> str:
    """Return a clock time in words: "14:30" is fourteen thirty.

    If `am_pm_follows`, "10:00" is ten, not ten o'clock.
    """
    hours, minutes, *seconds = text.split(":")
    if any(map(int, seconds)):
        many = "second" if int(seconds[0]) == 1 else "seconds"
        return (
            f"{clock_words(f'{hours}:{minutes}', am_pm_follows=True)} and "
            f"{_integer_words(int(seconds[0]))} {many}"
        )
    first = spell_digits(hours) if hours[0] == "0" else _integer_words(int(hours))
    if int(hours) and hours[0] == "0":
        first = f"oh {DIGIT_WORDS[int(hours)]}"
    if minutes == "00":
        if am_pm_follows:
            return first
        if hours in {"0", "00"}:
            return f"{first} hundred"
        return (
            f"{first} o'clock" if 0 < int(hours) <= 12 and hours[0] != "0" else f"{first} hundred"
        )
    last = f"oh {DIGIT_WORDS[int(minutes)]}" if minutes[0] == "0" else _integer_words(int(minutes))
    return f"{first} {last}"


def plain_decimal(value: Decimal) -> str:
    """Return a number without exponent and without trailing zeros."""
    if abs(value.adjusted()) > 60:
        return str(value)
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def parse_number_words(words: Sequence[str], at: int) -> tuple[str, int] | None:
    """Return the number that starts at a word: digits ("1995", "25th", "0.5") and count of words.

    Return None if no number starts there. Several digit words are one string of digits. Two numbers
    below 100 are a year or a clock time (nineteen ninety-five, ten oh five, oh eight hundred).
    """
    run = _digit_run_length(words, at)
    if run >= 2 and (found := _parse_digit_run(words, at, run)):
        return found
    if words[at] == "oh":
        return None
    first = _parse_below_hundred(words, at)
    if first is None:
        rank = ORDINAL_NUMBERS.get(words[at])
        return (figure_readings.ordinal_digits(rank), 1) if rank is not None else None
    paired = _parse_two_pairs(words, at, *first)
    return paired or _parse_scaled(words, at)


def is_number_word(word: str) -> bool:
    """Return whether a word is a number below a hundred, or the first part of one."""
    return word in _DIGIT_VALUES or word in _TEEN_VALUES or word.split("-")[0] in _TENS_VALUES


def _word_at(words: Sequence[str], at: int) -> str:
    return words[at] if at < len(words) else ""


def _digit_run_length(words: Sequence[str], at: int) -> int:
    n = 0
    while _word_at(words, at + n) in _DIGIT_VALUES or _word_at(words, at + n) == "oh":
        n += 1
    return n


def _digits_of_words(words: Sequence[str]) -> str:
    return "".join(str(_DIGIT_VALUES.get(word, 0)) for word in words)


def _parse_digit_run(words: Sequence[str], at: int, run: int) -> tuple[str, int] | None:
    """Read a run of digit words, and the decimals or the rest of a clock time after it."""
    found, after = _digits_of_words(words[at : at + run]), _word_at(words, at + run)
    if after == "hundred" and run == 2 and found[0] == "0":
        return f"{found}00", run + 1
    if after == "hundred" or after in SCALES:
        return (_digits_of_words(words[at : at + run - 1]), run - 1) if run > 2 else None
    if (
        run == 2
        and found[0] == "0"
        and (low := _parse_below_hundred(words, at + run))
        and low[0] > 9
    ):
        return f"{found}{low[0]}", run + low[1]
    if after == "point" and (n_decimals := _digit_run_length(words, at + run + 1)):
        return (
            f"{found}.{_digits_of_words(words[at + run + 1 : at + run + 1 + n_decimals])}",
            run + 1 + n_decimals,
        )
    return found, run


def _parse_below_hundred(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """Return a number below 100 and its count of words; None if there is none."""
    word = _word_at(words, at)
    if word in _DIGIT_VALUES:
        return _DIGIT_VALUES[word], 1
    if word in _TEEN_VALUES:
        return _TEEN_VALUES[word], 1
    if word not in _TENS_VALUES:
        return None
    unit = _DIGIT_VALUES.get(_word_at(words, at + 1), 0)
    return (_TENS_VALUES[word] + unit, 2) if unit else (_TENS_VALUES[word], 1)


def _parse_two_pairs(words: Sequence[str], at: int, value: int, n: int) -> tuple[str, int] | None:
    """Read a year or a clock time: two numbers below 100 in a row."""
    if value and _word_at(words, at + n) == "oh" and _word_at(words, at + n + 1) in _DIGIT_VALUES:
        return f"{value}0{_DIGIT_VALUES[words[at + n + 1]]}", n + 2
    low = _parse_below_hundred(words, at + n)
    if low is None or low[0] < 10:
        return None
    after = _word_at(words, at + n + low[1])
    if after in {"hundred", "point"} or after in SCALES:
        return None
    if (
        _word_at(words, at + n) in _TENS_VALUES
        and low[1] == 1
        and after in ORDINAL_NUMBERS
        and ORDINAL_NUMBERS[after] < 10
    ):
        return None  # fifteen twenty-first: two numbers
    return f"{value}{low[0]}", n + low[1]


def _parse_scaled(words: Sequence[str], at: int) -> tuple[str, int]:
    """Read hundreds, thousands and so on, with decimals or with an ordinal at the end."""
    i, total, limit = at, Decimal(0), 10**18
    while (found := _parse_hundreds(words, i)) is not None:
        value, n = found
        fraction = ""
        if _word_at(words, i + n) == "point" and (
            n_decimals := _digit_run_length(words, i + n + 1)
        ):
            fraction = _digits_of_words(words[i + n + 1 : i + n + 1 + n_decimals])
            n += 1 + n_decimals
        scale = SCALES.get(_word_at(words, i + n), 1)
        if i > at and (scale >= limit):
            break
        total += Decimal(f"{value}.{fraction or 0}") * scale
        i += n + (scale > 1)
        limit = scale
        if fraction or scale == 1:
            if fraction and scale == 1:
                number = Decimal(f"{total}")
                return plain_decimal(number), i - at
            break
    if (
        _word_at(words, i) == "point"
        and total == int(total)
        and (n_decimals := _digit_run_length(words, i + 1))
    ):
        return (
            f"{plain_decimal(total)}.{_digits_of_words(words[i + 1 : i + 1 + n_decimals])}",
            i + 1 + n_decimals - at,
        )
    rank = ORDINAL_NUMBERS.get(_word_at(words, i))
    if rank is not None and _can_join_ordinal(words[i - 1], rank):
        return figure_readings.ordinal_digits(int(total) + rank), i + 1 - at
    return plain_decimal(total), i - at


def _parse_hundreds(words: Sequence[str], at: int) -> tuple[int, int] | None:
    first = _parse_below_hundred(words, at)
    if first is None or (first[0] == 0 and at and _word_at(words, at - 1) in SCALES):
        return None
    value, n = first
    if _word_at(words, at + n) != "hundred" or not value:
        return value, n
    rest = _parse_below_hundred(words, at + n + 1)
    if rest is None or rest[0] == 0 or _word_at(words, at + n + 1 + rest[1]) == "hundred":
        return value * 100, n + 1
    return value * 100 + rest[0], n + 1 + rest[1]


def _can_join_ordinal(last: str, rank: int) -> bool:
    if last in _TENS_VALUES:
        return rank < 10
    return rank < 100 and (last == "hundred" or last in SCALES)


ORDINAL_NUMBERS = {ordinal_words(n): n for n in (*range(1, 21), *range(30, 100, 10))}
"""Ordinals of one word, and their numbers."""

DECADE_NUMBERS = {
    tuple(decade_words(str(n)).split()): f"{n}s"
    for n in (*range(20, 100, 10), *range(1100, 2100, 10))
}
"""Decades in words (at most two), and in digits."""
