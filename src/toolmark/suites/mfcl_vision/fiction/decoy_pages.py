"""Pages that name an entity but do not have the answer: archives, letters, lists, namesakes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.environments.page_corpus import MemoryPage
from toolmark.suites.mfcl_vision.fiction import entity_pages
from toolmark.suites.mfcl_vision.fiction.entity_facts import ValueDrawer
from toolmark.suites.mfcl_vision.fiction.entity_kinds import FactField, entity_kinds
from toolmark.suites.mfcl_vision.fiction.entity_records import Entity

FactsTemplate: TypeAlias = Annotated[str, Meta(pattern=placeholders("name", "labels"))]

_MAX_LISTED_NAMES = 6
_DATE_FIELD = FactField(name="", sort="date", low=1988, high=2024)
_NUMBER_FIELD = FactField(name="", sort="number", low=1_010, high=98_000)


class DecoyTexts(DataRecord, frozen=True):
    """The data file: the texts of each form of page, and the things that bear a namesake's word.

    {name}: the entity; {labels}: three of its facts; {names}: the entity among its look-alikes;
    {word}: its invented word; {a}: a thing with an article; {day}, {number}: drawn values.
    """

    archive: tuple[FactsTemplate, ...]
    letters: tuple[FactsTemplate, ...]
    lists: tuple[Annotated[str, Meta(pattern=placeholders("names"))], ...]
    namesakes: tuple[Annotated[str, Meta(pattern=placeholders("word", "a", "day", "number"))], ...]
    namesake_kinds: tuple[str, ...]


def decoy_texts() -> DecoyTexts:
    """Return the content of the data file."""
    return read_table(__file__, "decoy_pages.toml", DecoyTexts)


class DecoyWriter:
    """Writes decoy pages. Their values are drawn together with those of the world."""

    def __init__(self, rng: random.Random, draw: ValueDrawer) -> None:
        self._rng = rng
        self._values = draw

    def write_pages(
        self, entity: Entity, lookalikes: Sequence[Entity], n: int
    ) -> Iterator[MemoryPage]:
        """Yield n pages for an entity; list pages name its look-alikes too."""
        forms: list[Callable[[], tuple[str, str]]] = [
            lambda: self._archive_page(entity),
            lambda: self._letter_page(entity),
            lambda: self._list_page(entity, lookalikes),
            lambda: self._namesake_page(entity),
        ]
        seeds.shuffle_items(self._rng, forms)
        for i in range(n):
            title, text = forms[i % len(forms)]()
            href = f"https://{entity_pages.name_slug(title)}.example/{entity.id}/{i + 1}"
            yield entity_pages.make_page(href, title, [text])

    def _archive_page(self, entity: Entity) -> tuple[str, str]:
        return "Archived page", self._fill_text(decoy_texts().archive, entity)

    def _letter_page(self, entity: Entity) -> tuple[str, str]:
        return "Letters to the editor", self._fill_text(decoy_texts().letters, entity)

    def _fill_text(self, texts: Sequence[str], entity: Entity) -> str:
        names = [entity_pages.fact_label(name).lower() for name in entity.facts]
        seeds.shuffle_items(self._rng, names)
        labels = f"{', '.join(names[:2])} and {names[2]}"
        return seeds.draw_one(self._rng, texts).format(name=entity.name, labels=labels)

    def _list_page(self, entity: Entity, lookalikes: Sequence[Entity]) -> tuple[str, str]:
        names = [listed.name for listed in (entity, *lookalikes[: _MAX_LISTED_NAMES - 1])]
        seeds.shuffle_items(self._rng, names)
        noun = entity_kinds()[entity.kind].noun
        text = seeds.draw_one(self._rng, decoy_texts().lists).format(names="; ".join(names))
        return f"Names easily confused: {noun}", text

    def _namesake_page(self, entity: Entity) -> tuple[str, str]:
        texts = decoy_texts()
        thing, word = seeds.draw_one(self._rng, texts.namesake_kinds), entity.word
        text = seeds.draw_one(self._rng, texts.namesakes).format(
            word=word,
            a=entity_pages.with_article(thing),
            day=self._values.draw_value(_DATE_FIELD).text,
            number=self._values.draw_value(_NUMBER_FIELD).text,
        )
        return f"Register of names: {thing}", text
