"""Furnished rooms seen from above, in centimetres: x to the right, y down the picture.

Directions are computed from several spots in front of a thing, so that a statement about "in front
of the sofa" is true at every such spot.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, cos, degrees, hypot, inf, radians, sin
from random import Random
from typing import NamedTuple, TypeAlias

from toolmark.core import seeds

# width and depth of furniture at a wall, of free-standing furniture, and of openings in a wall
WALL_FURNITURE = {"sofa": (170, 75), "bed": (140, 195), "piano": (145, 62), "bathtub": (160, 72),
          "toilet": (44, 66), "stove": (60, 60), "bookshelf": (130, 34),
          "television": (110, 30)}  # fmt: skip
FREE_FURNITURE = {"table": (100, 100), "chair": (42, 42), "plant": (46, 46), "stool": (36, 36)}
WALL_OPENINGS = {"door": (84, 12), "window": (120, 12)}
REPEATABLE_KINDS = ("chair", "plant", "stool")  # a room may have several of these
WALKABLE_GAP = 26.0  # minimum width of a path, and distance of a standing spot from a thing
SIDE_DIRECTIONS = ((0, -1), (1, 0), (0, 1), (-1, 0))  # up, right, down, left


Point: TypeAlias = tuple[float, float]


class RoomThing(NamedTuple):
    """A thing: its centre, its size as placed, and the side (of SIDE_DIRECTIONS) of its back."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    back_side: int

    def gap_to(self, other: RoomThing) -> float:
        """Return the width of the gap to another thing; negative if they overlap."""
        x = abs(self.x - other.x) - (self.width + other.width) / 2
        y = abs(self.y - other.y) - (self.height + other.height) / 2
        return x if x > y else y

    def distance_to_edge(self, x: float, y: float) -> float:
        """Return the distance of a spot from the thing's edge; 0 inside."""
        across = max(0.0, abs(self.x - x) - self.width / 2)
        down = max(0.0, abs(self.y - y) - self.height / 2)
        return hypot(across, down)


class FurnishedRoom(NamedTuple):
    """A room and the things in it; `paint` selects its colours."""

    width: float
    height: float
    things: tuple[RoomThing, ...]
    colour_seed: int

    def only_thing(self, kind: str) -> RoomThing:
        """Return the only thing of a kind."""
        (found,) = self.things_of_kind(kind)
        return found

    @property
    def counts(self) -> set[int]:
        """The numbers of things of each repeatable kind."""
        return {len(self.things_of_kind(kind)) for kind in REPEATABLE_KINDS}

    def things_of_kind(self, kind: str) -> list[RoomThing]:
        """Return all things of a kind."""
        return [thing for thing in self.things if thing.kind == kind]


def spots_before(room: FurnishedRoom, thing: RoomThing) -> list[Point]:
    """Return spots right in front of a thing with its back to a wall; none if one is blocked.

    They spread over half its width, at 25 to 60 cm.
    """
    right, down = SIDE_DIRECTIONS[(thing.back_side + 2) % 4]
    half = (thing.width if right else thing.height) / 2
    found = []
    for step in (25.0, 60.0):
        for sideways in (-0.25, 0.25):
            x = thing.x + right * (half + step) + sideways * abs(down) * thing.width
            y = thing.y + down * (half + step) + sideways * abs(right) * thing.height
            found.append((x, y))
    obstacles = [each for each in room.things if each is not thing]
    return (
        []
        if any(each.distance_to_edge(x, y) < 12 for each in obstacles for x, y in found)
        else found
    )


def direction_to(spot: Point, to: RoomThing) -> float:
    """Return the direction from a spot to a thing's centre in degrees: 0 right, 90 down."""
    return degrees(atan2(to.y - spot[1], to.x - spot[0]))


