"""From tokens to what they mean together: numbers, measures, money, clock times, dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

from toolmark.perturb.text import naming, numerals
from toolmark.perturb.text.naming import Token
from toolmark.perturb.text.tables import CURRENCIES, MONTHS, UNITS


class Meaning(NamedTuple):
    """A text as understood: its tokens, joined, and where each begins and ends in the join."""

    tokens: tuple[Token, ...]
    joined: str
    starts: dict[int, int]
    ends: dict[int, int]


_LONG = {word: one for one, many in UNITS.values() for word in (one, many) if " " not in word}
_LONG |= {"metre": "meter", "metres": "meter", "kilometre": "kilometer", "litre": "liter"}
_LONG |= {"kilometres": "kilometer", "centimetres": "centimeter", "litres": "liter"}
_MONEY = {word: one for one, many in CURRENCIES.values() for word in (one, many)}
_FOLD = {"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"}
_MONTH = {name: n for n, name in enumerate(MONTHS, 1)} | {
    short: 1 + next(n for n, name in enumerate(MONTHS) if name.startswith(short[:3]))
    for short in _FOLD
}


@lru_cache(maxsize=4096)
def understood(text: str) -> Meaning:
    """Return what a text means."""
    tokens = tuple(_powers(list(_formulas(_dated(_measured(_numbered(naming.named(text))))))))
    joined, starts, ends, at = [], {}, {}, 0
    for n, token in enumerate(tokens):
        starts[at] = n
        joined.append(token.text)
        at += len(token.text)
        ends[at] = n
    return Meaning(tokens, "".join(joined), starts, ends)


def _numbered(tokens: Iterator[Token]) -> list[Token]:
    """Read number words between two pauses, and drop the pauses."""
    done: list[Token] = []
    row: list[Token] = []
    for token in tokens:
        if token.text:
            row.append(token)
            continue
        done += _read(row)
        if done:
            done[-1] = done[-1]._replace(pause=True)
        row = []
    return done + _read(row)


def _read(row: list[Token]) -> list[Token]:
    words, done, at = [token.text for token in row], list[Token](), 0
    while at < len(row):
        if n := next((n for n in (2, 1) if tuple(words[at : at + n]) in numerals.DECADES), 0):
            text = numerals.DECADES[tuple(words[at : at + n])]
            done.append(naming.decade(text, row[at].start, row[at + n - 1].end))
            at += n
            continue
        found = numerals.heard(words, at)
        if found is None or (words[at] == "second" and done and _measures(done[-1])):
            done.append(row[at])
            at += 1
            continue
        text, n = found
        start, end = row[at].start, row[at + n - 1].end
        if text[-1].isalpha():
            done.append(naming.ranked(int(text[:-2]), start, end))
        else:
            said = words[at : at + n]
            pair = text.isdigit() and len(text) in {3, 4} and not _SCALED.intersection(said[:-1])
            parts = (text[:-2], text[-2:]) if pair and said[-1] != "thousand" else ()
            done.append(naming.digits(text, start, end, *parts))
        at += n
    return done


_SCALED = {"hundred", "thousand"}


def _measures(token: Token) -> bool:
    return bool(token.values) or token.text == "per"


def _measured(tokens: list[Token]) -> list[Token]:
    """Join numbers with what belongs to them: sign, scale, currency, percent, a.m., o'clock."""
    done: list[Token] = []
    for n, token in enumerate(tokens):
        last = done[-1] if done else None
        after = [other.text for other in tokens[n + 1 : n + 3]]
        if last is None:
            done.append(_unit(token, None))
        elif token.values and last.text in {"minus", "negative"} and token.text[-2].isdigit():
            done[-1] = naming.digits(token.text.strip("‹›"), last.start, token.end)
            done[-1] = done[-1]._replace(
                text=f"‹-{token.text[1:]}", values=tuple(-value for value in token.values)
            )
        elif last.text == "minus" and token.text in CURRENCIES:
            done[-1:] = [token, last]  # -$5 is minus five dollars
        elif last.values and token.text in numerals.SCALES and _clean(last):
            done[-1] = _scaled(last, numerals.SCALES[token.text], token.end)
        elif last.values and token.text == "oclock":
            done[-1] = _clocked(last, token.end)
        elif last.values and _noon(token.text, after):
            done[-1] = _clocked(last, last.end)
            done.append(token)
        elif last.values and (token.text in {"percent", "k"}):
            factor = Decimal("0.01") if token.text == "percent" else Decimal(1000)
            more = tuple(value * factor for value in last.values)
            done[-1] = last._replace(values=last.values + more)
            done.append(token)
        else:
            done.append(_unit(token, last))
    return _spanned(_paid(done))


def _clean(token: Token) -> bool:
    return not token.pause and token.text[-2].isdigit() and "-" not in token.text[2:]


def _noon(text: str, after: list[str]) -> bool:
    return text in {"am", "pm"} or (text in {"a", "p"} and after[:1] in (["m"], ["dot"]))


def _unit(token: Token, last: Token | None) -> Token:
    if token.text == "slash" and last is not None and last.text.startswith("unit:"):
        return token._replace(text="per")
    name = _LONG.get(token.text)
    return token._replace(text=f"unit:{name}") if name else token


def _scaled(token: Token, scale: int, end: int) -> Token:
    try:
        value = Decimal(token.text.strip("‹›")) * scale
    except InvalidOperation:
        return token
    more = (token.values[0],) if token.values else ()
    return Token(f"‹{numerals.plain(value)}›", token.start, end, (value, *more), token.pause)


def _clocked(token: Token, end: int) -> Token:
    digits = token.text.strip("‹›")
    if not digits.isdigit() or len(digits) > 2 or int(digits) > 12:
        return token
    return Token(f"‹{digits}00›", token.start, end, (*token.values, Decimal(digits + "00")))


