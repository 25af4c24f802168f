"""Synthetic SQA3D: a room from above, a situation in it, and a question about that situation.

Every answer is computed from the room, and a question is asked only if its answer is the same from
all spots in front of the thing at which the person stands. The question and the wanted answer are
drawn first, evenly over those of a type; then the generator searches the room for a situation in
which it is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from toolmark.core import seeds
from toolmark.suites.multinet.frame_records import Frame, FreeText
from toolmark.suites.multinet.synthetic.room_layout import (
    REPEATABLE_KINDS,
    WALL_FURNITURE,
    WALL_OPENINGS,
    FurnishedRoom,
    Point,
    direction_to,
    draw_room,
    path_status,
    spots_before,
)
from toolmark.suites.multinet.synthetic.synthetic_rows import Split, SyntheticRows

if TYPE_CHECKING:
    from PIL import Image

QUESTION_TYPES = ("what", "is", "how", "can", "which", "others")
_MAX_ATTEMPTS = 5_000
_NUMBER_WORDS = ("zero", "one", "two", "three", "four")
_YES_NO = ("yes", "no")


class RoomQuestion(NamedTuple):
    """A question and its answer."""

    text: str
    answer: str


@dataclass(frozen=True)
class Situation:
    """A situation: the room, what the person stands at and faces, and all spots that this can mean.

    `distances` are by thing the distances of its edge from each spot, `angles` the directions of
    its centre.
    """

    room: FurnishedRoom
    standing_at: int
    facing: int
    positions: Sequence[Point]
    distances: Sequence[Sequence[float]]
    angles: Sequence[Sequence[float]]

    @cached_property
    def turns(self) -> list[list[float]]:
        """By thing, the right turn in degrees that faces it from each of the spots: -180 to 180."""
        ahead = self.angles[self.facing]
        return [
            [(angle - front + 180.0) % 360.0 - 180.0
             for angle, front in zip(angles, ahead, strict=True)]
            for angles in self.angles
        ]  # fmt: skip

    @cached_property
    def sides(self) -> list[str]:
        """By thing, its side; "" if that differs between spots or is not clear from all of them."""
        found = [{_sector_of_angle(turn) for turn in turns} for turns in self.turns]
        return [each.pop() if len(each) == 1 else "" for each in found]

    @cached_property
    def askable_things(self) -> list[int]:
        """The things in questions: of `_ASKABLE_KINDS`, but not the one stood at or faced."""
        things = enumerate(self.room.things)
        return [
            k
            for k, t in things
            if t.kind in _ASKABLE_KINDS and k not in (self.standing_at, self.facing)
        ]

    def thing_kind(self, thing: int) -> str:
        """Return the kind of a thing."""
        return self.room.things[thing].kind

    def is_nearer(self, one: int, other: int) -> bool:
        """Return whether a thing is clearly nearer than another from all spots."""
        pairs = zip(self.distances[one], self.distances[other], strict=True)
        return all(near * 1.35 + 30 < far for near, far in pairs)

    def distance_comparisons(self) -> Iterator[tuple[str, str, str]]:
        """Yield pairs of other things, one of them clearly nearer: both kinds, and the nearer."""
        for one in self.askable_things:
            for other in self.askable_things:
                if self.is_nearer(one, other):
                    near, far = self.thing_kind(one), self.thing_kind(other)
                    yield near, far, near
                    yield far, near, near


def _sector_of_angle(turn: float) -> str:
    """Return front, right, behind or left if the angle is within 35 degrees of it."""
    for name, middle in (("front", 0.0), ("right", 90.0), ("left", -90.0)):
        if abs(turn - middle) <= 35:
            return name
    return "behind" if abs(turn) >= 145 else ""


# --- questions: each function yields a situation's possible questions, with answers -----

_SIDE_PHRASES = {"front": "in front of me", "right": "to my right", "left": "to my left",
       "behind": "behind me"}  # fmt: skip
# for things in the middle, doors, windows and beds, the kind alone would reveal the place
_ASKABLE_KINDS = tuple(kind for kind in WALL_FURNITURE if kind != "bed")
_SIDE_ANGLES = {"right": 90.0, "left": -90.0, "behind": 180.0}
_TURN_WORDS = {"right": "right", "left": "left", "behind": "around"}


def _ask_nearest_thing(spot: Situation) -> Iterator[RoomQuestion]:
    """Ask which thing is nearest on one side: clearly so among all that are there, or nearly."""
    for thing, side in enumerate(spot.sides):
        if (
            side not in _SIDE_ANGLES
            or thing == spot.standing_at
            or spot.thing_kind(thing) in WALL_OPENINGS
        ):
            continue
        middle = _SIDE_ANGLES[side]
        competitors = (
            other for other, turns in enumerate(spot.turns)
            if other not in (thing, spot.standing_at)
            and any(abs((turn - middle + 180) % 360 - 180) < 60 for turn in turns)
        )  # fmt: skip
        if all(spot.is_nearer(thing, other) for other in competitors):
            yield RoomQuestion(
                f"What is the nearest thing {_SIDE_PHRASES[side]}?", spot.thing_kind(thing)
            )


def _ask_is_on_side(asked_side: str, spot: Situation) -> Iterator[RoomQuestion]:
    for thing in spot.askable_things:
        if side := spot.sides[thing]:
            yield RoomQuestion(
                f"Is the {spot.thing_kind(thing)} {_SIDE_PHRASES[asked_side]}?",
                _YES_NO[asked_side != side],
            )


def _ask_is_nearer(spot: Situation) -> Iterator[RoomQuestion]:
    for one, other, nearer in spot.distance_comparisons():
        yield RoomQuestion(f"Is the {one} closer to me than the {other}?", _YES_NO[nearer != one])


def _ask_how_many(spot: Situation) -> Iterator[RoomQuestion]:
    for kind in REPEATABLE_KINDS:
        n = len(spot.room.things_of_kind(kind))
        yield RoomQuestion(f"How many {kind}s are in the room, as a word?", _NUMBER_WORDS[n])


def _ask_how_many_on_side(spot: Situation) -> Iterator[RoomQuestion]:
    """Count things of a kind to the right or left, if none is nearly ahead or behind."""
    for kind in REPEATABLE_KINDS:
        indices = [k for k, thing in enumerate(spot.room.things) if thing.kind == kind]
        turns = [spot.turns[k] for k in indices]
        if {spot.standing_at, spot.facing} & {*indices} or not all(
            12 < abs(turn) < 168 for each in turns for turn in each
        ):
            continue
        if not all(min(each) > 0 or max(each) < 0 for each in turns):
            continue
        for side, sign in (("right", 1), ("left", -1)):
            question = f"How many {kind}s are on the {side} side of me, as a word?"
            yield RoomQuestion(question, _NUMBER_WORDS[sum(sign * each[0] > 0 for each in turns)])


def _ask_can_walk(spot: Situation) -> Iterator[RoomQuestion]:
    at, to = spot.room.things[spot.standing_at], spot.room.things[spot.facing]
    statuses = {path_status(spot.room, position, at, to) for position in spot.positions}
    if statuses in ({"free"}, {"blocked"}):
        question = f"Can I walk straight to the {to.kind} without bumping into anything?"
        yield RoomQuestion(question, _YES_NO[statuses == {"blocked"}])


def _ask_can_look(spot: Situation) -> Iterator[RoomQuestion]:
    for thing in spot.askable_things:
        if spot.sides[thing] in ("front", "behind"):
            question = f"Can I look at the {spot.thing_kind(thing)} without turning my head?"
            yield RoomQuestion(question, _YES_NO[spot.sides[thing] == "behind"])


def _ask_which_turn(spot: Situation) -> Iterator[RoomQuestion]:
    for thing in spot.askable_things:
        if turn := _TURN_WORDS.get(spot.sides[thing]):
            kind = spot.thing_kind(thing)
            yield RoomQuestion(
                f"Which way should I turn to face the {kind}: left, right or around?", turn
            )


def _ask_which_nearer(spot: Situation) -> Iterator[RoomQuestion]:
    for one, other, nearer in spot.distance_comparisons():
        yield RoomQuestion(f"Which is closer to me, the {one} or the {other}?", nearer)


def _ask_direction(spot: Situation) -> Iterator[RoomQuestion]:
    for thing in spot.askable_things:
        if side := spot.sides[thing]:
            kind = spot.thing_kind(thing)
            question = f"In which direction is the {kind} from me: front, behind, left or right?"
            yield RoomQuestion(question, side)


QuestionMaker: TypeAlias = Callable[[Situation], Iterator[RoomQuestion]]
_QUESTIONS_BY_TYPE: Mapping[str, tuple[tuple[QuestionMaker, str], ...]] = {
    "what": ((_ask_nearest_thing, ""),),
    "is": (
        *((partial(_ask_is_on_side, side), answer) for side in _SIDE_ANGLES for answer in _YES_NO),
        *((_ask_is_nearer, answer) for answer in _YES_NO),
    ),
    "how": (
        *((_ask_how_many, answer) for answer in ("one", "two", "three")),
        *((_ask_how_many_on_side, answer) for answer in ("zero", "one", "two")),
    ),
    "can": tuple((ask, answer) for ask in (_ask_can_walk, _ask_can_look) for answer in _YES_NO),
    "which": (*((_ask_which_turn, way) for way in _TURN_WORDS.values()), (_ask_which_nearer, "")),
    "others": tuple((_ask_direction, side) for side in _SIDE_PHRASES),
}
"""By type, the question and the wanted answer, "" for any; these pairs are equally frequent.

