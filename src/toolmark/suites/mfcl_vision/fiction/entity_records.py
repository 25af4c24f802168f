"""Records of the fictional world: entities and their facts."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.core.records import Record
from toolmark.suites.mfcl_vision.fiction.entity_kinds import ValueSort


class EntityFact(Record, frozen=True, kw_only=True):
    """One fact about an entity.

    `text` is the sentence on the page. `value` is the short exact answer as written in the sentence
    ("14 March 1997", "3,215", "Ostavel"). `unit` is what a number counts. `link` is the id of the
    entity that the value names. `order` is the sort key of dates, times and numbers: the day's
    number, the minute of the day, the number itself; 0 for others.
    """

    name: str
    sort: ValueSort
    text: str
    value: str
    unit: str = ""
    link: str = ""
    order: int = 0


class Entity(Record, frozen=True, kw_only=True):
    """A person, thing, place or organisation of the world.

    `emblem` describes its drawn symbol, "" without one. `word` is the invented word of the name; no
    other name contains it. `tribe` is shared by entities of a kind whose names are easy to confuse.
    """

    id: str
    kind: str
    name: str
    word: str
    tribe: str
    facts: Mapping[str, EntityFact]
    emblem: str = ""
