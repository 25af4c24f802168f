"""What a good listener understands: from wording back to values, and whether a value survives.

Written and spoken text are brought to one canonical row of tokens: numbers are digits, dates are
dates, signs have names, units have one name. A string is understood where the joined tokens hold
it from the start of one token to the end of another, so "l i a m", "Liam" and "LIAM" are the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark.perturb.text import lexer, numerals, ratios
from toolmark.perturb.text.facts import Fact
from toolmark.perturb.text.lexer import Lexeme
from toolmark.perturb.text.tables import (
    COMPASS,
    CURRENCIES,
    MAGNITUDES,
    MONTHS,
    ROMAN,
    STATES,
    SYMBOLS,
    UNITS,
)

State: TypeAlias = Literal["kept", "lost", "unstated"]
Span: TypeAlias = tuple[int, int]


class Token(NamedTuple):
    """What a stretch of text means: its canonical text, the numbers it may be, its span."""

    text: str
    start: int
    end: int
    values: tuple[Decimal, ...] = ()
    pause: bool = False  # a pause follows


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


_ALIKE = {"vs": "versus", "inches": "inch"}
_SCALE = {"C": "celsius", "F": "fahrenheit", "K": "kelvin"}


def survives(written: str, spoken: str, fact: Fact) -> bool:
    """Tell whether a fact that the written text states can be had from the spoken one as well.

    A fact that the written text never states (an inference, a code) cannot get lost: True.
    """
    return state(written, spoken, fact) != "lost"


def state(written: str, spoken: str, fact: Fact) -> State:
    """Return whether a fact is kept, lost, or was never stated."""
    stated = [value for value in fact.values if spans(written, value)]
    if not stated:
        return "unstated"
    dashes = bool(identity(fact))
    return "kept" if any(_heard(spoken, value, dashes) for value in stated) else "lost"


def _heard(spoken: str, value: Any, dashes: bool) -> bool:
    found = spans(spoken, value)
    if dashes and isinstance(value, str) and slug(value):
        whole = any(_dashed(spoken, span) >= value.count("-") for span in found)
        return whole or bool(spans(spoken, value.replace("-", " dash ")))
    return bool(found)


_IDENTITY = re.compile(r"(?i)(id|name|url|uri|namespace|path|slug|key|file|branch|repo|directory)$")


def slug(value: str) -> bool:
    """Tell whether a value is lower-case words joined by dashes, as identifiers are."""
    return bool(re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", value) and re.search(r"[a-z]", value))


def identity(fact: Fact) -> tuple[str, ...]:
    """Return the values of a fact whose dashes must be heard: my-bot-id, but not gluten-free."""
    if not _IDENTITY.search(re.sub(r"\[\d+\]$", "", fact.name)):
        return ()
    return tuple(value for value in fact.values if isinstance(value, str) and slug(value))


def _dashed(text: str, span: Span) -> int:
    return len(re.findall(r"-|\bdash\b", text[span[0] : span[1]]))


def accepts(written: str, spoken: str, facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that the spoken text loses; none lost means it may be used."""
    return [fact for fact in facts if not survives(written, spoken, fact)]


def spans(text: str, value: Any) -> tuple[Span, ...]:
    """Return where (characters) the text states the value."""
    meaning = understood(text)
    if isinstance(value, bool):
        return tuple(_strings(meaning, str(value)))
    if isinstance(value, int | float):
        return tuple(_numbers(meaning, Decimal(repr(value)) if value == value else None))
    if not isinstance(value, str) or not value.strip():
        return ()
    found = tuple(_strings(meaning, value))
    return found or tuple(span for other in _others(value) for span in _strings(meaning, other))


@lru_cache(maxsize=4096)
def understood(text: str) -> Meaning:
    """Return what a text means."""
    tokens = tuple(_powers(list(_formulas(_dated(_measured(_numbered(_named(text))))))))
    joined, starts, ends, at = [], {}, {}, 0
    for n, token in enumerate(tokens):
        starts[at] = n
        joined.append(token.text)
        at += len(token.text)
        ends[at] = n
    return Meaning(tokens, "".join(joined), starts, ends)


def _numbers(meaning: Meaning, value: Decimal | None) -> Iterator[Span]:
    if value is None or not value.is_finite():
        return
    for token in meaning.tokens:
        if value in token.values:
            yield token.start, token.end


def _strings(meaning: Meaning, value: str) -> Iterator[Span]:
    wanted = understood(value).joined
    at = meaning.joined.find(wanted) if wanted else -1
    while at >= 0:
        first, last = meaning.starts.get(at), meaning.ends.get(at + len(wanted))
        if first is not None and last is not None:
            yield meaning.tokens[first].start, meaning.tokens[last].end
        at = meaning.joined.find(wanted, at + 1)


