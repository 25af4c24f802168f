"""The facts of an entity: values that no other entity has, and sentences with them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from toolmark.core import seeds
from toolmark.suites.mfcl_vision.answer_spellings import MONTHS
from toolmark.suites.mfcl_vision.fiction import entity_names, fact_sentences, value_vocabulary
from toolmark.suites.mfcl_vision.fiction.entity_kinds import FactField, entity_kinds
from toolmark.suites.mfcl_vision.fiction.entity_records import EntityFact
from toolmark.suites.mfcl_vision.fiction.invented_words import WordMaker

_MAX_TRIES = 2_000


class FactValue(NamedTuple):
    """A value as text, and its sort key among values of its kind."""

    text: str
    order: int = 0


class ValueDrawer:
    """Draws values; none is used twice in a world."""

    def __init__(self, rng: random.Random, word_maker: WordMaker) -> None:
        self._rng = rng
        self._word_maker = word_maker
        self._taken: set[str] = set()

    def draw_value(self, field: FactField, kind: str = "") -> FactValue:
        """Draw the value of a fact without a link. Raises ValueError if no unused value is found.

        A former name has the pattern of names of this `kind`.
        """
        match field.sort:
            case "date":
                return self._draw_unused(lambda: draw_day(self._rng, field.low, field.high))
            case "time":
                return self._draw_unused(lambda: _draw_time(self._rng, field.low, field.high))
            case "number":
                return self._draw_unused(lambda: draw_number(self._rng, field.low, field.high))
            case "choice":
                return self._draw_unused(
                    lambda: FactValue(value_vocabulary.draw_value(self._rng, field.name))
                )
            case _ if field.name == "former_name":
                return FactValue(entity_names.draw_single_name(self._rng, self._word_maker, kind))
            case _:
                return FactValue(
                    entity_names.draw_coined_name(self._rng, self._word_maker, field.name)
                )

    def _draw_unused(self, draw: Callable[[], FactValue]) -> FactValue:
        for _ in range(_MAX_TRIES):
            value = draw()
            if value.text not in self._taken:
                self._taken.add(value.text)
                return value
        raise ValueError("no value is left that no other entity has: draw a smaller world")


def draw_day(rng: random.Random, low: int, high: int) -> FactValue:
    """Return a day between the first and the last of these years."""
    first, last = date(low, 1, 1).toordinal(), date(high, 12, 31).toordinal()
    drawn = date.fromordinal(seeds.draw_between(rng, first, last))
    return FactValue(f"{drawn.day} {MONTHS[drawn.month - 1]} {drawn.year}", drawn.toordinal())


def draw_number(rng: random.Random, low: int, high: int) -> FactValue:
    """Return a number that does not end in 0."""
    drawn = seeds.draw_between(rng, low, high)
    while drawn % 10 == 0:
        drawn = seeds.draw_between(rng, low, high)
    return FactValue(f"{drawn:,}", drawn)


def _draw_time(rng: random.Random, low: int, high: int) -> FactValue:
    minute = seeds.draw_between(rng, low * 60, high * 60 - 1)
    return FactValue(f"{minute // 60}:{minute % 60:02}", minute)


class SpokenSubject(NamedTuple):
    """The ways to refer to an entity in sentences: name, noun or pronoun, possessive."""

    name: str
    short_name: str
    possessive: str


def make_subject(kind: str, name: str) -> SpokenSubject:
    """Return the ways to refer to an entity."""
    if kind not in ("person", "player"):
        return SpokenSubject(name, f"the {entity_kinds()[kind].noun}", "its")
    she = name.split()[0] in entity_names.name_table().women
    return SpokenSubject(name, "she" if she else "he", "her" if she else "his")


def write_sentence(
    rng: random.Random, kind: str, field: FactField, subject_forms: SpokenSubject, value: str
) -> str:
    """Return a sentence with a fact."""
    sentence = seeds.draw_one(rng, fact_sentences.sentences_for(kind, field.name))
    reference = subject_forms.name if seeds.draw_below(rng, 2) else subject_forms.short_name
    inner_reference = subject_forms.name if reference in ("he", "she") else reference
    text = sentence.format(
        It=_capitalise_first(reference),
        it=inner_reference,
        its=subject_forms.possessive,
        Its=_capitalise_first(subject_forms.possessive),
        v=value,
    )
    return _capitalise_first(text)


def make_fact(field: FactField, text: str, value: FactValue, link: str) -> EntityFact:
    """Return a fact."""
    return EntityFact(
        name=field.name,
        sort=field.sort,
        text=text,
        value=value.text,
        unit=field.unit,
        link=link,
        order=value.order,
    )


def _capitalise_first(text: str) -> str:
    return text[:1].upper() + text[1:]