def _paid(tokens: list[Token]) -> list[Token]:
    """Put currency signs behind their number, and cents into it."""
    done: list[Token] = []
    for n, token in enumerate(tokens):
        last = done[-1] if done else None
        if last and last.text in CURRENCIES and token.values:
            name = CURRENCIES[last.text][0]
            done[-1] = token._replace(start=last.start)
            done.append(Token(f"unit:{name}", token.start, token.end))
        elif last and last.text.startswith("unit:") and token.text in numerals.SCALES:
            if len(done) > 1 and done[-2].values:
                done[-2] = _scaled(done[-2], numerals.SCALES[token.text], token.end)
        elif token.text in _PENCE and _wallet(done):
            cents = done.pop().values[0] / 100
            done.pop()
            whole = done[-2]
            value = whole.values[0] + cents
            done[-2] = Token(f"‹{numerals.plain(value)}›", whole.start, token.end, (value,))
        elif token.text in _PENCE and last and last.values:
            value = last.values[0] / 100
            text = f"‹{numerals.plain(value)}›"
            done[-1] = Token(text, last.start, token.end, (value, *last.values))
            done.append(Token(f"unit:{_PENCE[token.text]}", last.start, token.end))
        elif _penced(tokens, n) and len(done) > 1:
            value = done[-2].values[0] + token.values[0] / 100
            text = f"‹{numerals.plain(value)}›"
            done[-2] = Token(text, done[-2].start, token.end, (value,))
        elif token.text in _MONEY:
            done.append(token._replace(text=f"unit:{_MONEY[token.text]}"))
        else:
            done.append(token)
    return done


_PENCE = {"cent": "dollar", "cents": "dollar", "penny": "pound", "pence": "pound"}


def _penced(tokens: Sequence[Token], n: int) -> bool:
    """Tell whether the number at n is the pence of three pounds fifty."""
    if n < 2 or tokens[n - 1].text not in {"unit:pound", "pound"} or tokens[n - 1].pause:
        return False
    whole, after = tokens[n - 2], [token.text for token in tokens[n + 1 : n + 2]]
    if not all(re.fullmatch(r"‹\d+›", token.text) for token in (whole, tokens[n])):
        return False
    free = n < 3 or tokens[n - 3].text not in CURRENCIES
    ends = not after or not (after[0].startswith("unit:") or after[0] in {*CURRENCIES, "percent"})
    return free and ends and bool(re.fullmatch(r"‹[1-9]\d›", tokens[n].text))


def _spanned(tokens: list[Token]) -> list[Token]:
    """Name the unit of a range once: five dollars to ten dollars is five to ten dollars."""
    return [
        token for n, token in enumerate(tokens)
        if not (token.text.startswith("unit:") and n and n + 3 < len(tokens)
        and tokens[n + 1].text == "to" and tokens[n + 2].values and tokens[n - 1].values
        and tokens[n + 3].text == token.text)
    ]  # fmt: skip


def _wallet(done: list[Token]) -> bool:
    """Tell whether the row ends in: number, currency, and, number."""
    if len(done) < 4 or done[-2].text != "and" or not done[-1].values or not done[-4].values:
        return False
    return done[-3].text.removeprefix("unit:") in _MONEY.values()


def _dated(tokens: list[Token]) -> list[Token]:
    """Join a month and its day: April 25th, 25 April, the twenty-fifth of April."""
    done: list[Token] = []
    at = 0
    while at < len(tokens):
        month = _MONTH.get(tokens[at].text)
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        back = 2 if done and done[-1].text == "of" else 1
        if month and after and (day := _day(after)):
            done.append(naming.date(month, day, tokens[at].start, after.end))
            at += 2
            continue
        if month and len(done) >= back and (day := _day(done[-back])):
            start = done[-back].start
            del done[-back:]
            done.append(naming.date(month, day, start, tokens[at].end))
        else:
            done.append(tokens[at])
        at += 1
    return done


def _day(token: Token) -> int:
    found = re.fullmatch(r"‹0?(\d\d?)(?:st|nd|rd|th)?›", token.text)
    return int(found[1]) if found and 1 <= int(found[1]) <= 31 else 0


def _formulas(tokens: list[Token]) -> Iterator[Token]:
    """Yield tokens with powers under one name: squared, cubed, to the power of, ^."""
    at = 0
    texts = [token.text for token in tokens]
    while at < len(tokens):
        token = tokens[at]
        if token.text in {"squared", "cubed"}:
            power = "2" if token.text == "squared" else "3"
            yield token._replace(text="^")
            yield naming.digits(power, token.start, token.end)
        elif texts[at : at + 4] == ["to", "the", "power", "of"]:
            yield Token("^", token.start, tokens[at + 3].end)
            at += 3
        else:
            yield token
        at += 1


def _powers(tokens: list[Token]) -> Iterator[Token]:
    """Yield tokens with a number times a power of ten as one: 1e-9, 8.9 x 10^-12."""
    at = 0
    while at < len(tokens):
        part = tokens[at : at + 5]
        texts = [token.text for token in part]
        if len(part) == 5 and texts[1] in {"times", "x"} and texts[2:4] == ["‹10›", "^"]:
            base, power = part[0].values[:1], part[4].values[:1]
            if base and power and power[0] == int(power[0]) and abs(power[0]) < 400:
                value = base[0].scaleb(int(power[0]))
                text = f"‹{numerals.plain(value)}›"
                yield Token(text, part[0].start, part[4].end, (value, *part[0].values))
                at += 5
                continue
        yield tokens[at]
        at += 1