def draw_room(seed: int, id: str, attempt: int) -> FurnishedRoom:
    """Draw the room of an id; each attempt gives another room."""
    rng = seeds.make_rng(seed, id, attempt, "multinet room")
    wide, high = float(seeds.draw_between(rng, 440, 600)), float(seeds.draw_between(rng, 400, 500))
    things: list[RoomThing] = []
    for kind in _draw_kinds(rng):
        gaps = [_minimum_gap(kind, other.kind) for other in things]
        for _ in range(8):
            thing = _place_thing(rng, kind, wide, high)
            if all(thing.gap_to(other) > gap for other, gap in zip(things, gaps, strict=True)):
                things.append(thing)
                break
    return FurnishedRoom(wide, high, tuple(things), seeds.draw_below(rng, 1_000_000))


def _draw_kinds(rng: Random) -> Iterator[str]:
    """Draw the kinds of a room's things, in the order of their placement."""
    yield from ("door", "window")
    if seeds.draw_below(rng, 3) == 0:
        yield "window"
    wall_kinds = list(WALL_FURNITURE)
    seeds.shuffle_items(rng, wall_kinds)
    yield from wall_kinds[: seeds.draw_between(rng, 5, 7)]
    if seeds.draw_below(rng, 4):
        yield "table"
    for kind in REPEATABLE_KINDS:
        yield from (kind for _ in range(seeds.draw_below(rng, 4)))


def _place_thing(rng: Random, kind: str, wide: float, high: float) -> RoomThing:
    if kind in FREE_FURNITURE:
        w, h = FREE_FURNITURE[kind]
        x, y = _draw_coordinate(rng, wide, w + 24), _draw_coordinate(rng, high, h + 24)
        return RoomThing(kind, x, y, w, h, seeds.draw_below(rng, 4))
    back = seeds.draw_below(rng, 4)
    w, h = (WALL_OPENINGS | WALL_FURNITURE)[kind]
    inset = -h / 2 if kind in WALL_OPENINGS else h / 2 + 2
    if back % 2 == 0:
        y = inset if back == 0 else high - inset
        return RoomThing(kind, _draw_coordinate(rng, wide, w + 16), y, w, h, back)
    x = wide - inset if back == 1 else inset
    return RoomThing(kind, x, _draw_coordinate(rng, high, w + 16), h, w, back)


def _draw_coordinate(rng: Random, length: float, size: float) -> float:
    return round(size / 2 + rng.random() * (length - size), 1)


def _minimum_gap(one: str, other: str) -> float:
    """Return the minimum gap of two kinds: largest at doors, then between walls and the middle."""
    if "door" in (one, other) and not (one in WALL_OPENINGS and other in WALL_OPENINGS):
        return 90.0
    return 20.0 if (one in FREE_FURNITURE) == (other in FREE_FURNITURE) else 56.0


def path_status(room: FurnishedRoom, spot: Point, start_thing: RoomThing, to: RoomThing) -> str:
    """Return "free" or "blocked" for the straight path to a thing; "" for a close case.

    The path is blocked if a thing is within 8 cm of the line, free if nothing is within 30 cm,
    apart from the thing that the path starts at.
    """
    between = [each for each in room.things if each is not to and each.kind not in WALL_OPENINGS]
    ahead = radians(direction_to(spot, to))
    reach = _ray_distance(spot, ahead, to, 0.0)
    if any(_ray_distance(spot, ahead, each, 8.0) < reach for each in between):
        return "blocked"
    close = any(
        _ray_distance(spot, ahead, each, 30.0) < reach
        for each in between
        if each is not start_thing
    )
    return "" if close else "free"


def _ray_distance(spot: Point, ahead: float, thing: RoomThing, margin: float) -> float:
    """Return the distance to a thing enlarged by a margin along an angle (the slab method)."""
    spans = (
        (spot[0], cos(ahead), thing.x, thing.width), (spot[1], sin(ahead), thing.y, thing.height)
    )  # fmt: skip
    near, far = 0.0, inf
    for start, step, middle, size in spans:
        low, high = middle - size / 2 - margin - start, middle + size / 2 + margin - start
        if abs(step) < 1e-9:
            if low > 0 or high < 0:
                return inf
            continue
        one, two = sorted((low / step, high / step))
        near, far = max(near, one), min(far, two)
    return near if near <= far else inf
