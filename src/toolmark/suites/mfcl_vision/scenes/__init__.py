"""Scenes with signs, drawn from a setting, with the box of every sign.

`render_scene` draws a `SceneSetting`. `SCENE_KINDS` lists the kinds of scenes and what each can
show. Signs with the role `clue` and `lookalike` are on objects of one kind, next to each other. A
`foreground` sign is on a nearer and larger object, a `clutter` sign on a small one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from PIL import Image

from toolmark.suites.mfcl_vision.item_records import PlacedSign, SceneSetting
from toolmark.suites.mfcl_vision.scenes import (
    indoor_scenes,
    outdoor_scenes,
    table_scenes,
    wall_scenes,
)
from toolmark.suites.mfcl_vision.scenes.scene_canvas import SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import SignArrangement, arrange_signs
from toolmark.suites.mfcl_vision.scenes.street_scene import draw_street

# Attempts to draw a scene before it fails.
MAX_TRIES = 6


@dataclass(frozen=True, slots=True)
class SceneKind:
    """A kind of scene: what shows its signs ("shop sign"), its drawing function, its capacities."""

    sign_carrier: str
    draw: Callable[[random.Random, SignArrangement], SceneCanvas]
    lookalikes: int = 6
    foreground: int = 1
    clutter: int = 2


@dataclass(frozen=True, slots=True)
class DrawnScene:
    """A picture (RGB, long side at most 1,536 pixels) and the positions of the setting's signs."""

    image: Image.Image
    placed_signs: tuple[PlacedSign, ...]


def _board_scene(sign_carrier: str, objects: wall_scenes.BoardObjects) -> SceneKind:
    return SceneKind(sign_carrier, partial(wall_scenes.draw_boards, objects=objects))


SCENE_KINDS: Mapping[str, SceneKind] = {
    "street": SceneKind("shop sign", draw_street),
    "books": _board_scene("book cover", wall_scenes.BOOKS),
    "records": _board_scene("record sleeve", wall_scenes.RECORDS),
    "cinema": SceneKind("film poster", indoor_scenes.draw_cinema),
    "gallery": SceneKind("card below a work of art", indoor_scenes.draw_gallery),
    "screens": SceneKind("television screen", indoor_scenes.draw_screens),
    "stage": SceneKind("banner above the stage", indoor_scenes.draw_stage),
    "station": SceneKind("hanging board", indoor_scenes.draw_station),
    "trophies": SceneKind("plate below a cup", indoor_scenes.draw_trophies),
    "market": SceneKind("board of a stall", outdoor_scenes.draw_market),
    "park": SceneKind("plaque on a stone", outdoor_scenes.draw_park),
    "parcels": SceneKind("package", table_scenes.draw_parcels),
    "race": SceneKind("runner's shirt", outdoor_scenes.draw_race),
    "stadium": SceneKind("banner on the stand", outdoor_scenes.draw_stadium),
    "team": SceneKind("jersey", outdoor_scenes.draw_team),
    "tickets": SceneKind("ticket", table_scenes.draw_tickets),
    "window": SceneKind("sign that hangs in the window", table_scenes.draw_window),
    "posters": SceneKind("poster", wall_scenes.draw_posters),
    "shelf": _board_scene("package", wall_scenes.GOODS),
}


def render_scene(setting: SceneSetting, rng: random.Random) -> DrawnScene:
    """Return a drawn setting.

    Raises ValueError for an unknown kind of scene, and for more signs than it can show. Raises
    ValueError too if after some attempts a sign is still clipped, covered or too small to read.
    """
    kind = SCENE_KINDS.get(setting.scene)
    if kind is None:
        raise ValueError(f"no scene {setting.scene!r}; try: {', '.join(SCENE_KINDS)}")
    max_by_role = {"clue": 1, "lookalike": kind.lookalikes, "foreground": kind.foreground,
            "clutter": kind.clutter}  # fmt: skip
    for role, limit in max_by_role.items():
        if sum(sign.role == role for sign in setting.signs) > limit:
            raise ValueError(f"a {setting.scene} holds at most {limit} signs of role {role}")
    for n in range(MAX_TRIES):
        try:
            canvas = kind.draw(rng, arrange_signs(setting, rng, n / (MAX_TRIES - 1)))
        except ValueError:
            if n == MAX_TRIES - 1:
                raise
            continue
        return DrawnScene(*canvas.finish_picture())
    raise AssertionError("unreachable")
