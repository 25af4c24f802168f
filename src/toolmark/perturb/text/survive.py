"""What a good listener understands: from wording back to values, and whether a value survives.

Written and spoken text are brought to one canonical row of tokens: numbers are digits, dates are
dates, signs have names, units have one name. A string is understood where the joined tokens hold
it from the start of one token to the end of another, so "l i a m", "Liam" and "LIAM" are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from toolmark.perturb.text import numerals, ratios
from toolmark.perturb.text.facts import Fact
from toolmark.perturb.text.meaning import Meaning, understood
from toolmark.perturb.text.tables import MONTHS, ROMAN, STATES

State: TypeAlias = Literal["kept", "lost", "unstated"]
Span: TypeAlias = tuple[int, int]


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
