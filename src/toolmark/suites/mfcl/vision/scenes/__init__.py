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

from toolmark.suites.mfcl.vision.item import Seen, Setting
from toolmark.suites.mfcl.vision.scenes import fields, halls, tables, walls
from toolmark.suites.mfcl.vision.scenes.cast import Cast, cast
from toolmark.suites.mfcl.vision.scenes.stage import Stage
from toolmark.suites.mfcl.vision.scenes.street import street

TRIES = 6  # how often a scene is drawn anew before it is given up


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of scene: what bears its signs ("shop sign"), how it is drawn, how many it holds."""

    bears: str
    draw: Callable[[random.Random, Cast], Stage]
    lookalikes: int = 6
    foreground: int = 1
    clutter: int = 2


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture (RGB, long side at most 1,536 pixels) and where the signs of its setting lie."""

    image: Image.Image
    seen: tuple[Seen, ...]


KINDS: Mapping[str, Kind] = {
    "street": Kind("shop sign", street),
    "books": Kind("book cover", walls.books),
    "records": Kind("record sleeve", walls.records),
    "cinema": Kind("film poster", halls.cinema),
    "gallery": Kind("card below a work of art", halls.gallery),
    "screens": Kind("television screen", halls.screens),
    "stage": Kind("banner above the stage", halls.stage),
    "station": Kind("hanging board", halls.station),
    "trophies": Kind("plate below a cup", halls.trophies),
    "market": Kind("board of a stall", fields.market),
    "park": Kind("plaque on a stone", fields.park),
    "parcels": Kind("package", tables.parcels),
    "race": Kind("runner's shirt", fields.race),
    "stadium": Kind("banner on the stand", fields.stadium),
    "team": Kind("jersey", fields.team),
    "tickets": Kind("ticket", tables.tickets),
    "window": Kind("sign that hangs in the window", tables.window),
    "posters": Kind("poster", walls.posters),
    "shelf": Kind("package", walls.shelf),
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
            stage = kind.draw(rng, cast(setting, rng, n / (TRIES - 1)))
        except ValueError:
            if n == TRIES - 1:
                raise
            continue
        return Drawn(*stage.finish())
    raise AssertionError("unreachable")
