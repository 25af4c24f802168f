"""Numbers in words: two hundred and five, nineteen ninety-five, half a dozen, a third."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from toolmark.language import figure_readings
from toolmark.language.figure_readings import ONES_WORDS, SCALES, TENS_WORDS
from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.language.value_words import value_words
from toolmark.language.written_tables import counting_words

_MAX_WORDS = 40  # of one number in words
_PRONOUN_BEFORE = frozenset(
    {"the", "this", "that", "which", "no", "each", "every", "any", "another", "some", "only"}
)
_PRONOUN_AFTER = frozenset({"of", "that", "which", "who", "is", "should", "can", "could", "would"})


class WrittenNumber(NamedTuple):
    """A number of a text.

    - `values`: what it may mean; more than one where the writing is ambiguous.
    - `first`, `last`: its tokens, `last` exclusive.
    - `is_ordinal`: 15th, fifteenth. `is_plain`: digits alone, such as a year or a day.
    """

    values: tuple[Fraction, ...]
    first: int
    last: int
    is_ordinal: bool = False
    is_plain: bool = False


@cache
def scale_sizes() -> dict[str, int]:
    """Return thousand, million and so on with their sizes."""
    return {name: size for size, name in SCALES}


@cache
def small_numbers() -> dict[str, int]:
    """Return the numbers of one word below a hundred."""
    ones = {word: n for n, word in enumerate(ONES_WORDS)}
    tens = {word: 10 * n for n, word in enumerate(TENS_WORDS, 2)}
    zero = {word: n for word, n in counting_words().numbers.items() if n == 0}
    return {**ones, **tens, **zero}


@cache
def ordinal_numbers() -> dict[str, int]:
    """Return the ordinals of one word and their numbers."""
    ranks = (*range(1, 21), *range(30, 100, 10), 100, 1000)
    return {figure_readings.ordinal_words(n).split()[-1]: n for n in ranks}


@cache
def share_names() -> dict[str, int]:
    """Return the denominators by the words of shares: quarter, quarters."""
    return {word: below for below, names in value_words().shares.items() for word in (*names,)}


def read_scale_after(tokens: Sequence[ValueToken], found: WrittenNumber) -> WrittenNumber:
    """Read the scale after digits: 5 million, 3 dozen, 1.5 thousand."""
    word = text_at(tokens, found.last)
    size = scale_sizes().get(word) or {"hundred": 100}.get(word)
    size = size or counting_words().numbers.get(word)
    if not size:
        return found
    values = tuple(value * size for value in found.values)
    return found._replace(values=values, last=found.last + 1, is_plain=False)


def read_number_words(tokens: Sequence[ValueToken], at: int) -> WrittenNumber | None:
    """Return the number in words that begins at a token, None where none does."""
    word = text_at(tokens, at)
    if word == "half" and text_at(tokens, at + 1) not in {"past", "to", "-"}:
        return _read_half(tokens, at)
    if word in {"a", "an"}:
        return _read_one_of(tokens, at)
    if word == "one" and _is_pronoun(tokens, at):
        return None
    if word in ordinal_numbers() and word != "second":
        return WrittenNumber((Fraction(ordinal_numbers()[word]),), at, at + 1, is_ordinal=True)
    if word in counting_words().numbers:
        return WrittenNumber((Fraction(counting_words().numbers[word]),), at, at + 1)
    return _read_cardinal(tokens, at) if word in small_numbers() else None


def _is_pronoun(tokens: Sequence[ValueToken], at: int) -> bool:
    after = text_at(tokens, at + 1)
    if after == "hundred" or after in scale_sizes():
        return False
    return text_at(tokens, at - 1) in _PRONOUN_BEFORE or after in _PRONOUN_AFTER


def _read_half(tokens: Sequence[ValueToken], at: int) -> WrittenNumber | None:
    after = text_at(tokens, at + 1)
    if after in {"a", "an"}:
        numbers = counting_words().numbers
        size = numbers.get(text_at(tokens, at + 2)) or scale_sizes().get(text_at(tokens, at + 2))
        if size:
            return WrittenNumber((Fraction(size, 2),), at, at + 3)
        return WrittenNumber((Fraction(1, 2),), at, at + 2)
    return WrittenNumber((Fraction(1, 2),), at, at + 1)


def _read_one_of(tokens: Sequence[ValueToken], at: int) -> WrittenNumber | None:
    """Read a hundred, a thousand, a dozen, a quarter, a third."""
    after = text_at(tokens, at + 1)
    if after == "hundred" or after in scale_sizes():
        found = _read_cardinal(tokens, at + 1, lead=1)
        return found._replace(first=at) if found else None
    if after in counting_words().numbers and counting_words().numbers[after]:
        return WrittenNumber((Fraction(counting_words().numbers[after]),), at, at + 2)
    below = share_names().get(after)
    return WrittenNumber((Fraction(1, below),), at, at + 2) if below else None


def _read_cardinal(
    tokens: Sequence[ValueToken], at: int, lead: int | None = None
) -> WrittenNumber | None:
    """Read hundreds, thousands and so on, years as two pairs, decimals after "point"."""
    small = small_numbers()
    total, group, i = Fraction(0), lead, at
    limit, previous = 10**18, 0
    ordinal = False
    while i < min(len(tokens), at + _MAX_WORDS):
        word = text_at(tokens, i)
        joint = group is not None and word in {"and", "-", "‑"} and _is_number_continued(tokens, i)
        if joint:
            i += 1
            continue
        if word in small and (group is None or _can_add(group, previous, small[word])):
            previous = small[word]
            group = (group or 0) + previous
        elif word in small and _is_year_pair(group, total, small[word]):
            assert group is not None
            group, previous = group * 100 + small[word], small[word]
        elif word == "hundred" and group is not None and 0 < group < 100:
            group, previous = group * 100, 100
        elif word in scale_sizes() and group is not None and scale_sizes()[word] < limit:
            limit = scale_sizes()[word]
            total, group, previous = total + group * limit, 0, 1000
        elif group is not None and _ordinal_part(word, previous) is not None:
            total, ordinal = total + (_ordinal_part(word, previous) or 0), True
            i += 1
            break
        else:
            break
        i += 1
    if group is None:
        return None
    found = WrittenNumber((total + group,), at, i, is_ordinal=ordinal)
    return found if ordinal else _read_point(tokens, found)


def _is_number_continued(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether the number goes on after "and" or a hyphen."""
    word, before = text_at(tokens, at), text_at(tokens, at - 1)
    after = text_at(tokens, at + 1)
    is_small = after in small_numbers() or after in ordinal_numbers()
    if word != "and":
        is_tens = before in TENS_WORDS and is_glued(tokens, at)
        return is_small and is_tens and is_glued(tokens, at + 1)
    return is_small and (before == "hundred" or before in scale_sizes())


