"""The kinds of entities in the fictional world, and the fields of each (`entity_kinds.toml`).

A field is named by what it states (`opened`, `city`) and has a sort. Some fields link to another
entity. Sorts: place, date, time (of day), number, name, choice (words from a large vocabulary).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table
from toolmark.suites.mfcl_vision.item_records import Domain

ValueSort: TypeAlias = Literal["place", "date", "time", "number", "name", "choice"]


class FactField(DataRecord, frozen=True, kw_only=True):
    """A fact that every entity of a kind has. `link` is the kind of entity that it links to.

    `low` and `high` limit numbers, and the years of dates. `unit` is what numbers count.
    """

    name: str
    sort: ValueSort
    link: str = ""
    unit: str = ""
    low: int = 0
    high: int = 0


class EntityKind(DataRecord, frozen=True, kw_only=True):
    """A kind of entity: its noun, its domain, its fields in order.

    `share` is its number relative to other kinds. `domain` is "" for kinds that all domains use.
    """

    name: str
    noun: str
    domain: Domain | Literal[""] = ""
    share: Annotated[int, Meta(gt=0)]
    fields: tuple[FactField, ...]
    emblem: bool = False


class EntityKindTable(DataRecord, frozen=True):
    """The data file: kinds in the order in which they are drawn."""

    kinds: tuple[EntityKind, ...]


@cache
def entity_kinds() -> Mapping[str, EntityKind]:
    """Return the kinds by name."""
    table = read_table(__file__, "entity_kinds.toml", EntityKindTable)
    return {kind.name: kind for kind in table.kinds}
