"""Paths through the world: from a visible entity, through linked facts, to the fact asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TypeAlias

from toolmark.suites.mfcl_vision.fiction import (
    Entity,
    EntityFact,
    FictionalWorld,
    ValueSort,
    entity_kinds,
)
from toolmark.suites.mfcl_vision.fiction.entity_kinds import FactField
from toolmark.suites.mfcl_vision.item_records import QueryKind

FactPath: TypeAlias = tuple[str, ...]

VALUE_SORTS: Mapping[QueryKind, tuple[ValueSort, ...]] = {
    "locate": ("place",),
    "temporal": ("date", "time"),
    "select": ("place", "date", "time", "name", "choice", "number"),
    "identify": ("name", "choice"),
    "quantify": ("number",),
}
"""The sorts of values that each query type asks for."""
# Kinds that a path may visit more than once.
_REPEATABLE_KINDS = ("person",)


@cache
def find_paths(start_kind: str, kind: QueryKind, hops: int) -> tuple[FactPath, ...]:
    """Return the fact names along all paths of `hops` pages to a fact of the query type."""
    return tuple(_walk_paths(start_kind, VALUE_SORTS[kind], hops, (start_kind,)))


def _walk_paths(
    kind: str, sorts: tuple[ValueSort, ...], hops: int, visited: tuple[str, ...]
) -> Iterator[FactPath]:
    for field in entity_kinds()[kind].fields:
        if hops == 1:
            if field.sort in sorts and field.link not in _visited_kinds(visited):
                yield (field.name,)
        elif _leads_on(field, visited):
            for remainder in _walk_paths(field.link, sorts, hops - 1, (*visited, field.link)):
                yield (field.name, *remainder)


def _leads_on(field: FactField, visited: tuple[str, ...]) -> bool:
    return bool(field.link) and field.link not in _visited_kinds(visited)


def _visited_kinds(visited: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds that a path must not visit again."""
    return tuple(kind for kind in visited if kind not in _REPEATABLE_KINDS)


def follow_path(
    fictional_world: FictionalWorld, start: Entity, path: FactPath
) -> tuple[tuple[Entity, ...], EntityFact]:
    """Return the entities along the path, the start first, and the fact at its end."""
    along = [start]
    for name in path[:-1]:
        along.append(fictional_world.entity(along[-1].facts[name].link))
    return tuple(along), along[-1].facts[path[-1]]