def _can_add(group: int, previous: int, value: int) -> bool:
    if previous in (100, 1000):
        return value < 100 and (value > 0 or previous == 1000)
    return previous >= 20 and previous % 10 == 0 and 0 < value < 10 and group % 10 == 0


def _is_year_pair(group: int | None, total: Fraction, value: int) -> bool:
    return group is not None and not total and 10 < group <= 20 and 10 <= value < 100


def _ordinal_part(word: str, previous: int) -> int | None:
    rank = ordinal_numbers().get(word)
    if rank is None or rank >= 100:
        return None
    if previous in (100, 1000):
        return rank
    return rank if previous >= 20 and previous % 10 == 0 and rank < 10 else None


def _read_point(tokens: Sequence[ValueToken], found: WrittenNumber) -> WrittenNumber:
    """Read decimals in words after "point", then a scale: one point five million."""
    if text_at(tokens, found.last) != "point":
        return read_scale_after(tokens, found)
    digits, i = "", found.last + 1
    while i < len(tokens) and len(digits) < _MAX_WORDS:
        n = small_numbers().get("zero" if text_at(tokens, i) == "oh" else text_at(tokens, i))
        if n is None or n > 9:
            break
        digits, i = digits + str(n), i + 1
    if not digits:
        return found
    value = found.values[0] + Fraction(f"0.{digits}")
    return read_scale_after(tokens, found._replace(values=(value,), last=i))
