"""Stand-in for SQA3D: a room from above, where one stands in it, and a question about that.

Every answer is computed from the room, and asked only where it is the same from all spots before
the thing that one stands at. The question and what the answer shall be are drawn first, evenly over
what a type knows; then a situation in the room is looked for in which it is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from toolmark import seeds
from toolmark.suites.multinet.frame import Frame, Words
from toolmark.suites.multinet.synthetic.room import (
    FIXED,
    MANY,
    WALLED,
    Point,
    Room,
    angle,
    before,
    furnished,
    way,
)
from toolmark.suites.multinet.synthetic.stand import Split, Stand

if TYPE_CHECKING:
    from PIL import Image

TYPES = ("what", "is", "how", "can", "which", "others")
_ROOMS = 5_000
_NUMBERS = ("zero", "one", "two", "three", "four")
_YES = ("yes", "no")


class Asked(NamedTuple):
    """A question and its answer."""

    text: str
    answer: str


@dataclass(frozen=True)
class Spot:
    """A situation: the room, what one stands at and faces, and all spots that this can mean.

    `away` is by thing how far its edge is from each of the spots, `angles` where its middle is.
    """

    room: Room
    at: int
    to: int
    places: Sequence[Point]
    away: Sequence[Sequence[float]]
    angles: Sequence[Sequence[float]]

    @cached_property
    def turns(self) -> list[list[float]]:
        """By thing, how far one must turn right to face it from each of the spots: -180 to 180."""
        ahead = self.angles[self.to]
        return [
            [(angle - front + 180.0) % 360.0 - 180.0
             for angle, front in zip(angles, ahead, strict=True)]
            for angles in self.angles
        ]  # fmt: skip

    @cached_property
    def sides(self) -> list[str]:
        """By thing, where it is; "" where that is not the same or not clear from all spots."""
        found = [{_sector(turn) for turn in turns} for turns in self.turns]
        return [each.pop() if len(each) == 1 else "" for each in found]

    @cached_property
    def others(self) -> list[int]:
        """What questions ask about: those of `_ASKED` that are neither stood at nor faced."""
        things = enumerate(self.room.things)
        return [k for k, t in things if t.kind in _ASKED and k not in (self.at, self.to)]

    def kind(self, thing: int) -> str:
        """Return what a thing is."""
        return self.room.things[thing].kind

    def nearer(self, one: int, other: int) -> bool:
        """Tell whether a thing is clearly nearer than another from all spots."""
        pairs = zip(self.away[one], self.away[other], strict=True)
        return all(near * 1.35 + 30 < far for near, far in pairs)

    def compared(self) -> Iterator[tuple[str, str, str]]:
        """Go through pairs of others of which one is clearly nearer: both kinds, and the nearer."""
        for one in self.others:
            for other in self.others:
                if self.nearer(one, other):
                    near, far = self.kind(one), self.kind(other)
                    yield near, far, near
                    yield far, near, near


def _sector(turn: float) -> str:
    """Return front, right, behind or left where an angle lies within 35 degrees of it."""
    for name, middle in (("front", 0.0), ("right", 90.0), ("left", -90.0)):
        if abs(turn - middle) <= 35:
            return name
    return "behind" if abs(turn) >= 145 else ""


# --- questions: each yields what can be asked in a situation, with the answer -----------

_TO = {"front": "in front of me", "right": "to my right", "left": "to my left",
       "behind": "behind me"}  # fmt: skip
# of things in the middle, doors, windows and beds the kind alone would tell much of the place
_ASKED = tuple(kind for kind in WALLED if kind != "bed")
_MIDDLE = {"right": 90.0, "left": -90.0, "behind": 180.0}
_WAY = {"right": "right", "left": "left", "behind": "around"}


def _what(spot: Spot) -> Iterator[Asked]:
    """Ask what is nearest on one side: of all that is there, or nearly, clearly the nearest."""
    for thing, side in enumerate(spot.sides):
        if side not in _MIDDLE or thing == spot.at or spot.kind(thing) in FIXED:
            continue
        middle = _MIDDLE[side]
        beside = (
            other for other, turns in enumerate(spot.turns)
            if other not in (thing, spot.at)
            and any(abs((turn - middle + 180) % 360 - 180) < 60 for turn in turns)
        )  # fmt: skip
        if all(spot.nearer(thing, other) for other in beside):
            yield Asked(f"What is the nearest thing {_TO[side]}?", spot.kind(thing))


def _is_side(asked: str, spot: Spot) -> Iterator[Asked]:
    for thing in spot.others:
        if side := spot.sides[thing]:
            yield Asked(f"Is the {spot.kind(thing)} {_TO[asked]}?", _YES[asked != side])


def _is_near(spot: Spot) -> Iterator[Asked]:
    for one, other, nearer in spot.compared():
        yield Asked(f"Is the {one} closer to me than the {other}?", _YES[nearer != one])


def _how_many(spot: Spot) -> Iterator[Asked]:
    for kind in MANY:
        n = len(spot.room.all(kind))
        yield Asked(f"How many {kind}s are in the room, as a word?", _NUMBERS[n])


def _how_many_beside(spot: Spot) -> Iterator[Asked]:
    """Count things of a kind to one's right or left, where none is nearly ahead or behind."""
    for kind in MANY:
        all_ = [k for k, thing in enumerate(spot.room.things) if thing.kind == kind]
        turns = [spot.turns[k] for k in all_]
        if {spot.at, spot.to} & {*all_} or not all(
            12 < abs(turn) < 168 for each in turns for turn in each
        ):
            continue
        if not all(min(each) > 0 or max(each) < 0 for each in turns):
            continue
        for side, sign in (("right", 1), ("left", -1)):
            asked = f"How many {kind}s are on the {side} side of me, as a word?"
            yield Asked(asked, _NUMBERS[sum(sign * each[0] > 0 for each in turns)])


