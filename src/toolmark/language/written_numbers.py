"""Numbers as they are written: digits with separators, words, fractions, magnitudes, powers.

`find_numbers` reads them from a text, `number_forms` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from toolmark.language import figure_readings
from toolmark.language.digit_numbers import (
    DASHES,
    read_power_after,
    read_written_digits,
    vulgar_fraction,
)
from toolmark.language.figure_readings import SCALES
from toolmark.language.number_phrases import (
    WrittenNumber,
    read_number_words,
    scale_sizes,
    share_names,
    small_numbers,
)
from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.language.value_words import value_words
from toolmark.language.written_tables import counting_words


def find_numbers(tokens: Sequence[ValueToken]) -> Iterator[WrittenNumber]:
    """Yield the numbers of a text in order."""
    at = 0
    while at < len(tokens):
        found = read_number(tokens, at)
        if found is not None:
            yield found
        at = found.last if found is not None else at + 1


def read_number(tokens: Sequence[ValueToken], at: int) -> WrittenNumber | None:
    """Return the number that begins at a token, with its sign, None where none does."""
    sign, start = _read_sign(tokens, at)
    found = read_written_digits(tokens, start) or read_number_words(tokens, start)
    if found is None:
        return None
    found = _read_share_of_scale(tokens, read_power_after(tokens, _read_mixed(tokens, found)))
    values = tuple(sign * value for value in found.values)
    return found._replace(values=values, first=at, is_plain=found.is_plain and start == at)


def _read_sign(tokens: Sequence[ValueToken], at: int) -> tuple[int, int]:
    """Return the sign of the number at a token, and where the number itself begins."""
    text = text_at(tokens, at)
    if text in counting_words().signs:
        return counting_words().signs[text], at + 1
    if (text in DASHES or text == "+") and is_glued(tokens, at + 1):
        before = text_at(tokens, at - 1)
        if not tokens[at].glued or before in {"(", "=", ":", "[", "*", "~", "≈", "$", "`", '"'}:
            return (-1 if text in DASHES else 1), at + 1
    return 1, at


# --- fractions -------------------------------------------------------------------------


def _read_mixed(tokens: Sequence[ValueToken], found: WrittenNumber) -> WrittenNumber:
    """Read a share after a number: 3/4, 1 1/2, 2½, two thirds, two and a half."""
    at, value = found.last, found.values[0]
    if found.is_ordinal or len(found.values) > 1:
        return found
    word = text_at(tokens, at)
    if below := _slash_denominator(tokens, at, found):
        return found._replace(values=(value / below,), last=at + 2, is_plain=False)
    hyphen = word == "-" and is_glued(tokens, at) and is_glued(tokens, at + 1)
    share = share_names().get(text_at(tokens, at + hyphen))
    if share and value.denominator == 1 and 0 < value < 100 and not _is_digit(tokens, found):
        return found._replace(values=(value / share,), last=at + hyphen + 1)
    part = _read_part(tokens, at)
    if part is not None and value.denominator == 1:
        sign = -1 if value < 0 else 1
        return WrittenNumber((value + sign * part[0],), found.first, part[1])
    return found


def _read_share_of_scale(tokens: Sequence[ValueToken], found: WrittenNumber) -> WrittenNumber:
    """Read the scale of a share: a quarter of a million, a quarter million."""
    at, value = found.last, found.values[0]
    if found.is_ordinal or len(found.values) > 1 or not 0 < value < 1:
        return found
    at += 2 * (text_at(tokens, at) == "of" and text_at(tokens, at + 1) in {"a", "one"})
    word = text_at(tokens, at)
    size = scale_sizes().get(word) or {"hundred": 100}.get(word)
    size = size or counting_words().numbers.get(word)
    if not size or (at == found.last and word in counting_words().numbers):
        return found
    return found._replace(values=(value * size,), last=at + 1, is_plain=False)


def _is_digit(tokens: Sequence[ValueToken], found: WrittenNumber) -> bool:
    return tokens[found.first].kind == "number" and "quarter" in text_at(tokens, found.last)


def _slash_denominator(tokens: Sequence[ValueToken], at: int, found: WrittenNumber) -> int | None:
    if text_at(tokens, at) not in {"/", "⁄"} or not found.is_plain or not is_glued(tokens, at):
        return None
    below = text_at(tokens, at + 1)
    ends = not (is_glued(tokens, at + 2) and text_at(tokens, at + 2) in {"/", "⁄"})
    plain = below.isdecimal() and below.isascii() and len(below) < 7 and is_glued(tokens, at + 1)
    return int(below) if plain and ends and int(below) else None


def _read_part(tokens: Sequence[ValueToken], at: int) -> tuple[Fraction, int] | None:
    """Return the share that follows a whole number, and where it ends."""
    text = text_at(tokens, at)
    if len(text) and at < len(tokens) and tokens[at].kind == "sign":
        share = vulgar_fraction(tokens[at].text)
        return (share, at + 1) if share else None
    joined = text in {"and", "&"}
    if joined:
        at += 1
    above = text_at(tokens, at)
    if above in {"a", "one"} or above in small_numbers():
        below = share_names().get(text_at(tokens, at + 1))
        over = 1 if above == "a" else small_numbers()[above]
        return (Fraction(over, below), at + 2) if joined and below and over < below else None
    if above.isdecimal() and above.isascii() and len(above) < 4 and not is_glued(tokens, at):
        plain = WrittenNumber((Fraction(above),), at, at + 1, is_plain=True)
        divisor = _slash_denominator(tokens, at + 1, plain)
        if divisor and int(above) < divisor:
            return Fraction(int(above), divisor), at + 3
    return None


# --- writing ---------------------------------------------------------------------------


def number_forms(value: Fraction) -> list[str]:
    """Return the ways to write a number that has finitely many decimals, or is a share."""
    sign, size = ("-" if value < 0 else ""), abs(value)
    digits = plain_digits(size)
    forms = []
    if digits:
        whole, _, decimals = digits.partition(".")
        tail = f".{decimals}" if decimals else ""
        forms += [digits, f"{int(whole):,}{tail}", f"{int(whole):,}".replace(",", "\u202f") + tail]
        forms += [] if decimals else [f"{digits}.0"]
        if len(whole) <= figure_readings.MAX_DIGITS:
            spoken = figure_readings.cardinal_words(int(whole))
            point = f" point {figure_readings.spell_digits(decimals)}" if decimals else ""
            forms.append(spoken + point)
        forms += _scaled_forms(size)
    below = size.denominator
    if below in value_words().shares and size < 1:
        forms += [f"{size.numerator}/{below}"]
        forms += figure_readings.fraction_readings(size.numerator, below)
    minus = {"-": ("-", "−")}.get(sign, ("",))
    numeric = [f"{mark}{form}" for form in forms for mark in minus if form[0].isdigit()]
    words = [f"minus {form}" if sign else form for form in forms if not form[0].isdigit()]
    return list(dict.fromkeys([*numeric, *words]))


def _scaled_forms(size: Fraction) -> list[str]:
    for scale, name in SCALES:
        shorter = plain_digits(size / scale)
        if size >= scale and shorter and len(shorter) <= 6:
            return [f"{shorter} {name}"]
    return []


def plain_digits(size: Fraction) -> str:
    """Return a number that is not negative in digits, "" where its decimals do not end."""
    below, decimals = size.denominator, 0
    while below > 1 and decimals < 40:
        scaled = size * 10**decimals
        if scaled.denominator == 1:
            break
        decimals += 1
        below = (size * 10**decimals).denominator
    if below != 1:
        return ""
    text = str((size * 10**decimals).numerator).rjust(decimals + 1, "0")
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text
