"""Numbers in digits: separators of thousands, decimals, powers of ten, vulgar fractions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction

from toolmark.language.number_phrases import (
    WrittenNumber,
    read_number_words,
    read_scale_after,
    scale_sizes,
)
from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.language.value_words import value_words

MAX_DIGITS = 400  # a longer number is not read: it is not a value that anyone compares
MAX_EXPONENT = 400
_ORDINAL_ENDS = frozenset({"st", "nd", "rd", "th"})
_GLUED_MAGNITUDES = frozenset({"k", "K", "M", "bn", "mn", "tn", "B"})
DASHES = frozenset("-−–—‐‑")


def read_written_digits(tokens: Sequence[ValueToken], at: int) -> WrittenNumber | None:
    """Return the number in digits that begins at a token, None where none does."""
    if at >= len(tokens):
        return None
    token = tokens[at]
    if len(token.text) == 1 and token.kind == "sign" and (share := vulgar_fraction(token.text)):
        return WrittenNumber((share,), at, at + 1)
    if token.kind != "number" or _is_in_code(tokens, at):
        return None
    values = read_digits(token.text)
    if not values:
        return None
    found = WrittenNumber(values, at, at + 1, is_plain=token.text.isdigit())
    found = _read_power(tokens, found)
    after = found.last
    if is_glued(tokens, after):
        if tokens[after].folded in _ORDINAL_ENDS:
            return found._replace(last=after + 1, is_ordinal=True, is_plain=False)
        if tokens[after].text in _GLUED_MAGNITUDES and not is_glued(tokens, after + 1):
            size = scale_sizes()[value_words().magnitudes[tokens[after].text]]
            more = tuple(value * size for value in values)
            # 300K may be a temperature
            plain = found.values if tokens[after].text == "K" else ()
            return found._replace(values=(*more, *plain), last=after + 1, is_plain=False)
    return read_scale_after(tokens, found)


def read_digits(text: str) -> tuple[Fraction, ...]:
    """Return what digits with separators may mean, empty where they are not a number.

    A comma before three digits separates thousands, any other comma is a decimal one.
    """
    plain = re.sub(r"[ \u00a0\u2009\u202f'’_]", "", text)
    if len(plain) > MAX_DIGITS:
        return ()
    commas, points = plain.count(","), plain.count(".")
    groups = re.split(r"[.,]", plain)
    if commas and points:
        decimal = "," if plain.rfind(",") > plain.rfind(".") else "."
        if plain.count(decimal) > 1 or not _are_thousands(groups[:-1]):
            return ()
        return (Fraction(f"{''.join(groups[:-1])}.{groups[-1]}"),)
    if commas + points > 1:
        return (Fraction("".join(groups)),) if _are_thousands(groups) else ()
    if commas and _are_thousands(groups):
        return (Fraction("".join(groups)),)
    return (Fraction(plain.replace(",", ".")),)


def _are_thousands(groups: Sequence[str]) -> bool:
    """Return whether digits are cut into thousands, or as in India into lakhs: 15,00,000."""
    first, *others = map(len, groups)
    if groups[0][:1] in {"", "0"} or first > 3:
        return False
    in_lakhs = len(others) > 1 and first < 3 and others[-1] == 3 and {*others[:-1]} == {2}
    return in_lakhs or {*others} == {3}


def _is_in_code(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether digits are part of a code: letters, _ or @ touch them, as in A15 and v1.2."""
    if is_glued(tokens, at):
        before = tokens[at - 1]
        is_code = before.kind == "word" and before.text not in _UNIT_LIKE
        if is_code or before.text in {"_", "@"}:
            return True
        if before.text in {"-", "."} and before.glued and tokens[at - 2].kind != "sign":
            return tokens[at - 2].kind == "word" and tokens[at - 2].text not in _UNIT_LIKE
    return is_glued(tokens, at + 1) and tokens[at + 1].text in {"_", "@"}


_UNIT_LIKE = frozenset({"x", "Rs", "Fr", "EUR", "USD", "GBP", "JPY", "CHF", "INR"})


def vulgar_fraction(char: str) -> Fraction | None:
    """Return the fraction that one character is: ½."""
    if unicodedata.category(char) != "No":
        return None
    parts = unicodedata.normalize("NFKD", char).split("\u2044")
    return Fraction(int(parts[0]), int(parts[1])) if len(parts) == 2 and all(parts) else None


