"""The games that people played in 2019, from the official package; this project ships none of them.

The file of a split has one row for each step of each game: the state before the step, and the
actions that both players then took. Rows belong to a game by layout, worker, run and round.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark.core import files
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.sources import pinned_archives
from toolmark.suites.multinet.frame_records import ACTIONS
from toolmark.suites.multinet.overcooked import kitchen_state, safe_unpickling
from toolmark.suites.multinet.overcooked.kitchen_state import Grid, KitchenState

PACKAGE = pinned_archives.Package(
    name="overcooked-ai",
    version="1.1.0",
    file="overcooked_ai-1.1.0.tar.gz",
    sha256="478bf319274bdb6c5bede8048ee901d088912353111ab85e9fb2bf389c6ccddf",
)
"""The licence is that of the package's repository; the package itself says UNKNOWN."""
SPLITS = ("train", "test")
_DATA_FOLDER = "overcooked_ai-1.1.0/src/overcooked_ai_py/data"
_COLUMNS = (
    "layout_name", "layout", "workerid_num", "run", "round_num", "cur_gameloop", "state",
    "joint_action", "time_left", "time_elapsed", "score", "reward",
)  # fmt: skip
_MOVE_INDEX = {(0, -1): 0, (0, 1): 1, (1, 0): 2, (-1, 0): 3, (0, 0): 4}
_TEXT_COLUMNS = ("layout_name", "layout", "run", "state", "joint_action")
LAYOUT_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
"""The valid names of a layout."""
_MAX_LISTED_FAULTS = 20

Move: TypeAlias = str | tuple[int, int]
GameKey: TypeAlias = tuple[str, int, str, int]


class Step(NamedTuple):
    """One step: the state as text, the joint action that followed, times and score.

    `score` is the score before the step; the score in the file includes the points of this step.
    """

    state: str
    joint: int
    left_s: float
    elapsed_s: float
    score: int

    def parse_state(self) -> KitchenState:
        """Return the state; it was validated when the games were read."""
        return kitchen_state.parse_literal(self.state, KitchenState)


class Game(NamedTuple):
    """One game. `id` reveals its layout, and nothing about its players."""

    id: str
    layout: str
    grid: Grid
    steps: tuple[Step, ...]


class SplitGames(NamedTuple):
    """The games of a split, sorted by id, and the SHA-256 of their file."""

    games: Mapping[str, Game]
    sha256: str


def fetch_package(folder: Path | None = None) -> Path:
    """Return the folder of the unpacked package; fetch it if necessary."""
    return pinned_archives.fetch_package(PACKAGE, folder)


def data_folder(folder: Path | None = None) -> Path:
    """Return the folder of games and graphics inside the package; fetch it if necessary."""
    return fetch_package(folder) / _DATA_FOLDER


@lru_cache(maxsize=4)
def read_games(folder: Path, split: Literal["train", "test"]) -> SplitGames:
    """Return the games of a split. Raises DataError that names the file and the bad rows."""
    if split not in SPLITS:
        raise UsageError(f"no split {split!r}{suggest_names(split, SPLITS)}")
    path = folder / "human_data" / f"clean_{split}_trials.pickle"
    columns = safe_unpickling.read_table(path, _COLUMNS)
    found: dict[GameKey, list[tuple[int, Step, Grid]]] = defaultdict(list)
    faults: list[str] = []
    checked = _CheckedValues()
    for n, row in enumerate(zip(*(columns[name] for name in _COLUMNS), strict=True)):
        try:
            key, loop, step, grid = _parse_row(row, checked)
            found[key].append((loop, step, grid))
        except (ValueError, TypeError, OverflowError) as error:
            faults.append(f"row {n}: {error}"[:300])
    games = sorted(_build_games(found, faults))
    if faults:
        more = (
            f"; and {len(faults) - _MAX_LISTED_FAULTS} more"
            if len(faults) > _MAX_LISTED_FAULTS
            else ""
        )
        raise DataError(f"{path}: {'; '.join(faults[:_MAX_LISTED_FAULTS])}{more}")
    return SplitGames({game.id: game for game in games}, files.file_sha256(path))


class _CheckedValues:
    """A cache of parsed values: most states, layouts and actions occur in many rows."""

    def __init__(self) -> None:
        self.grid = lru_cache(maxsize=None)(kitchen_state.parse_grid)
        self.state = lru_cache(maxsize=None)(_checked_state_text)
        self.joint = lru_cache(maxsize=None)(parse_joint_action)


def _checked_state_text(text: str, grid: Grid) -> str:
    """Return the text of a valid state; rows with equal texts share one string."""
    kitchen_state.parse_state(text, grid)
    return text


def _parse_row(row: tuple[Any, ...], checked: _CheckedValues) -> tuple[GameKey, int, Step, Grid]:
    """Parse one row. Raises ValueError for an invalid one."""
    name, layout, worker, run, turn, loop, text, action, left, elapsed, score, reward = row
    for column, value in zip(_COLUMNS, row, strict=True):
        if column in _TEXT_COLUMNS and not isinstance(value, str):
            raise ValueError(f"{column} is not text but {type(value).__name__}")
        if column not in _TEXT_COLUMNS and not math.isfinite(value):
            raise ValueError(f"{column} is {value}")
    if not LAYOUT_NAME.fullmatch(name):
        raise ValueError("layout_name must be 1 to 64 letters, digits and _")
    grid = checked.grid(layout)
    step = Step(
        state=checked.state(text, grid),
        joint=checked.joint(action),
        left_s=max(0.0, float(left)),
        elapsed_s=float(elapsed),
        score=round(score - reward),
    )
    return (name, int(worker), run, int(turn)), int(loop), step, grid


def parse_joint_action(text: str) -> int:
    """Return the number of a joint action, 6 times the first's plus the second's.

    INTERACT may be upper or lower case. Raises ValueError for an unknown action.
    """
    first, second = (
        _action_index(move) for move in kitchen_state.parse_literal(text, tuple[Move, Move])
    )
    return len(ACTIONS) * first + second


def _action_index(move: Move) -> int:
    if isinstance(move, str):
        if move.upper() in ACTIONS:  # files of 2020 use lower case
            return ACTIONS.index(move.upper())
    elif move in _MOVE_INDEX:
        return _MOVE_INDEX[move]
    raise ValueError(f"no action {move!r}"[:100])


def _build_games(
    found: Mapping[GameKey, list[tuple[int, Step, Grid]]], faults: list[str]
) -> Iterable[Game]:
    for key, rows in found.items():
        rows.sort(key=itemgetter(0))
        name = f"{key[0]}-{anonymous_game_id(key)}"
        if len({loop for loop, *_ in rows}) < len(rows):
            faults.append(f"{name}: a step stands there twice")
        if len({grid for *_, grid in rows}) > 1:
            faults.append(f"{name}: the layout changes")
        yield Game(name, key[0], rows[0][2], tuple(step for _, step, _ in rows))


def anonymous_game_id(key: tuple[object, ...]) -> str:
    """Return a game id that does not reveal who played the game."""
    text = "\x1f".join(map(str, ("overcooked", *key)))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:10]
