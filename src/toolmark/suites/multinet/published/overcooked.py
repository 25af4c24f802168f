"""Overcooked in the published layout: `overcooked_ai/<split>/`, one pickled list of rows.

A row is a dictionary whose numbers may be texts. `state` is the picture of the kitchen before the
step (base64). `joint_action` is the action of both players, as the text of a list of two: a
direction [x, y], [0, 0] to stay, or "interact" in upper or lower case. `layout_name`, `time_left`,
`time_elapsed`, `score`, `reward`, `cur_gameloop` (the order of the steps) and `trial_id` are
required too; other keys are ignored. `trial_id`, which names people, is hashed and shown nowhere.
The steps of one `trial_id` on a layout are a game.

Pictures stay in the file until they are requested. The model sees the score before the step: a
row's own score includes its `reward`, in games of 2020 and of 2019. A row whose action is none of
the 36 is bad; the reference treats it as STAY, STAY, and also INTERACT in upper case.
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

from toolmark.core import files
from toolmark.core.errors import DataError
from toolmark.core.files import file_sha256
from toolmark.core.number_format import format_count
from toolmark.suites.multinet import published_layout
from toolmark.suites.multinet.frame_records import Frame, Picture
from toolmark.suites.multinet.loaded_rows import prepare_picture
from toolmark.suites.multinet.overcooked import human_games, safe_unpickling
from toolmark.suites.multinet.overcooked.overcooked_rows import (
    AnswerMode,
    check_options,
    count_steps,
    find_step,
    history_field,
    partial_frames,
    status_fields,
)
from toolmark.suites.multinet.overcooked.safe_unpickling import TextInFile
from toolmark.suites.multinet.published_layout import RowFaults, Split

NAMES = ("overcooked_ai", "overcooked")
_FILE_PATTERNS = ("*.pickle", "*.pkl")
_NUMBER_FIELDS = ("cur_gameloop", "time_left", "time_elapsed", "score", "reward")
_TEXT_FIELDS = ("layout_name", "joint_action", "trial_id")
_PICTURE_FIELD = "state"
_NO_TEXT_STATE_NOTE = (
    "Overcooked: the rows tell no kitchen in words; where no pictures are sent, layout, times, "
    "score and history are all that is known"
)

GameKey: TypeAlias = tuple[str, str]


class Step(NamedTuple):
    """One step; `picture` is base64, or its place in the file. `score` is that before the step."""

    joint: int
    left_s: float
    elapsed_s: float
    score: int
    picture: str | TextInFile


class Game(NamedTuple):
    """One game."""

    layout: str
    steps: tuple[Step, ...]


def rows(
    folder: Path,
    *,
    split: Split,
    seed: int = 0,
    mode: AnswerMode = "action",
    history: int = 0,
    pictures: int = 1,
) -> PublishedGames:
    """Read a split; its pictures are read and checked on request.

    `history`: the model sees that many joint actions before the step. `pictures`: that many frames
    are shown, the last being the one before the step. Nothing is drawn from the seed. Raises
    UsageError for what cannot be asked, DataError that lists every bad row.
    """
    check_options(mode, history, pictures)
    split_folder = published_layout.find_split_folder(folder, NAMES, split)
    if split_folder is None:
        note = f"Overcooked: {folder} holds no training split"
        return PublishedGames(folder, {}, {}, (note,), mode, history, pictures)
    found = sorted(path for ending in _FILE_PATTERNS for path in split_folder.path.glob(ending))
    path = published_layout.require_single_file(
        found, split_folder.path, "pickled list of rows (*.pickle)", "overcooked"
    )
    split_folder.require_inside(path)
    games, n_repeated = _read_games(path)
    if not games:
        raise DataError(f"{path}: holds no row")
    split_folder.record_hash(path, file_sha256(path))
    repeated_note = (
        f"Overcooked: {format_count(n_repeated)} steps have the number of another in their game"
    )
    notes = (_NO_TEXT_STATE_NOTE, *((repeated_note,) if n_repeated else ()))
    return PublishedGames(path, games, split_folder.hashes, notes, mode, history, pictures)


@dataclass(frozen=True)
class PublishedGames:
    """The steps of all games, game by game, by id; their pictures stay in the file."""

    path: Path
    games: Mapping[str, Game]
    hashes: Mapping[str, str]
    notes: Sequence[str]
    mode: AnswerMode
    history: int
    shown: int
    clustered: bool = True

    def __len__(self) -> int:
        """Return the number of steps."""
        return count_steps(self.games)

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows."""
        return map(self.complete_frame, self.partial_frames())

    def partial_frames(self) -> Iterator[Frame]:
        """Yield the rows without their fields."""
        return partial_frames(self.games, "published", self.mode)

    def complete_frame(self, frame: Frame) -> Frame:
        """Return one partial frame with all its parts."""
        layout, steps = self.games[frame.group]
        fields = status_fields(layout, steps[frame.step]) | history_field(
            steps, frame.step, self.history
        )
        return replace(frame, fields=fields)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return the frames up to a row's step, oldest first. Raises DataError if one is absent."""
        name, _, _ = id.rpartition("-")
        game, n = find_step(self.games, id)
        return tuple(
            prepare_picture(
                _decode_picture(self.path, game.steps[k].picture, f"{name}-{k:04}"),
                f"{name}-{k:04}",
            )
            for k in range(max(0, n + 1 - self.shown), n + 1)
        )


