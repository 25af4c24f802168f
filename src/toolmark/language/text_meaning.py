"""Join tokens into numbers, measures, money, clock times and dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import NamedTuple

from toolmark.language import canonical_tokens, number_words
from toolmark.language.canonical_tokens import Token
from toolmark.language.value_words import MONTH_NAMES, value_words


class Meaning(NamedTuple):
    """The meaning of a text: its tokens, their joined text, and the offsets of each token in it.

    `starts` and `ends` map an offset to the index of the token that begins or ends there.
    """

    tokens: tuple[Token, ...]
    joined: str
    starts: dict[int, int]
    ends: dict[int, int]


_MONTH_NUMBERS = {
    **{name: n for n, name in enumerate(MONTH_NAMES, 1)},
    **{name[:3]: n for n, name in enumerate(MONTH_NAMES, 1)},
    "sept": 9,
}


@cache
def _canonical_units() -> dict[str, str]:
    """Return the singular of each unit of one word, by its forms."""
    words = value_words()
    forms = {word: one for one, many in words.units.values() for word in (one, many)}
    return {word: one for word, one in forms.items() if " " not in word} | words.unit_spellings


@cache
def _canonical_currencies() -> dict[str, str]:
    """Return the singular of each currency, by its forms."""
    return {word: one for one, many in value_words().currencies.values() for word in (one, many)}


@lru_cache(maxsize=4096)
def parse_meaning(text: str) -> Meaning:
    """Return the meaning of a text."""
    tokens = tuple(
        _join_powers_of_ten(
            list(
                _unify_powers(
                    _join_dates(_join_measures(_read_numbers(canonical_tokens.tokenize_text(text))))
                )
            )
        )
    )
    joined, starts, ends, at = [], {}, {}, 0
    for n, token in enumerate(tokens):
        starts[at] = n
        joined.append(token.text)
        at += len(token.text)
        ends[at] = n
    return Meaning(tokens, "".join(joined), starts, ends)


def _read_numbers(tokens: Iterator[Token]) -> list[Token]:
    """Read number words between two pauses, and drop the pauses."""
    result: list[Token] = []
    row: list[Token] = []
    for token in tokens:
        if token.text:
            row.append(token)
            continue
        result += _read_row(row)
        if result:
            result[-1] = result[-1]._replace(pause=True)
        row = []
    return result + _read_row(row)


def _read_row(row: list[Token]) -> list[Token]:
    words, result, at = [token.text for token in row], list[Token](), 0
    while at < len(row):
        if n := next(
            (n for n in (2, 1) if tuple(words[at : at + n]) in number_words.DECADE_NUMBERS), 0
        ):
            text = number_words.DECADE_NUMBERS[tuple(words[at : at + n])]
            result.append(canonical_tokens.decade_token(text, row[at].start, row[at + n - 1].end))
            at += n
            continue
        found = number_words.parse_number_words(words, at)
        if found is None or (words[at] == "second" and result and _is_measure(result[-1])):
            result.append(row[at])
            at += 1
            continue
        text, n = found
        start, end = row[at].start, row[at + n - 1].end
        if text[-1].isalpha():
            result.append(canonical_tokens.ordinal_token(int(text[:-2]), start, end))
        else:
            consumed = words[at : at + n]
            pair = (
                text.isdigit()
                and len(text) in {3, 4}
                and not _SCALE_WORDS.intersection(consumed[:-1])
            )
            parts = (text[:-2], text[-2:]) if pair and consumed[-1] != "thousand" else ()
            result.append(canonical_tokens.number_token(text, start, end, *parts))
        at += n
    return result


_SCALE_WORDS = {"hundred", "thousand"}


def _is_measure(token: Token) -> bool:
    return bool(token.values) or token.text == "per"


def _join_measures(tokens: list[Token]) -> list[Token]:
    """Join numbers with their sign, scale, currency, percent, a.m. or o'clock."""
    result: list[Token] = []
    for n, token in enumerate(tokens):
        last = result[-1] if result else None
        after = [other.text for other in tokens[n + 1 : n + 3]]
        if last is None:
            result.append(_unit_token(token, None))
        elif token.values and last.text in {"minus", "negative"} and token.text[-2].isdigit():
            result[-1] = canonical_tokens.number_token(
                token.text.strip("‹›"), last.start, token.end
            )
            result[-1] = result[-1]._replace(
                text=f"‹-{token.text[1:]}", values=tuple(-value for value in token.values)
            )
        elif last.text == "minus" and token.text in value_words().currencies:
            result[-1:] = [token, last]  # -$5 is minus five dollars
        elif last.values and token.text in number_words.SCALES and _can_be_scaled(last):
            result[-1] = _scaled_token(last, number_words.SCALES[token.text], token.end)
        elif last.values and token.text == "oclock":
            result[-1] = _full_hour_token(last, token.end)
        elif last.values and _is_day_half(token.text, after):
            result[-1] = _full_hour_token(last, last.end)
            result.append(token)
        elif last.values and (token.text in {"percent", "k"}):
            factor = Decimal("0.01") if token.text == "percent" else Decimal(1000)
            more = tuple(value * factor for value in last.values)
            result[-1] = last._replace(values=last.values + more)
            result.append(token)
        else:
            result.append(_unit_token(token, last))
    return _drop_repeated_units(_join_currencies(result))