def _read_power(tokens: Sequence[ValueToken], found: WrittenNumber) -> WrittenNumber:
    """Read 1e5, 10^6, 10⁶ and 1.5 × 10^3 from the mantissa on."""
    at, base = found.last, found.values[0]
    if text_at(tokens, at) == "e" and is_glued(tokens, at):
        exponent = _read_exponent(tokens, at + 1)
        return _apply_power(found, base, exponent)
    if base == 10 and (exponent := _read_caret(tokens, at)):
        return _apply_power(found, Fraction(1), exponent)
    if times := _times_ten_end(tokens, at):
        return _apply_power(found, base, _read_caret(tokens, times))
    return found


def _times_ten_end(tokens: Sequence[ValueToken], at: int) -> int:
    """Return the end of × 10, times ten and the LaTeX command for it; 0 for none."""
    at += text_at(tokens, at) == "\\"
    is_product = text_at(tokens, at) in _PRODUCT_SIGNS
    return at + 2 if is_product and text_at(tokens, at + 1) in {"10", "ten"} else 0


_PRODUCT_SIGNS = frozenset({"x", "×", "*", "·", "⋅", "times", "cdot"})


def read_power_after(tokens: Sequence[ValueToken], found: WrittenNumber) -> WrittenNumber:
    """Read a power of ten after a number in words: four times ten to the sixth."""
    times = 0 if found.is_ordinal or len(found.values) > 1 else _times_ten_end(tokens, found.last)
    return _apply_power(found, found.values[0], _read_caret(tokens, times)) if times else found


def _apply_power(
    found: WrittenNumber, base: Fraction, exponent: tuple[int, int] | None
) -> WrittenNumber:
    if exponent is None or abs(exponent[0]) > MAX_EXPONENT:
        return found
    value = base * Fraction(10) ** exponent[0]
    return WrittenNumber((value,), found.first, exponent[1])


def _read_exponent(tokens: Sequence[ValueToken], at: int) -> tuple[int, int] | None:
    sign = -1 if text_at(tokens, at) in DASHES else 1
    at += text_at(tokens, at) in DASHES or text_at(tokens, at) == "+"
    text = text_at(tokens, at)
    if text.isdecimal() and text.isascii() and len(text) < 5 and is_glued(tokens, at):
        return sign * int(text), at + 1
    return None


def _read_caret(tokens: Sequence[ValueToken], at: int) -> tuple[int, int] | None:
    if text_at(tokens, at) == "^":
        at += 1
        brace = text_at(tokens, at) in {"{", "("}
        found = _read_exponent(tokens, at + brace)
        if found is None:
            return None
        return found[0], found[1] + (brace and text_at(tokens, found[1]) in {"}", ")"})
    if text_at(tokens, at) == "to" and text_at(tokens, at + 1) == "the":
        return _read_spoken_exponent(tokens, at + 2)
    digits, end = "", at
    while end < len(tokens) and end < at + 5 and is_glued(tokens, end):
        char = unicodedata.normalize("NFKD", tokens[end].text).replace("−", "-")
        if tokens[end].text == char or char not in "0123456789-":
            break
        digits, end = digits + char, end + 1
    return (int(digits), end) if re.fullmatch(r"-?\d{1,4}", digits) else None


def _read_spoken_exponent(tokens: Sequence[ValueToken], at: int) -> tuple[int, int] | None:
    """Read what follows "ten to the": sixth, 6th, power of minus 6."""
    of_power = text_at(tokens, at) == "power" and text_at(tokens, at + 1) == "of"
    at += 2 * of_power
    minus = text_at(tokens, at) in {"minus", "negative"}
    digits = _read_exponent(tokens, at)
    if digits is None and text_at(tokens, at + minus).isdecimal():
        digits = int(text_at(tokens, at + minus)[:4]), at + minus + 1
    elif digits is None:
        words = read_number_words(tokens, at + minus)
        if words is None or words.values[0].denominator > 1:
            return None
        digits = int(words.values[0]), words.last
    exponent, last = -digits[0] if minus else digits[0], digits[1]
    last += text_at(tokens, last) in _ORDINAL_ENDS and is_glued(tokens, last)
    return exponent, last + (text_at(tokens, last) == "power")
