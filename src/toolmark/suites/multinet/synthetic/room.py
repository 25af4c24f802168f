"""Furnished rooms seen from above, in centimetres: x to the right, y down the picture.

What lies where is judged from several spots before a thing, so that what is said of "in front of
the sofa" holds wherever before it one stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, cos, degrees, hypot, inf, radians, sin
from random import Random
from typing import NamedTuple, TypeAlias

from toolmark import seeds

# width and depth of what stands with its back to a wall, of what stands free, of what hangs in one
WALLED = {"sofa": (170, 75), "bed": (140, 195), "piano": (145, 62), "bathtub": (160, 72),
          "toilet": (44, 66), "stove": (60, 60), "bookshelf": (130, 34),
          "television": (110, 30)}  # fmt: skip
FREE = {"table": (100, 100), "chair": (42, 42), "plant": (46, 46), "stool": (36, 36)}
FIXED = {"door": (84, 12), "window": (120, 12)}
MANY = ("chair", "plant", "stool")  # there may be several of them
GAP = 26.0  # what one can walk through, and where one stands beside a thing
SIDES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # up, right, down, left


Point: TypeAlias = tuple[float, float]


class Thing(NamedTuple):
    """A thing: its middle, its size as it lies, and the side (of SIDES) that its back is at."""

    kind: str
    x: float
    y: float
    wide: float
    high: float
    back: int

    def apart(self, other: Thing) -> float:
        """Return the width of the gap to another; below 0 where they overlap."""
        x = abs(self.x - other.x) - (self.wide + other.wide) / 2
        y = abs(self.y - other.y) - (self.high + other.high) / 2
        return x if x > y else y

    def away(self, x: float, y: float) -> float:
        """Return how far a spot is from the thing's edge; 0 inside."""
        across = max(0.0, abs(self.x - x) - self.wide / 2)
        down = max(0.0, abs(self.y - y) - self.high / 2)
        return hypot(across, down)


class Room(NamedTuple):
    """A room and what is in it; `paint` picks its colours."""

    wide: float
    high: float
    things: tuple[Thing, ...]
    paint: int

    def one(self, kind: str) -> Thing:
        """Return the only thing of a kind."""
        (found,) = self.all(kind)
        return found

    @property
    def counts(self) -> set[int]:
        """How many there are of the kinds that there may be several of."""
        return {len(self.all(kind)) for kind in MANY}

    def all(self, kind: str) -> list[Thing]:
        """Return all things of a kind."""
        return [thing for thing in self.things if thing.kind == kind]


def before(room: Room, at: Thing) -> list[Point]:
    """Return spots right before a thing with its back to a wall; none where a thing is in the way.

    They spread over half its width and from 25 to 60 cm.
    """
    right, down = SIDES[(at.back + 2) % 4]
    half = (at.wide if right else at.high) / 2
    found = []
    for step in (25.0, 60.0):
        for aside in (-0.25, 0.25):
            x = at.x + right * (half + step) + aside * abs(down) * at.wide
            y = at.y + down * (half + step) + aside * abs(right) * at.high
            found.append((x, y))
    taken = [each for each in room.things if each is not at]
    return [] if any(each.away(x, y) < 12 for each in taken for x, y in found) else found


def angle(spot: Point, to: Thing) -> float:
    """Return where a thing's middle lies from a spot, in degrees: 0 right, 90 down the picture."""
    return degrees(atan2(to.y - spot[1], to.x - spot[0]))


def furnished(seed: int, id: str, attempt: int) -> Room:
    """Draw the room of an id; another one for each attempt."""
    rng = seeds.of(seed, id, attempt, "multinet room")
    wide, high = float(seeds.between(rng, 440, 600)), float(seeds.between(rng, 400, 500))
    things: list[Thing] = []
    for kind in _stock(rng):
        gaps = [_gap(kind, other.kind) for other in things]
        for _ in range(8):
            thing = _placed(rng, kind, wide, high)
            if all(thing.apart(other) > gap for other, gap in zip(things, gaps, strict=True)):
                things.append(thing)
                break
    return Room(wide, high, tuple(things), seeds.below(rng, 1_000_000))


def _stock(rng: Random) -> Iterator[str]:
    """Draw the kinds of a room's things, in the order in which they find a place."""
    yield from ("door", "window")
    if seeds.below(rng, 3) == 0:
        yield "window"
    walled = list(WALLED)
    seeds.shuffle(rng, walled)
    yield from walled[: seeds.between(rng, 5, 7)]
    if seeds.below(rng, 4):
        yield "table"
    for kind in MANY:
        yield from (kind for _ in range(seeds.below(rng, 4)))


def _placed(rng: Random, kind: str, wide: float, high: float) -> Thing:
    if kind in FREE:
        w, h = FREE[kind]
        x, y = _along(rng, wide, w + 24), _along(rng, high, h + 24)
        return Thing(kind, x, y, w, h, seeds.below(rng, 4))
    back = seeds.below(rng, 4)
    w, h = (FIXED | WALLED)[kind]
    inset = -h / 2 if kind in FIXED else h / 2 + 2
    if back % 2 == 0:
        y = inset if back == 0 else high - inset
        return Thing(kind, _along(rng, wide, w + 16), y, w, h, back)
    x = wide - inset if back == 1 else inset
    return Thing(kind, x, _along(rng, high, w + 16), h, w, back)


def _along(rng: Random, length: float, size: float) -> float:
    return round(size / 2 + rng.random() * (length - size), 1)


def _gap(one: str, other: str) -> float:
    """Return how far two kinds stay apart: most at doors, then between walls and the middle."""
    if "door" in (one, other) and not (one in FIXED and other in FIXED):
        return 90.0
    return 20.0 if (one in FREE) == (other in FREE) else 56.0


def way(room: Room, spot: Point, at: Thing, to: Thing) -> str:
    """Return "free" or "blocked": how the straight way to a thing is; "" where it is a close call.

    Blocked is where something is met within 8 cm of the line, free where nothing is within 30, but
    for what one stands before.
    """
    between = [each for each in room.things if each is not to and each.kind not in FIXED]
    ahead = radians(angle(spot, to))
    reach = _meets(spot, ahead, to, 0.0)
    if any(_meets(spot, ahead, each, 8.0) < reach for each in between):
        return "blocked"
    close = any(_meets(spot, ahead, each, 30.0) < reach for each in between if each is not at)
    return "" if close else "free"


def _meets(spot: Point, ahead: float, thing: Thing, margin: float) -> float:
    """Return where a way (an angle) meets a thing, made larger by a margin (the slab method)."""
    spans = (
        (spot[0], cos(ahead), thing.x, thing.wide), (spot[1], sin(ahead), thing.y, thing.high)
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
