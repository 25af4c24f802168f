"""Overcooked as rows: a kitchen before a step, and the joint action that two people then took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from msgspec.structs import replace

from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Record
from toolmark.suites.multinet.frame_records import (
    ACTIONS,
    AnswerSpace,
    Choice,
    Distribution,
    Frame,
    Picture,
    Source,
)
from toolmark.suites.multinet.overcooked import human_games, kitchen_state
from toolmark.suites.multinet.overcooked.human_games import SplitGames

AnswerMode = Literal["action", "probs"]

DATA_NOTES = (
    "real games that people played in 2019; the paper's are of 2020, so that its numbers are of "
    "other games",
    "the score shown is that before the step: the file's own counts what the step itself earned",
    "no game is in both splits, but the same people play in both",
)
MAX_FRAMES = 100  # frames sent for a step: each is a picture in the request
JOINT_ACTIONS = tuple(
    f"player 0 {first}, player 1 {second}" for first in ACTIONS for second in ACTIONS
)
"""The joint actions in their order: 6 times the first's number plus the second's."""


def rows(
    folder: Path | None = None,
    *,
    split: Literal["train", "test"] = "test",
    mode: AnswerMode = "action",
    history: int = 0,
    pictures: int = 1,
) -> HumanGames:
    """Return the rows of a split's games; fetch the package if necessary.

    `folder` is the cache folder. `history`: the model sees that many joint actions before the step.
    `pictures`: that many frames are shown, the last being the one before the step. Raises
    UsageError for what cannot be asked, DataError for data that are not available or not readable.
    """
    check_options(mode, history, pictures)
    found = HumanGames(
        home=str(human_games.data_folder(folder)),
        split=split,
        mode=mode,
        history=history,
        shown=pictures,
    )
    found.load_split()
    return found


def check_options(mode: str, history: int, pictures: int) -> None:
    """Raise UsageError for what cannot be asked."""
    if mode not in ("action", "probs"):
        raise UsageError(f"mode is action or probs, not {mode!r}")
    if history < 0:
        raise UsageError("history must be at least 0")
    if not 1 <= pictures <= MAX_FRAMES:
        raise UsageError(f"frames must be from 1 to {MAX_FRAMES}; got {pictures}")


def answer_space(mode: AnswerMode) -> AnswerSpace:
    """Return the answer space of a joint action."""
    return (Choice if mode == "action" else Distribution)(options=JOINT_ACTIONS)


class GameStep(Protocol):
    """A step's values shown above a picture, and the joint action that followed."""

    @property
    def joint(self) -> int: ...  # noqa: D102
    @property
    def left_s(self) -> float: ...  # noqa: D102
    @property
    def elapsed_s(self) -> float: ...  # noqa: D102
    @property
    def score(self) -> int: ...  # noqa: D102


def status_fields(layout: str, step: GameStep) -> dict[str, str]:
    """Return the fields that do not depend on the content of the kitchen."""
    return {
        "layout": layout,
        "time_left": f"{step.left_s:.0f} s",
        "time_elapsed": f"{step.elapsed_s:.1f} s",
        "score": str(step.score),
    }


def history_field(steps: Sequence[GameStep], n: int, max_actions: int) -> dict[str, str]:
    """Return the field of at most `max_actions` joint actions before step n, oldest first.

    If `max_actions` is 0 there is no such field.
    """
    if not max_actions:
        return {}
    lines = [JOINT_ACTIONS[step.joint] for step in steps[max(0, n - max_actions) : n]]
    return {"history": "\n" + "\n".join(lines) if lines else "none, this is the first step"}


class PlayedGame(Protocol):
    """A game: its layout's name, and its steps in order."""

    @property
    def layout(self) -> str: ...  # noqa: D102
    @property
    def steps(self) -> Sequence[GameStep]: ...  # noqa: D102


G = TypeVar("G", bound=PlayedGame)


def count_steps(games: Mapping[str, PlayedGame]) -> int:
    """Return the number of steps in all games."""
    return sum(len(game.steps) for game in games.values())


def partial_frames(
    games: Mapping[str, PlayedGame], source: Source, mode: AnswerMode
) -> Iterator[Frame]:
    """Yield the steps of games, by id, as rows without fields."""
    step_space = answer_space(mode)
    for name, game in games.items():
        slices = {"layout": game.layout}
        for n, step in enumerate(game.steps):
            yield Frame(
                id=f"{name}-{n:04}",
                family="overcooked",
                source=source,
                space=step_space,
                truth=step.joint,
                group=name,
                step=n,
                slices=slices,
            )


def find_step(games: Mapping[str, G], id: str) -> tuple[G, int]:
    """Return a row's game and the number of its step. Raises DataError for an unknown id."""
    name, _, number = id.rpartition("-")
    game = games.get(name)
    if game is None or not number.isdecimal() or int(number) >= len(game.steps):
        raise DataError(f"no step {id[:80]!r}")
    return game, int(number)


class HumanGames(Record, frozen=True, kw_only=True):
    """The steps of all games, game by game. It is pickled as names only; games are read again."""

    home: str
    split: Literal["train", "test"]
    mode: AnswerMode = "action"
    history: int = 0
    shown: int = 1

    @property
    def clustered(self) -> bool:
        """Return True: steps of one game depend on each other."""
        return True

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of what was read, by name."""
        name = f"clean_{self.split}_trials.pickle"
        return {
            human_games.PACKAGE.file: human_games.PACKAGE.sha256,
            name: self.load_split().sha256,
        }

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user about the data."""
        return DATA_NOTES

    def load_split(self) -> SplitGames:
        """Return the games; they are read once in each process."""
        return human_games.read_games(Path(self.home), self.split)

    def __len__(self) -> int:
        """Return the number of steps."""
        return count_steps(self.load_split().games)

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows."""
        return map(self.complete_frame, self.partial_frames())

    def partial_frames(self) -> Iterator[Frame]:
        """Yield the rows without fields, because describing a kitchen as text is slowest."""
        return partial_frames(self.load_split().games, "real", self.mode)

    def complete_frame(self, frame: Frame) -> Frame:
        """Return one partial frame with all its parts."""
        game = self.load_split().games[frame.group]
        step = game.steps[frame.step]
        current_state = step.parse_state()
        fields = {
            **status_fields(game.layout, step),
            "grid": "\n" + kitchen_state.draw_text_plan(game.grid, current_state),
            "state": "\n" + kitchen_state.describe_state(game.grid, current_state),
            **history_field(game.steps, frame.step, self.history),
        }
        return replace(frame, fields=fields)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return the frames up to a row's step, oldest first, drawn now. Raises DataError."""
        from toolmark.suites.multinet.overcooked import kitchen_pictures  # Pillow is an extra

        home, (game, n) = Path(self.home), find_step(self.load_split().games, id)
        return tuple(
            Picture(
                data=kitchen_pictures.draw_kitchen(
                    home, game.grid, step.parse_state(), step.left_s, step.score
                ),
                mime=kitchen_pictures.MIME,
            )
            for step in game.steps[max(0, n + 1 - self.shown) : n + 1]
        )
