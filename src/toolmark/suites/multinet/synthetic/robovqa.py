"""Stand-in for RoboVQA: a robot at a table, seen before and after what it last tried.

An episode is a list of moves that the robot was given, and some moments on the way: it tries the
next move that is not done, and either succeeds or drops the thing beside where it should go. What
is asked at a moment and what the answer shall be is drawn first, evenly, and the moment follows
from that: so the list of moves tells nothing. What is asked for though it is not there is drawn
with what is there, so that nothing but the picture tells one from the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from toolmark import seeds
from toolmark.suites.multinet.frame import Frame, Words
from toolmark.suites.multinet.synthetic.stand import Split, Stand

if TYPE_CHECKING:
    from PIL import Image

KINDS = ("cube", "ball", "can", "ring", "star")
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange")
PLACES = ("bowl", "tray", "basket")
TYPES = ("next", "possible", "success", "past")
STEPS = 5  # rows of an episode
MOVES = 3  # of a list
_YES = ("yes", "no")


class Table(NamedTuple):
    """What lies where: for each thing the place that it is in, beside or, "", neither of them.

    A place with a "~" before it is one that the thing lies beside.
    """

    things: tuple[str, ...]
    places: tuple[str, ...]
    lies: tuple[str, ...]


class Moment(NamedTuple):
    """When something is asked: so many moves are done, and whether the next was dropped then.

    `alone`: what was before is not shown. `yes` is the answer where it is yes or no.
    """

    done: int
    dropped: bool
    alone: bool
    type: str
    yes: bool


class Scene(NamedTuple):
    """A table at the start, a thing that is not on it, and where its first things are to go."""

    table: Table
    absent: str
    goal: tuple[str, ...]

    @property
    def moves(self) -> list[tuple[str, str]]:
        """Return the things that are to go somewhere, and where."""
        return [*zip(self.table.things, self.goal, strict=False)]

    def at(self, done: int, dropped: bool) -> Table:
        """Return the table when so many moves are done, the next one's thing dropped or not."""
        first = self.goal[:done]
        next_ = (f"~{self.goal[done]}",) if dropped else ()
        left = len(self.table.things) - len(first) - len(next_)
        return self.table._replace(lies=(*first, *next_, *("",) * left))


class Step(NamedTuple):
    """The table before and after a try, and what is asked of it; None: before is not shown."""

    before: Table | None
    after: Table
    context: str
    question: str
    answer: str
    type: str