def _others(value: str) -> Iterator[str]:
    """Yield other ways to say a value: dates, the state of a place, an identifier's dashes."""
    yield from _dates(value)
    yield from ratios.forms(value)
    if re.fullmatch(r"(?:0?[1-9]|1[0-2])/(?:19|20)\d\d", value):
        yield value.replace("/", " slash ")
    if re.search(r"\d A$", value):
        yield f"{value}mpere"
    if slug(value):
        yield value.replace("-", " dash ")
    yield from _renamed(value, r"(?:^|(?<=[a-z.] )|(?<=[a-z.], ))[A-Z]{2}\b", STATES)
    yield from _renamed(value, r"(?<=[a-z] )[IVX]{2,4}\b", _CARDINALS)
    yield from _renamed(value, r"(?<=[a-z] )[IVX]{2,4}\b", _RANKS)


_CARDINALS = {letters: numerals.cardinal(str(n)) for letters, n in ROMAN.items()}
_RANKS = {letters: f"the {numerals.ordinal(n)}" for letters, n in ROMAN.items()}


def _renamed(value: str, pattern: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the value with letters under their names: all of them, and each alone."""
    found = [m for m in re.finditer(pattern, value) if m.group() in names]
    if len(found) > 1:
        yield re.sub(pattern, lambda m: names.get(m.group(), m.group()), value)
    for m in found[:8]:
        yield value[: m.start()] + names[m.group()] + value[m.end() :]


def _dates(value: str) -> Iterator[str]:
    """Yield other ways to write a value that is a date: month or day first, without year."""
    if found := re.fullmatch(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:[T ].*)?", value.strip()):
        year, month, day = found.groups()
        options = [(month, day, year)]
    elif found := re.fullmatch(r"(\d\d?)[/.-](\d\d?)[/.-](\d{4})", value.strip()):
        a, b, year = found.groups()
        options = [(a, b, year), (b, a, year)]
    else:
        return
    for month, day, year in options:
        if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
            name = MONTHS[int(month) - 1]
            yield f"{name} {int(day)}, {year}"
            yield f"{name} {int(day)}"


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in folded if not unicodedata.combining(c) and c not in "'’")


def _named(text: str) -> Iterator[Token]:
    """Yield the pieces under their names: signs as words, words folded, dates as dates."""
    pieces = lexer.lex(text)
    for n in range(len(pieces)):
        yield from _piece(pieces, n)


def _piece(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    start, end = piece.start, piece.end
    match piece.kind:
        case "word":
            yield from _words(pieces, n)
        case "date":
            year, month, day = lexer.calendar(piece.text)
            yield _date(month, day, start, end)
            yield _digits(str(year), start, end)
        case "month":
            first, last = piece.text.split("/")
            yield Token(MONTHS[int(first) - 1], start, end)
            yield _digits(last, start, end)
        case "clock":
            yield from _timed(piece)
        case "decade":
            yield _decade(re.sub(r"[^\ds]", "", piece.text), start, end)
        case "number":
            yield _digits(piece.text.replace(",", ""), start, end)
        case "ordinal":
            yield _ranked(int(piece.text[:-2]), start, end)
        case "sign":
            yield from _sign(pieces, n)
        case "mark":
            tall = piece.text in {"'", "’"} and lexer.tall(pieces, n)
            inch = "inch" * (piece.text == lexer.INCH)
            yield Token("foot" if tall else inch, start, end)
        case "silent":
            return


def _timed(piece: Lexeme) -> Iterator[Token]:
    """Yield a clock time; no seconds are as good as none said."""
    hours, minutes, *seconds = piece.text.split(":")
    yield _digits(hours + minutes, piece.start, piece.end, hours, minutes)
    if any(map(int, seconds)):
        yield Token("and", piece.start, piece.end)
        yield _digits(str(int(seconds[0])), piece.start, piece.end)
        yield Token("seconds", piece.start, piece.end)


def _decade(text: str, start: int, end: int) -> Token:
    return Token(f"‹{text}›", start, end, (Decimal(text[:-1]),))


def _sign(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    after = pieces[n + 1] if n + 1 < len(pieces) else None
    owed = after is not None and (after.kind == "number" or after.text in CURRENCIES)
    minus = owed and piece.text in "-−–" and after is not None and after.glued
    if minus and not (piece.glued and n and _solid(pieces[n - 1])):
        yield Token("minus", piece.start, piece.end)
    elif piece.text == "/" and n + 1 < len(pieces) and n and _scale(pieces, n + 1):
        yield Token("per", piece.start, piece.end)
    elif lexer.ranged(pieces, n):
        yield Token("to", piece.start, piece.end)
    elif lexer.trailing(pieces, n):
        yield Token(CURRENCIES[piece.text][0], piece.start, piece.end)
    elif name := lexer.hashed(pieces, n):
        yield Token(name, piece.start, piece.end)
    elif piece.text in CURRENCIES:
        yield Token(piece.text, piece.start, piece.end)
    else:
        for word in SYMBOLS.get(piece.text, _plain(piece.text)).split():
            yield Token(word, piece.start, piece.end)


def _solid(piece: Lexeme) -> bool:
    return piece.kind not in {"mark", "silent"} and piece.text not in {"^", "=", *CURRENCIES}


def _words(pieces: Sequence[Lexeme], n: int) -> Iterator[Token]:
    piece = pieces[n]
    text = re.sub(r"['’]s$", "", piece.text)
    if lexer.compass(pieces, n) or lexer.magnified(pieces, n):
        name = (MAGNITUDES if lexer.magnified(pieces, n) else COMPASS)[piece.text]
        yield Token(name, piece.start, piece.end)
    elif n and text in _SCALE and pieces[n - 1].text in {"°", "degrees", "degree"}:
        yield Token(_SCALE[text], piece.start, piece.end)
    elif (
        text in UNITS
        and _scale(pieces, n)
        and not (lexer.initial(pieces, n) or lexer.lettered(pieces, n))
    ):
        for word in UNITS[text][0].split():
            yield Token(word.casefold(), piece.start, piece.end)
    else:
        word = "by" if lexer.sized(pieces, n) else _ALIKE.get(text, _plain(text))
        yield Token(word, piece.start, piece.end)


def _scale(pieces: Sequence[Lexeme], n: int) -> bool:
    """Tell whether an abbreviation is a unit: after a number, in a fraction of units, or alone."""
    if len(pieces) == 1 or (n and pieces[n - 1].kind == "number"):
        return True
    upper = (
        n > 1
        and pieces[n - 1].text == "/"
        and pieces[n].glued
        and pieces[n - 1].glued
        and pieces[n - 2].text in UNITS
    )
    lower = n + 2 < len(pieces) and pieces[n + 1].text == "/" and pieces[n + 2].text in UNITS
    return upper or (lower and pieces[n + 1].glued and pieces[n + 2].glued)


def _digits(digits: str, start: int, end: int, *others: str) -> Token:
    padded = len(digits) > 1 and digits[0] == "0" and "." not in digits
    text = digits if padded or len(digits) > 40 else numerals.plain(Decimal(digits))
    return Token(f"‹{text}›", start, end, tuple(map(Decimal, (digits, *others))))


def _ranked(n: int, start: int, end: int) -> Token:
    return Token(f"‹{numerals.suffixed(n)}›", start, end, (Decimal(n),))


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
            done.append(_decade(text, row[at].start, row[at + n - 1].end))
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
            done.append(_ranked(int(text[:-2]), start, end))
        else:
            said = words[at : at + n]
            pair = text.isdigit() and len(text) in {3, 4} and not _SCALED.intersection(said[:-1])
            parts = (text[:-2], text[-2:]) if pair and said[-1] != "thousand" else ()
            done.append(_digits(text, start, end, *parts))
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
            done[-1] = _digits(token.text.strip("‹›"), last.start, token.end)
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
            done.append(_date(month, day, tokens[at].start, after.end))
            at += 2
            continue
        if month and len(done) >= back and (day := _day(done[-back])):
            start = done[-back].start
            del done[-back:]
            done.append(_date(month, day, start, tokens[at].end))
        else:
            done.append(tokens[at])
        at += 1
    return done


def _day(token: Token) -> int:
    found = re.fullmatch(r"‹0?(\d\d?)(?:st|nd|rd|th)?›", token.text)
    return int(found[1]) if found and 1 <= int(found[1]) <= 31 else 0


def _date(month: int, day: int, start: int, end: int) -> Token:
    return Token(f"‹{month:02}-{day:02}›", start, end, (Decimal(day), Decimal(month)))


def _formulas(tokens: list[Token]) -> Iterator[Token]:
    """Yield tokens with powers under one name: squared, cubed, to the power of, ^."""
    at = 0
    texts = [token.text for token in tokens]
    while at < len(tokens):
        token = tokens[at]
        if token.text in {"squared", "cubed"}:
            power = "2" if token.text == "squared" else "3"
            yield token._replace(text="^")
            yield _digits(power, token.start, token.end)
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
