"""What the fictional world is made of: entities and their facts."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.suites.mfcl.vision.fiction.kinds import Sort
from toolmark.types import Record


class Fact(Record, frozen=True, kw_only=True):
    """One thing that is known of an entity.

    `text` is the sentence on the page, `value` the short precise answer as it stands in it
    ("14 March 1997", "3,215", "Ostavel"), `unit` what a number counts, `link` the id of the entity
    that the value names. `order` compares dates, times and numbers: the day's number, the minute
    of the day, the number itself; 0 for others.
    """

    name: str
    sort: Sort
    text: str
    value: str
    unit: str = ""
    link: str = ""
    order: int = 0


class Entity(Record, frozen=True, kw_only=True):
    """Somebody or something. `emblem` tells its drawn symbol in words, "" without one.

    `word` is the invented word of the name, which no other name holds. `tribe` is shared by
    entities of a kind that were named to be mistaken for each other.
    """

    id: str
    kind: str
    name: str
    word: str
    tribe: str
    facts: Mapping[str, Fact]
    emblem: str = ""
