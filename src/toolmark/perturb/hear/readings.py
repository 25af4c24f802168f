"""In how many ways figures can be said: "123" is one hundred twenty three, one two three, ...

The first reading is the usual one. Numbers are below 10^15; longer ones are read digit by digit.
"""

from __future__ import annotations

from collections.abc import Iterator

_SAID = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
ONES = _SAID.split()
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"))
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
MOST_DIGITS = 15
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_PARTS = {2: "half", 3: "third", 4: "quarter"}


def cardinal(n: int) -> str:
    """Return a number below 10^15 in words, without "and"."""
    if n < 20:
        return ONES[n]
    if n < 100:
        rest = f" {ONES[n % 10]}" if n % 10 else ""
        return TENS[n // 10 - 2] + rest
    if n < 1000:
        rest = f" {cardinal(n % 100)}" if n % 100 else ""
        return f"{ONES[n // 100]} hundred{rest}"
    size, name = next(pair for pair in SCALES if n >= pair[0])
    rest = f" {cardinal(n % size)}" if n % size else ""
    return f"{cardinal(n // size)} {name}{rest}"


def ordinal(n: int) -> str:
    """Return "twenty first" for 21."""
    *front, last = cardinal(n).split()
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = f"{last[:-1]}ieth"
    else:
        last = f"{last}th"
    return " ".join([*front, last])


def number(written: str) -> list[str]:
    """Return the readings of digits with commas and a decimal point."""
    whole, _, part = written.partition(".")
    fronts = _wholes(whole, bool(part))
    if not part:
        return fronts
    tails = [f"point {spelled(part)}", f"point {spelled(part).replace('zero', 'oh')}"]
    found = [f"{front} {tail}" for tail in tails for front in fronts]
    return list(dict.fromkeys([*found, *(tails if whole == "0" else ())]))


def spelled(digits: str) -> str:
    """Return digits one by one."""
    return " ".join(ONES[int(d)] for d in digits)


def _wholes(whole: str, decimal: bool) -> list[str]:
    plain = whole.replace(",", "")
    one_by_one = spelled(plain)
    if len(plain) > MOST_DIGITS:
        return [one_by_one]
    found = [cardinal(int(plain)), one_by_one]
    if (plain[0] == "0" and len(plain) > 1) or (
        len(plain) in (5, 7, 10) and "," not in whole and not decimal
    ):  # codes and telephones
        found.reverse()
    if len(plain) == 4:
        first = [] if "," in whole or decimal else [year(int(plain))]
        found = [*first, *found, *_hundreds(int(plain))]
    found += [one_by_one.replace("zero", "oh"), *_pairs(plain)]
    found += [f"a {one[4:]}" for one in found[:3] if one.startswith(("one hundred", "one thous"))]
    return list(dict.fromkeys(found))


def year(n: int) -> str:
    """Return 1100-1999 and 2010-2099 as years are said; "19 hundred" for full hundreds is not."""
    century, rest = divmod(n, 100)
    if not (11 <= century <= 20) or rest < 10 or 2000 <= n < 2010:
        return cardinal(n)
    return f"{cardinal(century)} {cardinal(rest)}"


def _hundreds(n: int) -> Iterator[str]:
    """Yield "twenty five hundred" for 2500."""
    century, rest = divmod(n, 100)
    if century % 10:
        yield f"{cardinal(century)} hundred" + (f" {cardinal(rest)}" if rest else "")


def _pairs(plain: str) -> Iterator[str]:
    """Yield "one twenty three", "nineteen oh five": digits in twos, an odd one before them."""
    if not 3 <= len(plain) <= 10:
        return
    head = len(plain) % 2
    twos = [plain[i : i + 2] for i in range(head, len(plain), 2)]
    said = [f"oh {ONES[int(two)]}" if two[0] == "0" else cardinal(int(two)) for two in twos]
    yield " ".join([*(ONES[int(d)] for d in plain[:head]), *said])


def clock(hour: int, minute: int) -> list[str]:
    """Return the readings of 7:30."""
    h, after = cardinal(hour), cardinal(hour % 12 + 1)
    if not minute:
        return [h, f"{h} o'clock"]
    found = [f"{h} {'oh ' if minute < 10 else ''}{cardinal(minute)}"]
    ways = {15: f"quarter past {h}", 30: f"half past {h}", 45: f"quarter to {after}"}
    return [*found, *([ways[minute]] if minute in ways else [])]


def fraction(above: int, below: int) -> list[str]:
    """Return the readings of 3/4."""
    part = _PARTS.get(below) or ordinal(below)
    if above > 1:
        return [f"{cardinal(above)} {'halves' if below == 2 else part + 's'}"]
    return [f"one {part}", f"a {part}", *([part] if below == 2 else [])]


def date(y: int, month: int, day: int) -> list[str]:
    """Return the readings of 2023-10-01; none of what is no date."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return []
    name, rank = MONTHS[month - 1], ordinal(day)
    years = dict.fromkeys((year(y), cardinal(y)))
    return [f"{front} {each}" for each in years
            for front in (f"{name} {rank}", f"{rank} of {name}", f"{name} {cardinal(day)}",
                          f"{name} the {rank}")]  # fmt: skip


def decade(written: str) -> str:
    """Return "nineteen eighties" for 1980."""
    n = int(written)
    said = f"{cardinal(n // 100)} hundred" if n % 100 == 0 and n >= 1100 else year(n)
    return said[:-1] + "ies" if said.endswith("y") else said + "s"
