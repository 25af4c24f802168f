"""Overcooked as rows: a kitchen before a step, and the joint action that two people then took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from msgspec.structs import replace

from toolmark.errors import DataError, UsageError
from toolmark.suites.multinet.frame import ACTIONS, Choice, Frame, Odds, Picture, Source, Space
from toolmark.suites.multinet.overcooked import data, state
from toolmark.suites.multinet.overcooked.data import Split
from toolmark.types import Record

Mode = Literal["action", "probs"]

NOTES = (
    "real games that people played in 2019; the paper's are of 2020, so that its numbers are of "
    "other games",
    "the score told is that before the step: the file's own counts what the step itself earned",
    "no game is in both splits, but the same people play in both",
)
MOST_FRAMES = 100  # of a step that are sent: each of them counts as a picture of the request
OPTIONS = tuple(f"player 0 {first}, player 1 {second}" for first in ACTIONS for second in ACTIONS)
"""The joint actions in their order: 6 times the first's number plus the second's."""


def rows(
    folder: Path | None = None,
    *,
    split: Literal["train", "test"] = "test",
    mode: Mode = "action",
    history: int = 0,
    pictures: int = 1,
) -> Games:
    """Return the rows of the games of a split, fetching the package if need be.

    `folder` is the cache folder. `history`: that many joint actions before the step are told;
    `pictures`: that many frames are shown, the last being the one before the step. Raises
    UsageError for what cannot be asked, DataError for data that cannot be had or read.
    """
    check(mode, history, pictures)
    found = Games(home=str(data.home(folder)), split=split, mode=mode, history=history,
                  shown=pictures)  # fmt: skip
    found.read()
    return found


def check(mode: str, history: int, pictures: int) -> None:
    """Raise UsageError for what cannot be asked."""
    if mode not in ("action", "probs"):
        raise UsageError(f"mode is action or probs, not {mode!r}")
    if history < 0:
        raise UsageError("history must be at least 0")
    if not 1 <= pictures <= MOST_FRAMES:
        raise UsageError(f"frames must be from 1 to {MOST_FRAMES}; got {pictures}")


def space(mode: Mode) -> Space:
    """Return in which terms a joint action is asked for."""
    return (Choice if mode == "action" else Odds)(options=OPTIONS)


class Moment(Protocol):
    """What stands above a picture, and what was done then."""

    @property
    def joint(self) -> int: ...  # noqa: D102
    @property
    def left_s(self) -> float: ...  # noqa: D102
    @property
    def elapsed_s(self) -> float: ...  # noqa: D102
    @property
    def score(self) -> int: ...  # noqa: D102


def above(layout: str, step: Moment) -> dict[str, str]:
    """Return the fields that do not hang on what is in the kitchen."""
    return {
        "layout": layout,
        "time_left": f"{step.left_s:.0f} s",
        "time_elapsed": f"{step.elapsed_s:.1f} s",
        "score": str(step.score),
    }


def before(steps: Sequence[Moment], n: int, most: int) -> dict[str, str]:
    """Return the field of at most so many joint actions before step n, oldest first; 0: none."""
    if not most:
        return {}
    lines = [OPTIONS[step.joint] for step in steps[max(0, n - most) : n]]
    return {"history": "\n" + "\n".join(lines) if lines else "none, this is the first step"}


class Played(Protocol):
    """A game: its kitchen's name, and its steps in their order."""

    @property
    def layout(self) -> str: ...  # noqa: D102
    @property
    def steps(self) -> Sequence[Moment]: ...  # noqa: D102


G = TypeVar("G", bound=Played)


def length(games: Mapping[str, Played]) -> int:
    """Return how many steps there are in games."""
    return sum(len(game.steps) for game in games.values())


def untold(games: Mapping[str, Played], source: Source, mode: Mode) -> Iterator[Frame]:
    """Go through the steps of games, by their ids, as rows without fields."""
    terms = space(mode)
    for name, game in games.items():
        slices = {"layout": game.layout}
        for n, step in enumerate(game.steps):
            yield Frame(
                id=f"{name}-{n:04}",
                family="overcooked",
                source=source,
                space=terms,
                truth=step.joint,
                group=name,
                step=n,
                slices=slices,
            )


def played(games: Mapping[str, G], id: str) -> tuple[G, int]:
    """Return a row's game and the number of its step. Raises DataError where there is none."""
    name, _, number = id.rpartition("-")
    game = games.get(name)
    if game is None or not number.isdecimal() or int(number) >= len(game.steps):
        raise DataError(f"no step {id[:80]!r}")
    return game, int(number)


class Games(Record, frozen=True, kw_only=True):
    """The steps of all games, game by game. What it travels with are names: games are read anew."""

    home: str
    split: Literal["train", "test"]
    mode: Mode = "action"
    history: int = 0
    shown: int = 1

    @property
    def clustered(self) -> bool:
        """Steps of one game hang together."""
        return True

    @property
    def hashes(self) -> Mapping[str, str]:
        """What was read, by name, as SHA-256."""
        name = f"clean_{self.split}_trials.pickle"
        return {data.PACKAGE.file: data.PACKAGE.sha256, name: self.read().sha256}

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know of the data."""
        return NOTES

    def read(self) -> Split:
        """Return the games; they are read once in each process."""
        return data.read(Path(self.home), self.split)

    def __len__(self) -> int:
        """Return how many steps there are."""
        return length(self.read().games)

    def __iter__(self) -> Iterator[Frame]:
        """Go through them."""
        return map(self.full, self.bare())

    def bare(self) -> Iterator[Frame]:
        """Go through them without their fields: to tell a kitchen in words takes longest."""
        return untold(self.read().games, "real", self.mode)

    def full(self, frame: Frame) -> Frame:
        """Return the whole of one of them."""
        game = self.read().games[frame.group]
        step = game.steps[frame.step]
        now = step.now()
        fields = {
            **above(game.layout, step),
            "grid": "\n" + state.plan(game.grid, now),
            "state": "\n" + state.told(game.grid, now),
            **before(game.steps, frame.step, self.history),
        }
        return replace(frame, fields=fields)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return the frames up to a row's, oldest first, drawn now. Raises DataError."""
        from toolmark.suites.multinet.overcooked import draw  # Pillow is an extra

        home, (game, n) = Path(self.home), played(self.read().games, id)
        return tuple(
            Picture(
                data=draw.picture(home, game.grid, step.now(), step.left_s, step.score),
                mime=draw.MIME,
            )
            for step in game.steps[max(0, n + 1 - self.shown) : n + 1]
        )