class Robovqa(Stand, frozen=True, kw_only=True):
    """Rows of one split: five for an episode."""

    family = "robovqa"
    limit = "a drawn table before and after each move, answers known from the moves"

    def frame(self, number: int) -> Frame:
        """Return one row."""
        episode, at = divmod(number, STEPS)
        step = _episode(self.seed, self.episode(episode))[at]
        return Frame(
            id=self.named(number),
            family=self.family,
            source="synthetic",
            space=Words(),
            truth=step.answer,
            group=self.episode(episode),
            step=at,
            fields={"context": step.context, "question": step.question},
            slices={"type": step.type},
        )

    def episode(self, number: int) -> str:
        """Return the id of an episode."""
        return f"{self.stem}-episode-{number:05}"

    def drawn(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the table before and after the last try, or as it is now alone."""
        from toolmark.suites.multinet.synthetic import table

        episode, at = divmod(number, STEPS)
        id = self.episode(episode)
        step = _episode(self.seed, id)[at]
        shown = (step.before, step.after) if step.before else (step.after,)
        return tuple(table.drawn(self.seed, id, each) for each in shown)


@lru_cache(maxsize=1024)
def _episode(seed: int, id: str) -> tuple[Step, ...]:
    """Draw an episode: its moments in the order of time."""
    rng = seeds.of(seed, id, 0, "multinet robovqa")
    scene = _laid(rng)
    moments = sorted((_moment(rng) for _ in range(STEPS)), key=lambda each: each[:2])
    # a move that is seen to fail was dropped when it is done at last; of others nobody knows
    failed = [seeds.below(rng, 2) == 0 for _ in range(MOVES)]
    for moment in moments:
        if moment.dropped:
            failed[moment.done] = True
    told = _told(scene.moves)
    return tuple(
        Step(
            None if moment.alone else _before(scene, moment, failed),
            scene.at(moment.done, moment.dropped),
            told,
            *_ask(moment, scene),
            moment.type,
        )
        for moment in moments
    )


def _moment(rng: Random) -> Moment:
    """Draw what is asked and the answer, then a moment when that is so."""
    type, yes = seeds.choice(rng, TYPES), seeds.below(rng, 2) == 0
    if type in ("success", "past"):  # of a try: "yes" is one that worked
        return Moment(seeds.below(rng, MOVES) + yes, not yes, False, type, yes)
    done, alone = seeds.below(rng, MOVES + 1), seeds.below(rng, 4) == 0
    first = done == 0 and not alone  # what was before is shown, and nothing is done: so one failed
    dropped = done < MOVES and (first or seeds.below(rng, 2) == 0)
    return Moment(done, dropped, alone, type, yes)


def _before(scene: Scene, moment: Moment, failed: Sequence[bool]) -> Table:
    """Return the table before the last try."""
    if moment.dropped:
        return scene.at(moment.done, False)
    return scene.at(moment.done - 1, failed[moment.done - 1])


def _laid(rng: Random) -> Scene:
    """Lay four things and two or three places on a table.

    Names are of few colours and kinds, so that one has to look at both. The last of five drawn is
    left out: nothing in words tells it from the last that is there.
    """
    colours, kinds = (
        [names[k] for k in seeds.sample(rng, len(names), 3)] for names in (COLOURS, KINDS)
    )
    names = [f"{colour} {kind}" for colour in colours for kind in kinds]
    *things, absent = (names[k] for k in seeds.sample(rng, len(names), MOVES + 2))
    count = seeds.between(rng, 2, 3)
    places = tuple(PLACES[k] for k in seeds.sample(rng, len(PLACES), count))
    goal = tuple(seeds.choice(rng, places) for _ in range(MOVES))
    return Scene(Table(tuple(things), places, ("",) * len(things)), absent, goal)


def _told(goal: Sequence[tuple[str, str]]) -> str:
    moves = "; ".join(f"{k}. {_move(*move)}" for k, move in enumerate(goal, 1))
    return (
        f"The robot has this list of moves, to be done in this order: {moves}. Some may be done. "
        "It repeats a move that failed. Two pictures show the table before and after what it last "
        "did; one alone shows it as it is now."
    )


def _move(thing: str, place: str) -> str:
    return f"put the {thing} in the {place}"


def _ask(moment: Moment, scene: Scene) -> tuple[str, str]:
    """Return a question and its answer."""
    moves, done = scene.moves, moment.done
    thing, place = moves[done - (not moment.dropped)]  # what was tried last
    match moment.type:
        case "success":
            return f"Was this move done: {_move(thing, place)}? Answer yes or no.", _said(moment)
        case "past":
            asked = ("What did the robot just do? Answer 'put the ... in the ...' or 'dropped the "
                     "... beside the ...'.")  # fmt: skip
            dropped = f"dropped the {thing} beside the {place}"
            return asked, _move(thing, place) if moment.yes else dropped
        case "next":
            asked = "What is the next move? Answer with its words from the list, or 'done'."
            return asked, _move(*moves[done]) if done < len(moves) else "done"
        case _:
            thing = scene.table.things[-1] if moment.yes else scene.absent  # the list names neither
            one = "an" if thing.startswith("orange") else "a"
            return f"Is there {one} {thing} to pick up now? Answer yes or no.", _said(moment)


def _said(moment: Moment) -> str:
    return _YES[not moment.yes]


def rows(*, n: int, split: Split, seed: int) -> Robovqa:
    """Return the first n rows of a split, five for an episode."""
    return Robovqa(n=n, split=split, seed=seed)