def _can_be_scaled(token: Token) -> bool:
    return not token.pause and token.text[-2].isdigit() and "-" not in token.text[2:]


def _is_day_half(text: str, after: list[str]) -> bool:
    return text in {"am", "pm"} or (text in {"a", "p"} and after[:1] in (["m"], ["dot"]))


def _unit_token(token: Token, last: Token | None) -> Token:
    if token.text == "slash" and last is not None and last.text.startswith("unit:"):
        return token._replace(text="per")
    name = _canonical_units().get(token.text)
    return token._replace(text=f"unit:{name}") if name else token


def _scaled_token(token: Token, scale: int, end: int) -> Token:
    try:
        value = Decimal(token.text.strip("‹›")) * scale
    except InvalidOperation:
        return token
    more = (token.values[0],) if token.values else ()
    return Token(
        f"‹{number_words.plain_decimal(value)}›", token.start, end, (value, *more), token.pause
    )


def _full_hour_token(token: Token, end: int) -> Token:
    digits = token.text.strip("‹›")
    if not digits.isdigit() or len(digits) > 2 or int(digits) > 12:
        return token
    return Token(f"‹{digits}00›", token.start, end, (*token.values, Decimal(digits + "00")))


def _join_currencies(tokens: list[Token]) -> list[Token]:
    """Move currency signs after their number, and add cents to the number."""
    result: list[Token] = []
    for n, token in enumerate(tokens):
        last = result[-1] if result else None
        if last and last.text in value_words().currencies and token.values:
            name = value_words().currencies[last.text][0]
            result[-1] = token._replace(start=last.start)
            result.append(Token(f"unit:{name}", token.start, token.end))
        elif last and last.text.startswith("unit:") and token.text in number_words.SCALES:
            if len(result) > 1 and result[-2].values:
                result[-2] = _scaled_token(result[-2], number_words.SCALES[token.text], token.end)
        elif token.text in _CENT_CURRENCIES and _ends_in_amount(result):
            cents = result.pop().values[0] / 100
            result.pop()
            whole = result[-2]
            value = whole.values[0] + cents
            result[-2] = Token(
                f"‹{number_words.plain_decimal(value)}›", whole.start, token.end, (value,)
            )
        elif token.text in _CENT_CURRENCIES and last and last.values:
            value = last.values[0] / 100
            text = f"‹{number_words.plain_decimal(value)}›"
            result[-1] = Token(text, last.start, token.end, (value, *last.values))
            result.append(Token(f"unit:{_CENT_CURRENCIES[token.text]}", last.start, token.end))
        elif _is_pence(tokens, n) and len(result) > 1:
            value = result[-2].values[0] + token.values[0] / 100
            text = f"‹{number_words.plain_decimal(value)}›"
            result[-2] = Token(text, result[-2].start, token.end, (value,))
        elif currency := _canonical_currencies().get(token.text):
            result.append(token._replace(text=f"unit:{currency}"))
        else:
            result.append(token)
    return result


