"""Links between entities, drawn so that no two pages contradict each other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from toolmark.core import seeds
from toolmark.suites.mfcl_vision.fiction.entity_kinds import FactField, entity_kinds

IdsByKind: TypeAlias = Mapping[str, Sequence[str]]
"""The ids of each kind."""
EntityLinks: TypeAlias = dict[str, dict[str, str]]
"""The linked ids of each id, by the name of the fact."""

# Members are assigned to owners in turn, so that each owner has some if there are enough.
_ASSIGNED_IN_TURN = {
    ("album", "band"),
    ("product", "brand"),
    ("player", "team"),
    ("team", "league"),
}
# An owner's fact names one of its own members: the owner's fact, and the member's fact that names
# the owner.
_OWNER_FACTS = {
    ("band", "first_album"): "band",
    ("brand", "first_product"): "brand",
    ("team", "captain"): "team",
    ("league", "champion"): "league",
}
# The scorer is a player of the team that won.
_CUP_SCORER = ("cup", "scorer")
# An entity at one of these locations is in the city of that location.
_LOCATION_FACTS = ("street", "venue", "home_ground", "start")
_FIRST_KINDS = ("city", "street", "theatre", "stadium", "album", "product", "player", "team")


def draw_links(rng: random.Random, ids_by_kind: IdsByKind) -> EntityLinks:
    """Draw the target of every fact with a link."""
    links: EntityLinks = {id: {} for ids in ids_by_kind.values() for id in ids}
    for kind in (*_FIRST_KINDS, *(kind for kind in ids_by_kind if kind not in _FIRST_KINDS)):
        _assign_owners(kind, ids_by_kind, links)
    for kind in (*_FIRST_KINDS, *(kind for kind in ids_by_kind if kind not in _FIRST_KINDS)):
        for id in ids_by_kind[kind]:
            _fill_links(rng, kind, id, ids_by_kind, links)
    return links


def _assign_owners(kind: str, ids_by_kind: IdsByKind, links: EntityLinks) -> None:
    for field in entity_kinds()[kind].fields:
        if (kind, field.name) in _ASSIGNED_IN_TURN:
            owners = ids_by_kind[field.link]
            for i, id in enumerate(ids_by_kind[kind]):
                links[id][field.name] = owners[i % len(owners)]


def _fill_links(
    rng: random.Random, kind: str, id: str, ids_by_kind: IdsByKind, links: EntityLinks
) -> None:
    entity_links = links[id]
    for field in entity_kinds()[kind].fields:
        if not field.link or field.name in entity_links or field.name == "city":
            continue
        options = _link_options(kind, id, field, ids_by_kind, links)
        unused = [
            option for option in options if option not in entity_links.values() and option != id
        ]
        entity_links[field.name] = seeds.draw_one(rng, unused or options)
    if any(field.name == "city" for field in entity_kinds()[kind].fields):
        locations = [entity_links[name] for name in _LOCATION_FACTS if name in entity_links]
        cities = ids_by_kind["city"]
        # Streets are only in every other city, so that a city with streets has several.
        entity_links["city"] = (
            links[locations[0]]["city"]
            if locations
            else seeds.draw_one(rng, cities[::2] if kind == "street" else cities)
        )


def _link_options(
    kind: str, id: str, field: FactField, ids_by_kind: IdsByKind, links: EntityLinks
) -> Sequence[str]:
    """Return the possible targets of an entity's fact."""
    options = ids_by_kind[field.link]
    if (kind, field.name) in _OWNER_FACTS:
        owner = _OWNER_FACTS[kind, field.name]
        return [option for option in options if links[option][owner] == id] or options
    if (kind, field.name) == _CUP_SCORER:
        return [
            option for option in options if links[option]["team"] == links[id]["winner"]
        ] or options
    # Twin cities name each other.
    if (kind, field.name) == ("city", "twin"):
        i = options.index(id)
        return [options[i ^ 1 if i ^ 1 < len(options) else 0]]
    if field.name == "finish":
        city = links[links[id]["start"]]["city"]
        return [option for option in options if links[option]["city"] == city]
    if field.name == "start":
        return _streets_of_shared_cities(options, links)
    return options


def _streets_of_shared_cities(streets: Sequence[str], links: EntityLinks) -> Sequence[str]:
    """Return the streets of cities with at least two streets; if there are none, all streets."""
    count = Counter(links[street]["city"] for street in streets)
    shared = [street for street in streets if count[links[street]["city"]] > 1]
    return shared or streets