def _can_walk(spot: Spot) -> Iterator[Asked]:
    at, to = spot.room.things[spot.at], spot.room.things[spot.to]
    ways = {way(spot.room, place, at, to) for place in spot.places}
    if ways in ({"free"}, {"blocked"}):
        asked = f"Can I walk straight to the {to.kind} without bumping into anything?"
        yield Asked(asked, _YES[ways == {"blocked"}])


def _can_look(spot: Spot) -> Iterator[Asked]:
    for thing in spot.others:
        if spot.sides[thing] in ("front", "behind"):
            asked = f"Can I look at the {spot.kind(thing)} without turning my head?"
            yield Asked(asked, _YES[spot.sides[thing] == "behind"])


def _which_way(spot: Spot) -> Iterator[Asked]:
    for thing in spot.others:
        if turn := _WAY.get(spot.sides[thing]):
            kind = spot.kind(thing)
            yield Asked(f"Which way should I turn to face the {kind}: left, right or around?", turn)


def _which_near(spot: Spot) -> Iterator[Asked]:
    for one, other, nearer in spot.compared():
        yield Asked(f"Which is closer to me, the {one} or the {other}?", nearer)


def _where(spot: Spot) -> Iterator[Asked]:
    for thing in spot.others:
        if side := spot.sides[thing]:
            kind = spot.kind(thing)
            asked = f"In which direction is the {kind} from me: front, behind, left or right?"
            yield Asked(asked, side)


Asks: TypeAlias = Callable[[Spot], Iterator[Asked]]
_ASKS: Mapping[str, tuple[tuple[Asks, str], ...]] = {
    "what": ((_what, ""),),
    "is": (
        *((partial(_is_side, side), answer) for side in _MIDDLE for answer in _YES),
        *((_is_near, answer) for answer in _YES),
    ),
    "how": (
        *((_how_many, answer) for answer in ("one", "two", "three")),
        *((_how_many_beside, answer) for answer in ("zero", "one", "two")),
    ),
    "can": tuple((ask, answer) for ask in (_can_walk, _can_look) for answer in _YES),
    "which": (*((_which_way, way) for way in _WAY.values()), (_which_near, "")),
    "others": tuple((_where, side) for side in _TO),
}
"""By type: what is asked and the answer that is wanted, "" for any; these pairs come alike often.

Were the answer drawn before the question, the question would tell the answer.
"""