_CENT_CURRENCIES = {"cent": "dollar", "cents": "dollar", "penny": "pound", "pence": "pound"}


def _is_pence(tokens: Sequence[Token], n: int) -> bool:
    """Return whether the number at n is the pence of three pounds fifty."""
    if n < 2 or tokens[n - 1].text not in {"unit:pound", "pound"} or tokens[n - 1].pause:
        return False
    whole, after = tokens[n - 2], [token.text for token in tokens[n + 1 : n + 2]]
    if not all(re.fullmatch(r"‹\d+›", token.text) for token in (whole, tokens[n])):
        return False
    free = n < 3 or tokens[n - 3].text not in value_words().currencies
    ends = not after or not (
        after[0].startswith("unit:") or after[0] in {*value_words().currencies, "percent"}
    )
    return free and ends and bool(re.fullmatch(r"‹[1-9]\d›", tokens[n].text))


def _drop_repeated_units(tokens: list[Token]) -> list[Token]:
    """Drop the first unit of a range: five dollars to ten dollars is five to ten dollars."""
    return [
        token for n, token in enumerate(tokens)
        if not (token.text.startswith("unit:") and n and n + 3 < len(tokens)
        and tokens[n + 1].text == "to" and tokens[n + 2].values and tokens[n - 1].values
        and tokens[n + 3].text == token.text)
    ]  # fmt: skip


def _ends_in_amount(done: list[Token]) -> bool:
    """Return whether the tokens end in: number, currency, "and", number."""
    if len(done) < 4 or done[-2].text != "and" or not done[-1].values or not done[-4].values:
        return False
    return done[-3].text.removeprefix("unit:") in _canonical_currencies().values()


def _join_dates(tokens: list[Token]) -> list[Token]:
    """Join a month and its day: April 25th, 25 April, the twenty-fifth of April."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        month = _MONTH_NUMBERS.get(tokens[at].text)
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        back = 2 if result and result[-1].text == "of" else 1
        if month and after and (day := _day_number(after)):
            result.append(canonical_tokens.date_token(month, day, tokens[at].start, after.end))
            at += 2
            continue
        if month and len(result) >= back and (day := _day_number(result[-back])):
            start = result[-back].start
            del result[-back:]
            result.append(canonical_tokens.date_token(month, day, start, tokens[at].end))
        else:
            result.append(tokens[at])
        at += 1
    return result


def _day_number(token: Token) -> int:
    found = re.fullmatch(r"‹0?(\d\d?)(?:st|nd|rd|th)?›", token.text)
    return int(found[1]) if found and 1 <= int(found[1]) <= 31 else 0


def _unify_powers(tokens: list[Token]) -> Iterator[Token]:
    """Yield tokens with one form for powers: squared, cubed, to the power of, ^."""
    at = 0
    texts = [token.text for token in tokens]
    while at < len(tokens):
        token = tokens[at]
        if token.text in {"squared", "cubed"}:
            power = "2" if token.text == "squared" else "3"
            yield token._replace(text="^")
            yield canonical_tokens.number_token(power, token.start, token.end)
        elif texts[at : at + 4] == ["to", "the", "power", "of"]:
            yield Token("^", token.start, tokens[at + 3].end)
            at += 3
        else:
            yield token
        at += 1


def _join_powers_of_ten(tokens: list[Token]) -> Iterator[Token]:
    """Yield tokens with a number times a power of ten joined: 1e-9, 8.9 x 10^-12."""
    at = 0
    while at < len(tokens):
        part = tokens[at : at + 5]
        texts = [token.text for token in part]
        if len(part) == 5 and texts[1] in {"times", "x"} and texts[2:4] == ["‹10›", "^"]:
            base, power = part[0].values[:1], part[4].values[:1]
            if base and power and power[0] == int(power[0]) and abs(power[0]) < 400:
                value = base[0].scaleb(int(power[0]))
                text = f"‹{number_words.plain_decimal(value)}›"
                yield Token(text, part[0].start, part[4].end, (value, *part[0].values))
                at += 5
                continue
        yield tokens[at]
        at += 1
