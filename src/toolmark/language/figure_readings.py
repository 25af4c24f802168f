"""The ways in which figures can be said: "123" is one hundred twenty three, one two three, ...

The first way is the usual one. Numbers of 10^15 and above are read digit by digit.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolmark.language.value_words import MONTH_NAMES

_ONES_TEXT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
ONES_WORDS = _ONES_TEXT.split()
TENS_WORDS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"))
MAX_DIGITS = 15
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_FRACTION_NAMES = {2: "half", 3: "third", 4: "quarter"}


def cardinal_words(n: int) -> str:
    """Return a number below 10^15 in words, without "and"."""
    if n < 20:
        return ONES_WORDS[n]
    if n < 100:
        tail = f" {ONES_WORDS[n % 10]}" if n % 10 else ""
        return TENS_WORDS[n // 10 - 2] + tail
    if n < 1000:
        tail = f" {cardinal_words(n % 100)}" if n % 100 else ""
        return f"{ONES_WORDS[n // 100]} hundred{tail}"
    size, name = next(pair for pair in SCALES if n >= pair[0])
    tail = f" {cardinal_words(n % size)}" if n % size else ""
    return f"{cardinal_words(n // size)} {name}{tail}"


def ordinal_words(n: int) -> str:
    """Return "twenty first" for 21."""
    *front, last = cardinal_words(n).split()
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = f"{last[:-1]}ieth"
    else:
        last = f"{last}th"
    return " ".join([*front, last])


def ordinal_digits(n: int) -> str:
    """Return an ordinal in digits: 1st, 22nd."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{n}{'th' if 10 <= n % 100 <= 20 else ends.get(n % 10, 'th')}"


def number_readings(written: str) -> list[str]:
    """Return the ways to say digits with commas and a decimal point."""
    whole, _, part = written.partition(".")
    fronts = _integer_readings(whole, bool(part))
    if not part:
        return fronts
    tails = [f"point {spell_digits(part)}", f"point {spell_digits(part).replace('zero', 'oh')}"]
    found = [f"{front} {tail}" for tail in tails for front in fronts]
    return list(dict.fromkeys([*found, *(tails if whole == "0" else ())]))


def spell_digits(digits: str) -> str:
    """Return the words of digits, one by one."""
    return " ".join(ONES_WORDS[int(d)] for d in digits)


def _integer_readings(whole: str, decimal: bool) -> list[str]:
    plain = whole.replace(",", "")
    one_by_one = spell_digits(plain)
    if len(plain) > MAX_DIGITS:
        return [one_by_one]
    found = [cardinal_words(int(plain)), one_by_one]
    # codes and telephone numbers
    if (plain[0] == "0" and len(plain) > 1) or (
        len(plain) in (5, 7, 10) and "," not in whole and not decimal
    ):
        found.reverse()
    if len(plain) == 4:
        first = [] if "," in whole or decimal else [year_words(int(plain))]
        found = [*first, *found, *_hundreds_readings(int(plain))]
    found += [one_by_one.replace("zero", "oh"), *_pair_readings(plain)]
    found += [f"a {one[4:]}" for one in found[:3] if one.startswith(("one hundred", "one thous"))]
    return list(dict.fromkeys(found))


def year_words(n: int) -> str:
    """Return 1100-1999 and 2010-2099 as years are said, without "19 hundred" for full hundreds."""
    century, years = divmod(n, 100)
    if not (11 <= century <= 20) or years < 10 or 2000 <= n < 2010:
        return cardinal_words(n)
    return f"{cardinal_words(century)} {cardinal_words(years)}"


def _hundreds_readings(n: int) -> Iterator[str]:
    """Yield "twenty five hundred" for 2500."""
    century, remainder = divmod(n, 100)
    if century % 10:
        yield f"{cardinal_words(century)} hundred" + (
            f" {cardinal_words(remainder)}" if remainder else ""
        )


def _pair_readings(plain: str) -> Iterator[str]:
    """Yield "one twenty three", "nineteen oh five": pairs of digits after a possible odd digit."""
    if not 3 <= len(plain) <= 10:
        return
    head = len(plain) % 2
    twos = [plain[i : i + 2] for i in range(head, len(plain), 2)]
    pair_words = [
        f"oh {ONES_WORDS[int(two)]}" if two[0] == "0" else cardinal_words(int(two)) for two in twos
    ]
    yield " ".join([*(ONES_WORDS[int(d)] for d in plain[:head]), *pair_words])


def clock_readings(hour: int, minute: int) -> list[str]:
    """Return the ways to say 7:30."""
    h, after = cardinal_words(hour), cardinal_words(hour % 12 + 1)
    if not minute:
        return [h, f"{h} o'clock"]
    found = [f"{h} {'oh ' if minute < 10 else ''}{cardinal_words(minute)}"]
    ways = {15: f"quarter past {h}", 30: f"half past {h}", 45: f"quarter to {after}"}
    return [*found, *([ways[minute]] if minute in ways else [])]


def fraction_readings(above: int, below: int) -> list[str]:
    """Return the ways to say 3/4."""
    part = _FRACTION_NAMES.get(below) or ordinal_words(below)
    if above > 1:
        return [f"{cardinal_words(above)} {'halves' if below == 2 else part + 's'}"]
    return [f"one {part}", f"a {part}", *([part] if below == 2 else [])]


def date_readings(y: int, month: int, day: int) -> list[str]:
    """Return the ways to say 2023-10-01; an empty list if the numbers are not a date."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return []
    name, rank = MONTH_NAMES[month - 1], ordinal_words(day)
    years = dict.fromkeys((year_words(y), cardinal_words(y)))
    return [f"{front} {each}" for each in years
            for front in (f"{name} {rank}", f"{rank} of {name}", f"{name} {cardinal_words(day)}",
                          f"{name} the {rank}")]  # fmt: skip


def decade_words(written: str) -> str:
    """Return "nineteen eighties" for 1980."""
    n = int(written)
    words = f"{cardinal_words(n // 100)} hundred" if n % 100 == 0 and n >= 1100 else year_words(n)
    return words[:-1] + "ies" if words.endswith("y") else words + "s"