# --- from the file to games -------------------------------------------------------------


def _read_games(path: Path) -> tuple[dict[str, Game], int]:
    """Return the games sorted by id, and the number of steps whose step number occurs twice."""
    faults = RowFaults()
    found: dict[GameKey, list[tuple[float, Step]]] = defaultdict(list)
    for n, row in enumerate(safe_unpickling.read_records(path)):
        try:
            key, loop, step = _parse_row(row)
            found[key].append((loop, step))
        except (ValueError, TypeError, OverflowError) as error:
            faults.add(f"row {n}", str(error))
    faults.raise_if_any(path)
    n_repeated = sum(
        len(numbered_steps) - len({loop for loop, _ in numbered_steps})
        for numbered_steps in found.values()
    )
    games = {
        f"{layout}-{human_games.anonymous_game_id((layout, trial))}": Game(
            layout, tuple(step for _, step in sorted(numbered_steps, key=itemgetter(0)))
        )
        for (layout, trial), numbered_steps in found.items()
    }
    return dict(sorted(games.items())), n_repeated


def _parse_row(row: Mapping[str, Any]) -> tuple[GameKey, float, Step]:
    """Parse one row. Raises ValueError for an invalid one."""
    if missing := [
        name
        for name in (_PICTURE_FIELD, *_TEXT_FIELDS, *_NUMBER_FIELDS)
        if row.get(name) in (None, "")
    ]:
        raise ValueError(f"no {', '.join(missing)}")
    loop, left, elapsed, score, reward = (_parse_number(name, row[name]) for name in _NUMBER_FIELDS)
    for name in _TEXT_FIELDS:
        if not isinstance(row[name], str):
            raise ValueError(f"{name} is not text but {type(row[name]).__name__}")
    if not human_games.LAYOUT_NAME.fullmatch(row["layout_name"]):
        raise ValueError("layout_name must be 1 to 64 letters, digits and _")
    if not isinstance(row[_PICTURE_FIELD], str | TextInFile):
        raise ValueError(f"{_PICTURE_FIELD} is not base64 but {type(row[_PICTURE_FIELD]).__name__}")
    step = Step(
        joint=human_games.parse_joint_action(row["joint_action"]),
        left_s=max(0.0, left),
        elapsed_s=elapsed,
        score=round(score - reward),
        picture=row[_PICTURE_FIELD],
    )
    return (row["layout_name"], row["trial_id"]), loop, step


def _parse_number(name: str, value: Any) -> float:
    """Return a number, which may be given as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{name} is not a number but {type(value).__name__}")
    try:
        found = float(value)
    except ValueError:
        raise ValueError(f"{name} is not a number but {value[:40]!r}") from None  # type: ignore[index]
    if not math.isfinite(found):
        raise ValueError(f"{name} is {value}")
    return found


def _decode_picture(path: Path, picture: str | TextInFile, id: str) -> bytes:
    """Return a picture's bytes. Raises DataError if they are not base64."""
    text: str | bytes = picture if isinstance(picture, str) else b""
    if isinstance(picture, TextInFile):
        with files.open_regular_file(path) as file:
            file.seek(picture.start)
            text = file.read(picture.size)
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise DataError(f"{id}: its picture is not base64") from None
