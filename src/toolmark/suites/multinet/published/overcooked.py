"""Overcooked in the published layout: `overcooked_ai/<split>/`, one pickled list of rows.

A row is a dictionary, its numbers may be texts: `state` is the picture of the kitchen before the
step (base64), `joint_action` what both then did, as the text of a list of two: a direction [x, y],
[0, 0] to stay, or "interact", large or small. `layout_name`, `time_left`, `time_elapsed`, `score`,
`reward`, `cur_gameloop` (the order of the steps) and `trial_id` are needed too, others are let be.
`trial_id`, which names people, is hashed and shown nowhere; its steps on a layout are a game.

Pictures stay in the file until they are asked for. The score that is told is that before the step:
a row's own, in games of 2020 as in those of 2019, counts its `reward`. A row whose action is none
of the 36 is bad; the reference takes it as STAY, STAY, and INTERACT in large letters too.
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from toolmark import files
from toolmark.errors import DataError
from toolmark.fetch import digest
from toolmark.suites.multinet import layout as folders
from toolmark.suites.multinet.frame import Frame, Picture
from toolmark.suites.multinet.held import shown
from toolmark.suites.multinet.layout import Faults, Split
from toolmark.suites.multinet.overcooked import data, unpickle
from toolmark.suites.multinet.overcooked.rows import (
    Mode,
    above,
    before,
    check,
    length,
    played,
    untold,
)
from toolmark.suites.multinet.overcooked.unpickle import Far

NAMES = ("overcooked_ai", "overcooked")
_ENDINGS = ("*.pickle", "*.pkl")
_NUMBERS = ("cur_gameloop", "time_left", "time_elapsed", "score", "reward")
_TEXTS = ("layout_name", "joint_action", "trial_id")
_PICTURE = "state"
_UNTOLD = (
    "Overcooked: the rows tell no kitchen in words; where no pictures are sent, layout, times, "
    "score and history are all that is known"
)

Key: TypeAlias = tuple[str, str]


class Step(NamedTuple):
    """One moment; `picture` is base64, or where that stands. `score` is that before the step."""

    joint: int
    left_s: float
    elapsed_s: float
    score: int
    picture: str | Far


class Game(NamedTuple):
    """One game."""

    layout: str
    steps: tuple[Step, ...]


def rows(
    folder: Path,
    *,
    split: Split,
    seed: int = 0,
    mode: Mode = "action",
    history: int = 0,
    pictures: int = 1,
) -> Published:
    """Read a split; its pictures are read, and checked, when they are asked for.

    `history`: that many joint actions before the step are told; `pictures`: that many frames are
    shown, the last being the one before the step. Nothing is drawn from the seed. Raises UsageError
    for what cannot be asked, DataError that lists every bad row.
    """
    check(mode, history, pictures)
    room = folders.room(folder, NAMES, split)
    if room is None:
        note = f"Overcooked: {folder} holds no training split"
        return Published(folder, {}, {}, (note,), mode, history, pictures)
    found = sorted(path for ending in _ENDINGS for path in room.path.glob(ending))
    path = folders.one(found, room.path, "pickled list of rows (*.pickle)", "overcooked")
    room.inside(path)
    games, doubled = _games(path)
    if not games:
        raise DataError(f"{path}: holds no row")
    room.note(path, digest(path))
    twice = f"Overcooked: {doubled:,} steps have the number of another in their game"
    notes = (_UNTOLD, *((twice,) if doubled else ()))
    return Published(path, games, room.hashes, notes, mode, history, pictures)


@dataclass(frozen=True)
class Published:
    """The steps of all games, game by game, by ids; their pictures stay in the file."""

    path: Path
    games: Mapping[str, Game]
    hashes: Mapping[str, str]
    notes: Sequence[str]
    mode: Mode
    history: int
    shown: int
    clustered: bool = True

    def __len__(self) -> int:
        """Return how many steps there are."""
        return length(self.games)

    def __iter__(self) -> Iterator[Frame]:
        """Go through them."""
        return map(self.full, self.bare())

    def bare(self) -> Iterator[Frame]:
        """Go through them without their fields."""
        return untold(self.games, "published", self.mode)

    def full(self, frame: Frame) -> Frame:
        """Return the whole of one of them."""
        layout, steps = self.games[frame.group]
        fields = above(layout, steps[frame.step]) | before(steps, frame.step, self.history)
        return replace(frame, fields=fields)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return the frames up to a row's, oldest first. Raises DataError where one lacks."""
        name, _, _ = id.rpartition("-")
        game, n = played(self.games, id)
        return tuple(
            shown(_decoded(self.path, game.steps[k].picture, f"{name}-{k:04}"), f"{name}-{k:04}")
            for k in range(max(0, n + 1 - self.shown), n + 1)
        )


# --- from the file to games -------------------------------------------------------------


def _games(path: Path) -> tuple[dict[str, Game], int]:
    """Return the games by their ids, in the order of these, and how many steps share a number."""
    faults = Faults()
    found: dict[Key, list[tuple[float, Step]]] = defaultdict(list)
    for n, row in enumerate(unpickle.records(path)):
        try:
            key, loop, step = _row(row)
            found[key].append((loop, step))
        except (ValueError, TypeError, OverflowError) as error:
            faults.add(f"row {n}", str(error))
    faults.check(path)
    doubled = sum(len(taken) - len({loop for loop, _ in taken}) for taken in found.values())
    games = {
        f"{layout}-{data.hashed((layout, trial))}": Game(
            layout, tuple(step for _, step in sorted(taken, key=itemgetter(0)))
        )
        for (layout, trial), taken in found.items()
    }
    return dict(sorted(games.items())), doubled


def _row(row: Mapping[str, Any]) -> tuple[Key, float, Step]:
    """Read one row. Raises ValueError for what is wrong with it."""
    if lost := [name for name in (_PICTURE, *_TEXTS, *_NUMBERS) if row.get(name) in (None, "")]:
        raise ValueError(f"no {', '.join(lost)}")
    loop, left, elapsed, score, reward = (_number(name, row[name]) for name in _NUMBERS)
    for name in _TEXTS:
        if not isinstance(row[name], str):
            raise ValueError(f"{name} is no text but {type(row[name]).__name__}")
    if not data.NAME.fullmatch(row["layout_name"]):
        raise ValueError("layout_name is no name")
    if not isinstance(row[_PICTURE], str | Far):
        raise ValueError(f"{_PICTURE} is no base64 but {type(row[_PICTURE]).__name__}")
    step = Step(
        joint=data.joint(row["joint_action"]),
        left_s=max(0.0, left),
        elapsed_s=elapsed,
        score=round(score - reward),
        picture=row[_PICTURE],
    )
    return (row["layout_name"], row["trial_id"]), loop, step


def _number(name: str, value: Any) -> float:
    """Return a number, which may stand there as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{name} is no number but {type(value).__name__}")
    try:
        found = float(value)
    except ValueError:
        raise ValueError(f"{name} is no number but {value[:40]!r}") from None  # type: ignore[index]
    if not math.isfinite(found):
        raise ValueError(f"{name} is {value}")
    return found


def _decoded(path: Path, picture: str | Far, id: str) -> bytes:
    """Return a picture's bytes. Raises DataError where they are no base64."""
    text: str | bytes = picture if isinstance(picture, str) else b""
    if isinstance(picture, Far):
        with files.opened(path) as file:
            file.seek(picture.start)
            text = file.read(picture.size)
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise DataError(f"{id}: its picture is no base64") from None