If the answer were not drawn together with the question, the question would reveal it.
"""


class SyntheticSqa3d(SyntheticRows, frozen=True, kw_only=True):
    """Rows of one split: six questions, one of each type, about each room."""

    family = "sqa3d"
    limitation = "rooms drawn from shapes, answers computed"

    def build_frame(self, number: int) -> Frame:
        """Return one row."""
        scene, at = divmod(number, len(QUESTION_TYPES))
        spot, question = self.room_questions(scene)[at]
        return Frame(
            id=self.row_id(number),
            family=self.family,
            source="synthetic",
            space=FreeText(),
            truth=question.answer,
            group=self.room_id(scene),
            step=at,
            fields={"situation": _describe_situation(spot), "question": question.text},
            slices={"type": QUESTION_TYPES[at]},
        )

    def room_id(self, scene: int) -> str:
        """Return the id of a room."""
        return f"{self.id_prefix}-room-{scene:05}"

    def room_questions(self, scene: int) -> tuple[tuple[Situation, RoomQuestion], ...]:
        """Return a room's questions: every pair of a type appears once before one repeats."""
        question_indices = []
        for type, pairs in _QUESTIONS_BY_TYPE.items():
            round, at = divmod(scene, len(pairs))
            question_indices.append(
                seeds.sample_indices(self.make_rng(type, round), len(pairs), len(pairs))[at]
            )
        return _draw_room_questions(self.seed, self.room_id(scene), tuple(question_indices))

    def draw_pictures(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the room from above."""
        from toolmark.suites.multinet.synthetic import room_drawing

        (spot, _), *_ = self.room_questions(number // len(QUESTION_TYPES))
        return (room_drawing.draw_room(spot.room),)


def _describe_situation(spot: Situation) -> str:
    at, to = spot.thing_kind(spot.standing_at), spot.thing_kind(spot.facing)
    return f"I am standing right in front of the {at}, facing the {to}."


@lru_cache(maxsize=512)
def _draw_room_questions(
    seed: int, id: str, question_indices: tuple[int, ...]
) -> tuple[tuple[Situation, RoomQuestion], ...]:
    """Draw a room in which each type of question can have the wanted answer."""
    for attempt in range(_MAX_ATTEMPTS):
        room = draw_room(seed, id, attempt)
        rng = seeds.make_rng(seed, id, attempt, "multinet sqa3d")
        if found := _find_questions(room, question_indices, rng):
            return found
    raise AssertionError(f"no room to ask in for {id}")


def _find_questions(
    room: FurnishedRoom, question_indices: Sequence[int], rng: Random
) -> tuple[tuple[Situation, RoomQuestion], ...]:
    """Return a situation and a question for each wanted answer; nothing if one answer has none."""
    selected = [
        pairs[at] for pairs, at in zip(_QUESTIONS_BY_TYPE.values(), question_indices, strict=True)
    ]
    for asks, answer in selected:
        if asks is _ask_how_many and _NUMBER_WORDS.index(answer) not in room.counts:
            return ()
    spots = list(_iterate_situations(room))
    found = []
    for asks, answer in selected:
        seeds.shuffle_items(rng, spots)
        for spot in spots:
            if matching := [each for each in asks(spot) if answer in ("", each.answer)]:
                found.append((spot, seeds.draw_one(rng, matching)))
                break
        else:
            return ()
    return tuple(found)


def _iterate_situations(room: FurnishedRoom) -> Iterator[Situation]:
    """Yield the situations of a room."""
    askable = [k for k, thing in enumerate(room.things) if thing.kind in _ASKABLE_KINDS]
    for at in askable:
        thing = room.things[at]
        if not (positions := spots_before(room, thing)):
            continue
        distances = [
            [each.distance_to_edge(*position) for position in positions] for each in room.things
        ]
        angles = [[direction_to(position, each) for position in positions] for each in room.things]
        for to in askable:
            if to != at and thing.gap_to(room.things[to]) > 60:
                yield Situation(room, at, to, positions, distances, angles)


def rows(*, n: int, split: Split, seed: int) -> SyntheticSqa3d:
    """Return the first n rows of a split, six about each room."""
    return SyntheticSqa3d(n=n, split=split, seed=seed)
