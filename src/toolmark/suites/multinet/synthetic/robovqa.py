"""Stand-in for RoboVQA: a robot at a table, seen before and after what it last tried.

An episode is a list of moves that the robot was given; in each step it tries the next that is not
done, and either succeeds or drops the thing beside where it should go. Whether an answer is yes or
no is drawn first, and the step then goes that way.
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
STEPS = 5  # rows of an episode
_YES = ("yes", "no")


class Table(NamedTuple):
    """What lies where: for each thing the place that it is in, beside or, "", neither of them.

    A place with a "~" before it is one that the thing lies beside.
    """

    things: tuple[str, ...]
    places: tuple[str, ...]
    lies: tuple[str, ...]

    def put(self, thing: str, lies: str) -> Table:
        """Return the table with a thing elsewhere."""
        at = self.things.index(thing)
        return self._replace(lies=(*self.lies[:at], lies, *self.lies[at + 1 :]))


class Step(NamedTuple):
    """The table before and after a try, and what is asked of it."""

    before: Table
    after: Table
    context: str
    question: str
    answer: str
    kind: str


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
            slices={"type": step.kind},
        )

    def episode(self, number: int) -> str:
        """Return the id of an episode."""
        return f"{self.stem}-episode-{number:05}"

    def drawn(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the table before and after the last try; once where nothing was tried yet."""
        from toolmark.suites.multinet.synthetic import table

        episode, at = divmod(number, STEPS)
        id = self.episode(episode)
        step = _episode(self.seed, id)[at]
        shown = (step.before, step.after) if at else (step.after,)
        return tuple(table.drawn(self.seed, id, each) for each in shown)


@lru_cache(maxsize=1024)
def _episode(seed: int, id: str) -> tuple[Step, ...]:
    """Draw an episode."""
    rng = seeds.of(seed, id, 0, "multinet robovqa")
    table = _laid(rng)
    order = seeds.sample(rng, len(table.things), 3)  # one thing stays unnamed
    goal = [(table.things[k], seeds.choice(rng, table.places)) for k in order]
    steps, done = [], 0
    for at in range(STEPS):
        before, last = table, goal[done] if at and done < len(goal) else None
        kinds = ("next", "possible") if last is None else ("success", "past", "next", "possible")
        kind = _kind(rng, kinds, at)
        yes = seeds.below(rng, 2) == 0
        if last:
            works = yes if kind == "success" else seeds.below(rng, 3) > 0
            table = table.put(last[0], last[1] if works else f"~{last[1]}")
            done += works
        told = _told(goal)
        asked = _ask(rng, kind, yes, table, goal, done, last)
        steps.append(Step(before, table, told, *asked, kind))
    return tuple(steps)


def _kind(rng: Random, kinds: Sequence[str], at: int) -> str:
    """Draw what is asked; what comes next is asked less once all may be done."""
    if len(kinds) == 2:
        return kinds[seeds.below(rng, 5) > (0 if at else 2)]
    return kinds[(0, 0, 0, 1, 1, 1, 1, 2, 2, 3)[seeds.below(rng, 10)]]


def _laid(rng: Random) -> Table:
    """Lay four things of different names and two or three places on a table."""
    names = [f"{colour} {kind}" for colour in COLOURS for kind in KINDS]
    things = tuple(names[k] for k in seeds.sample(rng, len(names), 4))
    places = list(PLACES)
    seeds.shuffle(rng, places)
    return Table(things, tuple(places[: seeds.between(rng, 2, 3)]), ("",) * 4)


def _told(goal: Sequence[tuple[str, str]]) -> str:
    moves = "; ".join(f"{k}. {_move(*move)}" for k, move in enumerate(goal, 1))
    return (
        f"The robot has this list of moves, to be done in this order: {moves}. It repeats a move "
        "that failed. Two pictures show the table before and after what it last did; one alone "
        "shows the start."
    )


def _move(thing: str, place: str) -> str:
    return f"put the {thing} in the {place}"


def _ask(
    rng: Random, kind: str, yes: bool, table: Table, goal: Sequence[tuple[str, str]], done: int,
    last: tuple[str, str] | None,
) -> tuple[str, str]:  # fmt: skip
    """Return a question and its answer."""
    match kind:
        case "success":
            assert last
            return f"Was this move done: {_move(*last)}? Answer yes or no.", _YES[not yes]
        case "past":
            assert last
            worked = table.lies[table.things.index(last[0])] == last[1]
            asked = ("What did the robot just do? Answer 'put the ... in the ...' or 'dropped the "
                     "... beside the ...'.")  # fmt: skip
            return asked, _move(*last) if worked else f"dropped the {last[0]} beside the {last[1]}"
        case "next":
            asked = "What is the next move? Answer with its words from the list, or 'done'."
            return asked, _move(*goal[done]) if done < len(goal) else "done"
        case _:
            # what the list names is there: asked is what it does not name
            named = {thing for thing, _ in goal}
            there = [thing for thing in table.things if thing not in named]
            thing = seeds.choice(rng, there if yes else _absent(table))
            one = "an" if thing.startswith("orange") else "a"
            return f"Is there {one} {thing} to pick up now? Answer yes or no.", _YES[not yes]


def _absent(table: Table) -> list[str]:
    """Return things that are not there, though their colours and their kinds are."""
    colours = [thing.split()[0] for thing in table.things]
    kinds = [thing.split()[1] for thing in table.things]
    mixed = {f"{colour} {kind}" for colour in colours for kind in kinds} - {*table.things}
    names = {f"{colour} {kind}" for colour in COLOURS for kind in KINDS} - {*table.things}
    return sorted(mixed or names)


def rows(*, n: int, split: Split, seed: int) -> Robovqa:
    """Return the first n rows of a split, five for an episode."""
    return Robovqa(n=n, split=split, seed=seed)
