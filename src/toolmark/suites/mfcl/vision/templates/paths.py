"""Ways through the world: from what is seen, over what its facts lead to, to what is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TypeAlias

from toolmark.suites.mfcl.vision.fiction import KINDS, Entity, Fact, Sort, World
from toolmark.suites.mfcl.vision.fiction.kinds import Field
from toolmark.suites.mfcl.vision.item import Kind

Path: TypeAlias = tuple[str, ...]

SORTS: Mapping[Kind, tuple[Sort, ...]] = {
    "locate": ("place",),
    "temporal": ("date", "time"),
    "select": ("place", "date", "time", "name", "choice", "number"),
    "identify": ("name", "choice"),
    "quantify": ("number",),
}
"""What each query type asks for."""
_TWICE = ("person",)  # kinds through which a way may lead more than once


@cache
def paths(sees: str, kind: Kind, hops: int) -> tuple[Path, ...]:
    """Return the names of facts along all ways of so many pages to a fact of the query type."""
    return tuple(_walk(sees, SORTS[kind], hops, (sees,)))


def _walk(at: str, sorts: tuple[Sort, ...], hops: int, past: tuple[str, ...]) -> Iterator[Path]:
    for field in KINDS[at].fields:
        if hops == 1:
            if field.sort in sorts and field.link not in _barred(past):
                yield (field.name,)
        elif _leads(field, past):
            for rest in _walk(field.link, sorts, hops - 1, (*past, field.link)):
                yield (field.name, *rest)


def _leads(field: Field, past: tuple[str, ...]) -> bool:
    return bool(field.link) and field.link not in _barred(past)


def _barred(past: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds that would lead back to where the way was before."""
    return tuple(kind for kind in past if kind not in _TWICE)


def follow(world: World, start: Entity, path: Path) -> tuple[tuple[Entity, ...], Fact]:
    """Return whom the way leads over, the start first, and the fact at its end."""
    along = [start]
    for name in path[:-1]:
        along.append(world.entity(along[-1].facts[name].link))
    return tuple(along), along[-1].facts[path[-1]]
