"""Synthetic RoboVQA: a robot at a table, seen before and after its last try.

An episode is a list of moves that the robot was given, and some moments in time. The robot tries
the next open move, and either succeeds or drops the thing next to its target. The question and the
answer of a moment are drawn first, evenly, and the moment follows from them, so the list of moves
reveals nothing. Absent things that a question names are drawn together with the present ones, so
that only the picture distinguishes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from toolmark.core import seeds
from toolmark.suites.multinet.frame_records import Frame, FreeText
from toolmark.suites.multinet.synthetic.synthetic_rows import Split, SyntheticRows
from toolmark.suites.multinet.synthetic.tabletop_scene import TabletopScene

if TYPE_CHECKING:
    from PIL import Image

THING_KINDS = ("cube", "ball", "can", "ring", "star")
THING_COLOURS = ("red", "green", "blue", "yellow", "purple", "orange")
PLACE_NAMES = ("bowl", "tray", "basket")
QUESTION_TYPES = ("next", "possible", "success", "past")
N_EPISODE_ROWS = 5  # rows of an episode
N_MOVES = 3  # in the list of an episode
_YES_NO = ("yes", "no")


class Moment(NamedTuple):
    """When a question is asked: the number of moves done, and whether the next thing was dropped.

    `without_before`: the picture before the try is not shown. `answer_is_yes` is the answer to a
    yes-no question.
    """

    n_done: int
    dropped: bool
    without_before: bool
    type: str
    answer_is_yes: bool


class EpisodeScene(NamedTuple):
    """A table at the start, a thing that is absent, and the target places of its first things."""

    table: TabletopScene
    absent: str
    target_places: tuple[str, ...]

    @property
    def moves(self) -> list[tuple[str, str]]:
        """Return the things to move, and their target places."""
        return [*zip(self.table.things, self.target_places, strict=False)]

    def table_after(self, n_done: int, dropped: bool) -> TabletopScene:
        """Return the table after `n_done` moves, with the next move's thing dropped or not."""
        first = self.target_places[:n_done]
        next_ = (f"~{self.target_places[n_done]}",) if dropped else ()
        n_untouched = len(self.table.things) - len(first) - len(next_)
        return self.table._replace(lies=(*first, *next_, *("",) * n_untouched))


class EpisodeStep(NamedTuple):
    """The table before and after a try, the question and its answer; None: before is not shown."""

    before: TabletopScene | None
    after: TabletopScene
    context: str
    question: str
    answer: str
    type: str


