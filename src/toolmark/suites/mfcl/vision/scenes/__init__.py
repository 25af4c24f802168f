"""Scenes in which signs are read: drawn anew from a setting, with the box of every sign.

`render` draws a Setting; `KINDS` says what kinds of scenes there are and what each can hold.
Signs of the role `clue` and `lookalike` are borne by things of one kind, beside each other;
a `foreground` sign is on something nearer and larger, `clutter` on something small.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PIL import Image

from toolmark.suites.mfcl.vision.item import Domain, Seen, Setting
from toolmark.suites.mfcl.vision.scenes import fields, halls, tables, walls
from toolmark.suites.mfcl.vision.scenes.cast import Cast, cast
from toolmark.suites.mfcl.vision.scenes.stage import Stage
from toolmark.suites.mfcl.vision.scenes.street import street
from toolmark.types import Record

TRIES = 6  # how often a scene is drawn anew before it is given up


class Kind(Record, frozen=True, kw_only=True):
    """A kind of scene: what it shows, what bears its signs, how many it holds.

    `about`, `bears` and `near` are words for questions: the scene ("a street with shops"), what
    the clue and its look-alikes are on ("shop sign"), what a foreground sign is on.
    """

    about: str
    bears: str
    near: str
    domains: tuple[Domain, ...]
    lookalikes: int = 6
    foreground: int = 1
    clutter: int = 2


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture (RGB, long side at most 1,536 pixels) and where the signs of its setting lie."""

    image: Image.Image
    seen: tuple[Seen, ...]


KINDS: Mapping[str, Kind] = {
    "street": Kind(
        about="a street with shops",
        bears="shop sign",
        near="board on the pavement",
        domains=("places", "shopping"),
    ),
    "books": Kind(
        about="a rack of books and magazines",
        bears="book cover",
        near="board in front of the rack",
        domains=("media", "shopping"),
    ),
    "records": Kind(
        about="the shelves of a record shop",
        bears="record sleeve",
        near="board in front of the shelves",
        domains=("media", "shopping"),
    ),
    "cinema": Kind(
        about="the front of a cinema",
        bears="film poster",
        near="board in front of the cinema",
        domains=("media", "events"),
    ),
    "gallery": Kind(
        about="a room of a museum",
        bears="card below a work of art",
        near="board in front of the wall",
        domains=("places", "media"),
    ),
    "screens": Kind(
        about="a wall with television screens",
        bears="television screen",
        near="board in front of the wall",
        domains=("media", "sports"),
    ),
    "stage": Kind(
        about="a stage before an audience",
        bears="banner above the stage",
        near="board in front of the stage",
        domains=("events",),
    ),
    "station": Kind(
        about="the hall of a station",
        bears="hanging board",
        near="board on the floor",
        domains=("places",),
    ),
    "trophies": Kind(
        about="a cabinet of trophies",
        bears="plate below a cup",
        near="board in front of the cabinet",
        domains=("sports",),
    ),
    "market": Kind(
        about="a market with stalls",
        bears="board of a stall",
        near="board in front of the stalls",
        domains=("shopping", "events"),
    ),
    "park": Kind(
        about="a park with stones",
        bears="plaque on a stone",
        near="board on the grass",
        domains=("places",),
    ),
    "parcels": Kind(
        about="a table with packages",
        bears="package",
        near="leaflet in front of the packages",
        domains=("shopping",),
    ),
    "race": Kind(
        about="runners at the start of a race",
        bears="cloth on a runner's shirt",
        near="board at the roadside",
        domains=("sports", "events"),
    ),
    "stadium": Kind(
        about="a stadium",
        bears="banner on the stand",
        near="board on the pitch",
        domains=("sports",),
    ),
    "team": Kind(
        about="players of several teams side by side",
        bears="jersey",
        near="board in front of the players",
        domains=("sports",),
    ),
    "tickets": Kind(
        about="a table with tickets",
        bears="ticket",
        near="leaflet in front of the tickets",
        domains=("events", "media", "sports"),
    ),
    "window": Kind(
        about="the window of a clothes shop",
        bears="sign that hangs in the window",
        near="board on the pavement",
        domains=("shopping",),
    ),
    "posters": Kind(
        about="a wall of posters",
        bears="poster",
        near="board in front of the wall",
        domains=("events", "media"),
    ),
    "shelf": Kind(
        about="a shop shelf with goods",
        bears="package",
        near="board in front of the shelf",
        domains=("shopping",),
    ),
}

_SCENES: dict[str, Callable[[random.Random, Cast], Stage]] = {
    "books": walls.books,
    "market": fields.market,
    "park": fields.park,
    "race": fields.race,
    "stadium": fields.stadium,
    "team": fields.team,
    "parcels": tables.parcels,
    "tickets": tables.tickets,
    "window": tables.window,
    "cinema": halls.cinema,
    "gallery": halls.gallery,
    "posters": walls.posters,
    "records": walls.records,
    "screens": halls.screens,
    "shelf": walls.shelf,
    "stage": halls.stage,
    "station": halls.station,
    "street": street,
    "trophies": halls.trophies,
}


def render(setting: Setting, rng: random.Random) -> Drawn:
    """Draw a setting.

    Raises ValueError where its kind of scene is unknown, holds fewer signs, or where after some
    tries something would still be clipped, covered or too small to read.
    """
    kind = KINDS.get(setting.scene)
    if kind is None:
        raise ValueError(f"no scene {setting.scene!r}; try: {', '.join(KINDS)}")
    most = {"clue": 1, "lookalike": kind.lookalikes, "foreground": kind.foreground,
            "clutter": kind.clutter}  # fmt: skip
    for role, limit in most.items():
        if sum(sign.role == role for sign in setting.signs) > limit:
            raise ValueError(f"a {setting.scene} holds at most {limit} signs of role {role}")
    for n in range(TRIES):
        try:
            stage = _SCENES[setting.scene](rng, cast(setting, rng, n / (TRIES - 1)))
        except ValueError:
            if n == TRIES - 1:
                raise
            continue
        return Drawn(*stage.finish())
    raise AssertionError("unreachable")
