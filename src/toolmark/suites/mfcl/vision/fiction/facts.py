"""The facts of an entity: values that no other entity has, and the sentences that tell them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import date
from typing import NamedTuple

from toolmark import seeds
from toolmark.suites.mfcl.vision.fiction import names, phrases, vocabulary
from toolmark.suites.mfcl.vision.fiction.entity import Fact
from toolmark.suites.mfcl.vision.fiction.kinds import KINDS, Field
from toolmark.suites.mfcl.vision.fiction.words import Mint
from toolmark.suites.mfcl.vision.forms import MONTHS

_TRIES = 2_000
# how names are made that lead nowhere, out of an invented word
_COINED: Mapping[str, tuple[str, ...]] = {
    "river": ("{}",),
    "school": ("{} Academy", "{} Grammar School", "{} College"),
    "dog": ("{}",),
    "mascot": ("{}",),
    "publisher": ("{} Press", "{} Editions", "{} Books"),
}


class Value(NamedTuple):
    """A value as it is told, and its place in the order of its sort."""

    text: str
    order: int = 0


class Draw:
    """Draws values, none twice in a world."""

    def __init__(self, rng: random.Random, mint: Mint) -> None:
        self._rng = rng
        self._mint = mint
        self._taken: set[str] = set()

    def value(self, field: Field, kind: str = "") -> Value:
        """Draw the value of a fact that leads nowhere. Raises ValueError where none is left.

        A former name is one as those of the `kind`.
        """
        match field.sort:
            case "date":
                return self._new(lambda: day(self._rng, field.low, field.high))
            case "time":
                return self._new(lambda: _time(self._rng, field.low, field.high))
            case "number":
                return self._new(lambda: number(self._rng, field.low, field.high))
            case "choice":
                return self._new(lambda: Value(vocabulary.draw(self._rng, field.name)))
            case _ if field.name == "former_name":
                return Value(names.one(self._rng, self._mint, kind))
            case _:
                pattern = seeds.choice(self._rng, _COINED[field.name])
                return Value(pattern.format(self._mint.word()))

    def _new(self, made: Callable[[], Value]) -> Value:
        for _ in range(_TRIES):
            value = made()
            if value.text not in self._taken:
                self._taken.add(value.text)
                return value
        raise ValueError("no value is left that no other entity has: draw a smaller world")


def day(rng: random.Random, low: int, high: int) -> Value:
    """Draw a day of the years from low to high."""
    first, last = date(low, 1, 1).toordinal(), date(high, 12, 31).toordinal()
    drawn = date.fromordinal(seeds.between(rng, first, last))
    return Value(f"{drawn.day} {MONTHS[drawn.month - 1]} {drawn.year}", drawn.toordinal())


def number(rng: random.Random, low: int, high: int) -> Value:
    """Draw a number that does not look rounded."""
    drawn = seeds.between(rng, low, high)
    while drawn % 10 == 0:
        drawn = seeds.between(rng, low, high)
    return Value(f"{drawn:,}", drawn)


def _time(rng: random.Random, low: int, high: int) -> Value:
    minute = seeds.between(rng, low * 60, high * 60 - 1)
    return Value(f"{minute // 60}:{minute % 60:02}", minute)


class Subject(NamedTuple):
    """How sentences speak of an entity: by name, by its kind, whose its things are."""

    name: str
    short: str
    its: str


def subject(kind: str, name: str) -> Subject:
    """Return how an entity is spoken of."""
    if kind not in ("person", "player"):
        return Subject(name, f"the {KINDS[kind].noun}", "its")
    she = name.split()[0] in names.WOMEN.split()
    return Subject(name, "she" if she else "he", "her" if she else "his")


def tell(rng: random.Random, kind: str, field: Field, who: Subject, value: str) -> str:
    """Put a fact into a sentence."""
    sentence = seeds.choice(rng, phrases.of(kind, field.name))
    it = who.name if seeds.below(rng, 2) else who.short
    inner = who.name if it in ("he", "she") else it
    told = sentence.format(It=_upper(it), it=inner, its=who.its, Its=_upper(who.its), v=value)
    return _upper(told)


def fact(field: Field, text: str, value: Value, link: str) -> Fact:
    """Make a fact."""
    return Fact(
        name=field.name,
        sort=field.sort,
        text=text,
        value=value.text,
        unit=field.unit,
        link=link,
        order=value.order,
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