class SyntheticRobovqa(SyntheticRows, frozen=True, kw_only=True):
    """Rows of one split: five for each episode."""

    family = "robovqa"
    limitation = "a drawn table before and after each move, answers known from the moves"

    def build_frame(self, number: int) -> Frame:
        """Return one row."""
        episode, at = divmod(number, N_EPISODE_ROWS)
        step = _draw_episode(self.seed, self.episode_id(episode))[at]
        return Frame(
            id=self.row_id(number),
            family=self.family,
            source="synthetic",
            space=FreeText(),
            truth=step.answer,
            group=self.episode_id(episode),
            step=at,
            fields={"context": step.context, "question": step.question},
            slices={"type": step.type},
        )

    def episode_id(self, number: int) -> str:
        """Return the id of an episode."""
        return f"{self.id_prefix}-episode-{number:05}"

    def draw_pictures(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the table before and after the last try, or only as it is now."""
        from toolmark.suites.multinet.synthetic import tabletop_drawing

        episode, at = divmod(number, N_EPISODE_ROWS)
        id = self.episode_id(episode)
        step = _draw_episode(self.seed, id)[at]
        tables = (step.before, step.after) if step.before else (step.after,)
        return tuple(tabletop_drawing.draw_tabletop(self.seed, id, each) for each in tables)


@lru_cache(maxsize=1024)
def _draw_episode(seed: int, id: str) -> tuple[EpisodeStep, ...]:
    """Draw an episode: its moments in the order of time."""
    rng = seeds.make_rng(seed, id, 0, "multinet robovqa")
    scene = _draw_scene(rng)
    moments = sorted((_draw_moment(rng) for _ in range(N_EPISODE_ROWS)), key=lambda each: each[:2])
    # a move that is seen to fail was dropped before it succeeded; for other moves this is drawn
    failed = [seeds.draw_below(rng, 2) == 0 for _ in range(N_MOVES)]
    for moment in moments:
        if moment.dropped:
            failed[moment.n_done] = True
    context = _describe_moves(scene.moves)
    return tuple(
        EpisodeStep(
            None if moment.without_before else _table_before(scene, moment, failed),
            scene.table_after(moment.n_done, moment.dropped),
            context,
            *_ask_question(moment, scene),
            moment.type,
        )
        for moment in moments
    )


def _draw_moment(rng: Random) -> Moment:
    """Draw a question and its answer, then a moment in which the answer is true."""
    type, answer_is_yes = seeds.draw_one(rng, QUESTION_TYPES), seeds.draw_below(rng, 2) == 0
    if type in ("success", "past"):  # about a try: "yes" means that it worked
        return Moment(
            seeds.draw_below(rng, N_MOVES) + answer_is_yes,
            not answer_is_yes,
            False,
            type,
            answer_is_yes,
        )
    n_done, without_before = seeds.draw_below(rng, N_MOVES + 1), seeds.draw_below(rng, 4) == 0
    # the picture before is shown and no move is done: so a try failed
    first = n_done == 0 and not without_before
    dropped = n_done < N_MOVES and (first or seeds.draw_below(rng, 2) == 0)
    return Moment(n_done, dropped, without_before, type, answer_is_yes)


def _table_before(scene: EpisodeScene, moment: Moment, failed: Sequence[bool]) -> TabletopScene:
    """Return the table before the last try."""
    if moment.dropped:
        return scene.table_after(moment.n_done, False)
    return scene.table_after(moment.n_done - 1, failed[moment.n_done - 1])


def _draw_scene(rng: Random) -> EpisodeScene:
    """Place four things and two or three places on a table.

    Names combine few colours and kinds, so that both must be compared. Of five drawn things the
    last is left out: no word of the text distinguishes it from the last one on the table.
    """
    colours, kinds = (
        [names[k] for k in seeds.sample_indices(rng, len(names), 3)]
        for names in (THING_COLOURS, THING_KINDS)
    )
    names = [f"{colour} {kind}" for colour in colours for kind in kinds]
    *things, absent = (names[k] for k in seeds.sample_indices(rng, len(names), N_MOVES + 2))
    count = seeds.draw_between(rng, 2, 3)
    places = tuple(PLACE_NAMES[k] for k in seeds.sample_indices(rng, len(PLACE_NAMES), count))
    goal = tuple(seeds.draw_one(rng, places) for _ in range(N_MOVES))
    return EpisodeScene(TabletopScene(tuple(things), places, ("",) * len(things)), absent, goal)


def _describe_moves(goal: Sequence[tuple[str, str]]) -> str:
    moves = "; ".join(f"{k}. {_describe_move(*move)}" for k, move in enumerate(goal, 1))
    return (
        f"The robot has this list of moves, to be done in this order: {moves}. Some may be done. "
        "It repeats a move that failed. Two pictures show the table before and after what it last "
        "did; one alone shows it as it is now."
    )


def _describe_move(thing: str, place_name: str) -> str:
    return f"put the {thing} in the {place_name}"


def _ask_question(moment: Moment, scene: EpisodeScene) -> tuple[str, str]:
    """Return a question and its answer."""
    moves, done = scene.moves, moment.n_done
    thing, place = moves[done - (not moment.dropped)]  # the last try
    match moment.type:
        case "success":
            return (
                f"Was this move done: {_describe_move(thing, place)}? Answer yes or no.",
                _yes_or_no(moment),
            )
        case "past":
            question = (
                "What did the robot just do? Answer 'put the ... in the ...' or 'dropped the "
                "... beside the ...'."
            )
            dropped = f"dropped the {thing} beside the {place}"
            return question, _describe_move(thing, place) if moment.answer_is_yes else dropped
        case "next":
            question = "What is the next move? Answer with its words from the list, or 'done'."
            return question, _describe_move(*moves[done]) if done < len(moves) else "done"
        case _:
            # the list of moves names neither
            thing = scene.table.things[-1] if moment.answer_is_yes else scene.absent
            one = "an" if thing.startswith("orange") else "a"
            return f"Is there {one} {thing} to pick up now? Answer yes or no.", _yes_or_no(moment)


def _yes_or_no(moment: Moment) -> str:
    return _YES_NO[not moment.answer_is_yes]


def rows(*, n: int, split: Split, seed: int) -> SyntheticRobovqa:
    """Return the first n rows of a split, five for each episode."""
    return SyntheticRobovqa(n=n, split=split, seed=seed)