class Sqa3d(Stand, frozen=True, kw_only=True):
    """Rows of one split: six questions, one of each type, about each room."""

    family = "sqa3d"
    limit = "rooms drawn from shapes, answers computed"

    def frame(self, number: int) -> Frame:
        """Return one row."""
        scene, at = divmod(number, len(TYPES))
        spot, asked = self.asked(scene)[at]
        return Frame(
            id=self.named(number),
            family=self.family,
            source="synthetic",
            space=Words(),
            truth=asked.answer,
            group=self.room(scene),
            step=at,
            fields={"situation": _said(spot), "question": asked.text},
            slices={"type": TYPES[at]},
        )

    def room(self, scene: int) -> str:
        """Return the id of a room."""
        return f"{self.stem}-room-{scene:05}"

    def asked(self, scene: int) -> tuple[tuple[Spot, Asked], ...]:
        """Return what is asked in a room: each pair of a type once before one comes again."""
        wanted = []
        for type, pairs in _ASKS.items():
            round, at = divmod(scene, len(pairs))
            wanted.append(seeds.sample(self.rng(type, round), len(pairs), len(pairs))[at])
        return _drawn(self.seed, self.room(scene), tuple(wanted))

    def drawn(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the room from above."""
        from toolmark.suites.multinet.synthetic import plan

        (spot, _), *_ = self.asked(number // len(TYPES))
        return (plan.drawn(spot.room),)


def _said(spot: Spot) -> str:
    at, to = spot.kind(spot.at), spot.kind(spot.to)
    return f"I am standing right in front of the {at}, facing the {to}."


@lru_cache(maxsize=512)
def _drawn(seed: int, id: str, wanted: tuple[int, ...]) -> tuple[tuple[Spot, Asked], ...]:
    """Draw a room in which each type of question can have the answer that is wanted."""
    for attempt in range(_ROOMS):
        room = furnished(seed, id, attempt)
        rng = seeds.of(seed, id, attempt, "multinet sqa3d")
        if found := _asked(room, wanted, rng):
            return found
    raise AssertionError(f"no room to ask in for {id}")


def _asked(room: Room, wanted: Sequence[int], rng: Random) -> tuple[tuple[Spot, Asked], ...]:
    """Return a situation and a question for each wanted answer, nothing where one has none."""
    asked = [pairs[at] for pairs, at in zip(_ASKS.values(), wanted, strict=True)]
    for asks, answer in asked:
        if asks is _how_many and _NUMBERS.index(answer) not in room.counts:
            return ()
    spots = list(_spots(room))
    found = []
    for asks, answer in asked:
        seeds.shuffle(rng, spots)
        for spot in spots:
            if held := [each for each in asks(spot) if answer in ("", each.answer)]:
                found.append((spot, seeds.choice(rng, held)))
                break
        else:
            return ()
    return tuple(found)


def _spots(room: Room) -> Iterator[Spot]:
    """Go through the situations of a room."""
    known = [k for k, thing in enumerate(room.things) if thing.kind in _ASKED]
    for at in known:
        thing = room.things[at]
        if not (places := before(room, thing)):
            continue
        away = [[each.away(*place) for place in places] for each in room.things]
        angles = [[angle(place, each) for place in places] for each in room.things]
        for to in known:
            if to != at and thing.apart(room.things[to]) > 60:
                yield Spot(room, at, to, places, away, angles)


def rows(*, n: int, split: Split, seed: int) -> Sqa3d:
    """Return the first n rows of a split, six about each room."""
    return Sqa3d(n=n, split=split, seed=seed)
