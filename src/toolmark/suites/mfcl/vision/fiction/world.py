"""A drawn world: its entities, and its pages."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from toolmark import seeds
from toolmark.suites.mfcl.vision.fiction import decoys, emblem, facts, links, names, pages
from toolmark.suites.mfcl.vision.fiction.entity import Entity, Fact
from toolmark.suites.mfcl.vision.fiction.kinds import KINDS
from toolmark.suites.mfcl.vision.fiction.words import Mint, head
from toolmark.worlds.corpus import Page

LEAST, MOST = 300, 3_000  # entities: of every kind a tribe at least; values for all at most


class World:
    """Entities with a page each, and pages that lead nowhere.

    The entities and their pages are the same whatever the number of distractors.
    """

    def __init__(self, entities: Sequence[Entity], own: Sequence[Page], vain: Sequence[Page]):
        self.entities = tuple(entities)
        self.pages = (*own, *vain)
        self._by_id = {entity.id: entity for entity in self.entities}
        self._own = dict(zip(self._by_id, own, strict=True))
        self._by_kind: dict[str, tuple[Entity, ...]] = {
            kind: tuple(entity for entity in self.entities if entity.kind == kind) for kind in KINDS
        }

    @classmethod
    def draw(cls, seed: int, *, size: int, distractors: int) -> World:
        """Draw a world of so many entities, with so many pages without answers for each.

        Raises ValueError for a size that no world has, and for distractors below 0.
        """
        if not LEAST <= size <= MOST:
            raise ValueError(f"a world of {size} entities: {LEAST} to {MOST}")
        if distractors < 0:
            raise ValueError(f"{distractors} distractors: 0 or more")
        mint = Mint(_rng(seed, "words"))
        draw = facts.Draw(_rng(seed, "values"), mint)
        entities = list(_entities(seed, size, mint, draw))
        rng = _rng(seed, "pages")
        own = [pages.page(rng, entity) for entity in entities]
        return cls(entities, own, _vain(seed, entities, draw, distractors))

    def entity(self, id: str) -> Entity:
        """Return the entity of an id. Raises KeyError for another text."""
        return self._by_id[id]

    def of(self, kind: str) -> tuple[Entity, ...]:
        """Return the entities of a kind. Raises KeyError for another text."""
        return self._by_kind[kind]

    def page(self, id: str) -> Page:
        """Return the page that tells of an entity."""
        return self._own[id]

    def alike(self, entity: Entity, rng: random.Random, n: int) -> tuple[Entity, ...]:
        """Draw n entities of the same kind whose names are near, nearest first where they differ.

        Raises ValueError where there are not so many.
        """
        others = [one for one in self.of(entity.kind) if one.id != entity.id]
        if n > len(others):
            raise ValueError(f"{entity.kind}: {n} look-alikes of {len(others)} others")
        seeds.shuffle(rng, others)
        return tuple(sorted(others, key=lambda one: _distance(entity, one))[:n])


def _distance(entity: Entity, other: Entity) -> int:
    """Return how far a name is: of the tribe, sharing a word or the beginning, none of these."""
    if entity.tribe == other.tribe:
        return 0
    shared = set(entity.name.split()) & set(other.name.split())
    return 1 if shared or head(entity.word) == head(other.word) else 2


def _rng(seed: int, purpose: str) -> random.Random:
    return seeds.of(seed, "fiction", 0, purpose)


def _entities(seed: int, size: int, mint: Mint, draw: facts.Draw) -> Iterator[Entity]:
    named = dict(_named(seed, size, mint))
    cast = {kind: [id for id in named if id.rpartition("-")[0] == kind] for kind in KINDS}
    led = links.draw(_rng(seed, "links"), cast)
    symbols = _emblems(seed, named)
    rng = _rng(seed, "texts")
    for id, name in named.items():
        kind = id.rpartition("-")[0]
        yield Entity(
            id=id,
            kind=kind,
            name=name.name,
            word=name.word,
            tribe=f"{kind}/{name.tribe}",
            emblem=symbols.get(id, ""),
            facts={fact.name: fact for fact in _facts(rng, kind, id, named, led, draw)},
        )


def _named(seed: int, size: int, mint: Mint) -> Iterator[tuple[str, names.Name]]:
    rng, whole = _rng(seed, "names"), sum(kind.share for kind in KINDS.values())
    for kind in KINDS.values():
        n = max(names.TRIBE, size * kind.share // whole)
        for i, name in enumerate(names.draw(rng, mint, kind.name, n)):
            yield f"{kind.name}-{i}", name


def _emblems(seed: int, named: dict[str, names.Name]) -> dict[str, str]:
    """Draw a symbol for each that has one; half of a tribe share the charge."""
    rng, taken = _rng(seed, "emblems"), set[frozenset[str]]()
    symbols, shared = {}, ""
    for id in named:
        kind, _, number = id.rpartition("-")
        if not KINDS[kind].emblem:
            continue
        at = int(number) % names.TRIBE
        if not at:
            shared = seeds.choice(rng, emblem.CHARGES)
        charge = shared if at % 2 == 0 else seeds.choice(rng, emblem.CHARGES)
        symbols[id] = emblem.draw(rng, charge, taken)
    return symbols


def _facts(
    rng: random.Random, kind: str, id: str, named: dict[str, names.Name], led: links.Links,
    draw: facts.Draw,
) -> Iterator[Fact]:  # fmt: skip
    who = facts.subject(kind, named[id].name)
    for field in KINDS[kind].fields:
        link = led[id].get(field.name, "")
        value = facts.Value(named[link].name) if link else draw.value(field, kind)
        yield facts.fact(field, facts.tell(rng, kind, field, who, value.text), value, link)


def _vain(
    seed: int, entities: Sequence[Entity], draw: facts.Draw, distractors: int
) -> list[Page]:  # fmt: skip
    maker = decoys.Maker(_rng(seed, "decoys"), draw)
    tribes: dict[str, list[Entity]] = {}
    for entity in entities:
        tribes.setdefault(entity.tribe, []).append(entity)
    return [
        page
        for entity in entities
        for page in maker.pages(
            entity, [one for one in tribes[entity.tribe] if one is not entity], distractors
        )
    ]
