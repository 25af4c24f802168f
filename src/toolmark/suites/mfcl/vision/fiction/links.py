"""Who belongs to whom, so that no two pages contradict each other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from toolmark import seeds
from toolmark.suites.mfcl.vision.fiction.kinds import KINDS, Field

Cast: TypeAlias = Mapping[str, Sequence[str]]
"""The ids of each kind."""
Links: TypeAlias = dict[str, dict[str, str]]
"""The ids that an id's facts lead to, by the fact's name."""

# each of these belongs to the next one in turn, so that each owner has some where they suffice
_OWNED = {("album", "band"), ("product", "brand"), ("player", "team"), ("team", "league")}
# what an owner names is one of its own: the owner's fact, the fact that tells the owner
_OWN = {
    ("band", "first_album"): "band",
    ("brand", "first_product"): "brand",
    ("team", "captain"): "team",
    ("league", "champion"): "league",
}
_FINAL = ("cup", "scorer")  # is of the team that won
# what stands somewhere stands in that place's city
_WHERE = ("street", "venue", "home_ground", "start")
_FIRST = ("city", "street", "theatre", "stadium", "album", "product", "player", "team")


def draw(rng: random.Random, cast: Cast) -> Links:
    """Draw what every fact that leads on leads to."""
    links: Links = {id: {} for ids in cast.values() for id in ids}
    for kind in (*_FIRST, *(kind for kind in cast if kind not in _FIRST)):
        _owned(kind, cast, links)
    for kind in (*_FIRST, *(kind for kind in cast if kind not in _FIRST)):
        for id in cast[kind]:
            _fill(rng, kind, id, cast, links)
    return links


def _owned(kind: str, cast: Cast, links: Links) -> None:
    for field in KINDS[kind].fields:
        if (kind, field.name) in _OWNED:
            owners = cast[field.link]
            for i, id in enumerate(cast[kind]):
                links[id][field.name] = owners[i % len(owners)]


def _fill(rng: random.Random, kind: str, id: str, cast: Cast, links: Links) -> None:
    own = links[id]
    for field in KINDS[kind].fields:
        if not field.link or field.name in own or field.name == "city":
            continue
        options = _options(kind, id, field, cast, links)
        free = [one for one in options if one not in own.values() and one != id]
        own[field.name] = seeds.choice(rng, free or options)
    if any(field.name == "city" for field in KINDS[kind].fields):
        stands = [own[name] for name in _WHERE if name in own]
        cities = cast["city"]
        # streets lie in every other city, so that a city with streets has several
        own["city"] = (
            links[stands[0]]["city"]
            if stands
            else seeds.choice(rng, cities[::2] if kind == "street" else cities)
        )


def _options(kind: str, id: str, field: Field, cast: Cast, links: Links) -> Sequence[str]:
    """Return what a fact of an entity may lead to."""
    options = cast[field.link]
    if (kind, field.name) in _OWN:
        owner = _OWN[kind, field.name]
        return [one for one in options if links[one][owner] == id] or options
    if (kind, field.name) == _FINAL:
        return [one for one in options if links[one]["team"] == links[id]["winner"]] or options
    if (kind, field.name) == ("city", "twin"):  # twins are each other's
        at = options.index(id)
        return [options[at ^ 1 if at ^ 1 < len(options) else 0]]
    if field.name == "finish":
        city = links[links[id]["start"]]["city"]
        return [one for one in options if links[one]["city"] == city]
    if field.name == "start":
        return _busy(options, links)
    return options


def _busy(streets: Sequence[str], links: Links) -> Sequence[str]:
    """Return the streets of cities that have two at least."""
    count = Counter(links[one]["city"] for one in streets)
    held = [one for one in streets if count[links[one]["city"]] > 1]
    return held or streets
