"""A drawn world: its entities, and its pages."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from toolmark.core import seeds
from toolmark.environments.page_corpus import MemoryPage
from toolmark.suites.mfcl_vision.fiction import (
    decoy_pages,
    emblem_descriptions,
    entity_facts,
    entity_links,
    entity_names,
    entity_pages,
)
from toolmark.suites.mfcl_vision.fiction.entity_kinds import entity_kinds
from toolmark.suites.mfcl_vision.fiction.entity_records import Entity, EntityFact
from toolmark.suites.mfcl_vision.fiction.invented_words import WordMaker, word_beginning

# Entities: at least one tribe of every kind; at most as many as there are values for.
MIN_ENTITIES = 300
MAX_ENTITIES = 3_000


class FictionalWorld:
    """Entities with a page each, and decoy pages.

    The entities and their pages are the same for every number of distractors.
    """

    def __init__(
        self,
        entities: Sequence[Entity],
        own_pages: Sequence[MemoryPage],
        distractor_pages: Sequence[MemoryPage],
    ):
        self.entities = tuple(entities)
        self.pages = (*own_pages, *distractor_pages)
        self._by_id = {entity.id: entity for entity in self.entities}
        self._page_by_id = dict(zip(self._by_id, own_pages, strict=True))
        self._by_kind: dict[str, tuple[Entity, ...]] = {
            kind: tuple(entity for entity in self.entities if entity.kind == kind)
            for kind in entity_kinds()
        }

    @classmethod
    def draw_world(cls, seed: int, *, size: int, distractors: int) -> FictionalWorld:
        """Draw a world with this number of entities, and this number of decoy pages for each.

        Raises ValueError for a size that is not possible, and for distractors below 0.
        """
        if not MIN_ENTITIES <= size <= MAX_ENTITIES:
            raise ValueError(f"a world of {size} entities: {MIN_ENTITIES} to {MAX_ENTITIES}")
        if distractors < 0:
            raise ValueError(f"{distractors} distractors: 0 or more")
        word_maker = WordMaker(_make_rng(seed, "words"))
        draw = entity_facts.ValueDrawer(_make_rng(seed, "values"), word_maker)
        entities = list(_draw_entities(seed, size, word_maker, draw))
        rng = _make_rng(seed, "pages")
        own_pages = [entity_pages.write_entity_page(rng, entity) for entity in entities]
        return cls(entities, own_pages, _write_decoys(seed, entities, draw, distractors))

    def entity(self, id: str) -> Entity:
        """Return the entity of an id. Raises KeyError for an unknown id."""
        return self._by_id[id]

    def entities_of_kind(self, kind: str) -> tuple[Entity, ...]:
        """Return the entities of a kind. Raises KeyError for an unknown kind."""
        return self._by_kind[kind]

    def page(self, id: str) -> MemoryPage:
        """Return the page of the entity with this id."""
        return self._page_by_id[id]

    def draw_lookalikes(self, entity: Entity, rng: random.Random, n: int) -> tuple[Entity, ...]:
        """Return n entities of the same kind with similar names, most similar first.

        Raises ValueError if there are fewer.
        """
        others = [
            candidate
            for candidate in self.entities_of_kind(entity.kind)
            if candidate.id != entity.id
        ]
        if n > len(others):
            raise ValueError(f"{entity.kind}: {n} look-alikes of {len(others)} others")
        seeds.shuffle_items(rng, others)
        return tuple(sorted(others, key=lambda candidate: _name_distance(entity, candidate))[:n])


def _name_distance(entity: Entity, second: Entity) -> int:
    """Return 0 for a name of the same tribe, 1 for a shared word or beginning, 2 for others."""
    if entity.tribe == second.tribe:
        return 0
    shared = set(entity.name.split()) & set(second.name.split())
    return 1 if shared or word_beginning(entity.word) == word_beginning(second.word) else 2


def _make_rng(seed: int, purpose: str) -> random.Random:
    return seeds.make_rng(seed, "fiction", 0, purpose)


def _draw_entities(
    seed: int, size: int, word_maker: WordMaker, draw: entity_facts.ValueDrawer
) -> Iterator[Entity]:
    name_by_id = dict(_draw_names(seed, size, word_maker))
    ids_by_kind = {
        kind: [id for id in name_by_id if id.rpartition("-")[0] == kind] for kind in entity_kinds()
    }
    led_entities = entity_links.draw_links(_make_rng(seed, "links"), ids_by_kind)
    symbols = _draw_emblems(seed, name_by_id)
    rng = _make_rng(seed, "texts")
    for id, name in name_by_id.items():
        kind = id.rpartition("-")[0]
        yield Entity(
            id=id,
            kind=kind,
            name=name.name,
            word=name.word,
            tribe=f"{kind}/{name.tribe}",
            emblem=symbols.get(id, ""),
            facts={
                fact.name: fact
                for fact in _draw_facts(rng, kind, id, name_by_id, led_entities, draw)
            },
        )


def _draw_names(
    seed: int, size: int, word_maker: WordMaker
) -> Iterator[tuple[str, entity_names.EntityName]]:
    rng, total_share = _make_rng(seed, "names"), sum(kind.share for kind in entity_kinds().values())
    for kind in entity_kinds().values():
        n = max(entity_names.TRIBE_SIZE, size * kind.share // total_share)
        for i, name in enumerate(entity_names.draw_names(rng, word_maker, kind.name, n)):
            yield f"{kind.name}-{i}", name


def _draw_emblems(seed: int, name_by_id: dict[str, entity_names.EntityName]) -> dict[str, str]:
    """Return a symbol for each id that has one; about half of a tribe share the charge."""
    rng, taken = _make_rng(seed, "emblems"), set[frozenset[str]]()
    symbols, shared = {}, ""
    for id in name_by_id:
        kind, _, number = id.rpartition("-")
        if not entity_kinds()[kind].emblem:
            continue
        position = int(number) % entity_names.TRIBE_SIZE
        if not position:
            shared = seeds.draw_one(rng, emblem_descriptions.CHARGES)
        charge = shared if position % 2 == 0 else seeds.draw_one(rng, emblem_descriptions.CHARGES)
        symbols[id] = emblem_descriptions.draw_description(rng, charge, taken)
    return symbols


def _draw_facts(
    rng: random.Random,
    kind: str,
    id: str,
    name_by_id: dict[str, entity_names.EntityName],
    led_entities: entity_links.EntityLinks,
    draw: entity_facts.ValueDrawer,
) -> Iterator[EntityFact]:
    subject = entity_facts.make_subject(kind, name_by_id[id].name)
    for field in entity_kinds()[kind].fields:
        link = led_entities[id].get(field.name, "")
        value = (
            entity_facts.FactValue(name_by_id[link].name) if link else draw.draw_value(field, kind)
        )
        yield entity_facts.make_fact(
            field, entity_facts.write_sentence(rng, kind, field, subject, value.text), value, link
        )


def _write_decoys(
    seed: int, entities: Sequence[Entity], draw: entity_facts.ValueDrawer, distractors: int
) -> list[MemoryPage]:  # fmt: skip
    maker = decoy_pages.DecoyWriter(_make_rng(seed, "decoys"), draw)
    tribes: dict[str, list[Entity]] = {}
    for entity in entities:
        tribes.setdefault(entity.tribe, []).append(entity)
    return [
        page
        for entity in entities
        for page in maker.write_pages(
            entity,
            [lookalike for lookalike in tribes[entity.tribe] if lookalike is not entity],
            distractors,
        )
    ]
