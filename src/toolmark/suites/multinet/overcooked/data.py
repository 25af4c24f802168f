"""The games that people played in 2019, from the official package; nothing of it is kept here.

The file of a split holds one row for each step of each game: the state before the step, and what
both players then did. Rows belong to a game by layout, worker, run and round.
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

from toolmark import fetch as packages
from toolmark.errors import DataError, UsageError, near
from toolmark.suites.multinet.frame import ACTIONS
from toolmark.suites.multinet.overcooked import state, unpickle
from toolmark.suites.multinet.overcooked.state import Grid, State

PACKAGE = packages.Package(
    name="overcooked-ai",
    version="1.1.0",
    file="overcooked_ai-1.1.0.tar.gz",
    sha256="478bf319274bdb6c5bede8048ee901d088912353111ab85e9fb2bf389c6ccddf",
)
"""Of the package's repository; the package itself says UNKNOWN."""
SPLITS = ("train", "test")
_HOME = "overcooked_ai-1.1.0/src/overcooked_ai_py/data"
_COLUMNS = (
    "layout_name", "layout", "workerid_num", "run", "round_num", "cur_gameloop", "state",
    "joint_action", "time_left", "time_elapsed", "score", "reward",
)  # fmt: skip
_MOVES = {(0, -1): 0, (0, 1): 1, (1, 0): 2, (-1, 0): 3, (0, 0): 4}
_TEXTS = ("layout_name", "layout", "run", "state", "joint_action")
NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
"""Of a layout."""
_SHOWN = 20

Move: TypeAlias = str | tuple[int, int]
Key: TypeAlias = tuple[str, int, str, int]


class Step(NamedTuple):
    """One moment: the state as text, the joint action that followed, and what stood above it.

    `score` is that before the step; the file's own counts what this very step earned.
    """

    state: str
    joint: int
    left_s: float
    elapsed_s: float
    score: int

    def now(self) -> State:
        """Return the state, which was checked when the games were read."""
        return state.literal(self.state, State)


class Game(NamedTuple):
    """One game. `id` tells its layout, and of its players nothing."""

    id: str
    layout: str
    grid: Grid
    steps: tuple[Step, ...]


class Split(NamedTuple):
    """The games of a split, by id in their order, and the SHA-256 of the file they come from."""

    games: Mapping[str, Game]
    sha256: str


def fetch(folder: Path | None = None) -> Path:
    """Return the folder of the unpacked package, fetching it if need be."""
    return packages.fetch(PACKAGE, folder)


def home(folder: Path | None = None) -> Path:
    """Return the folder of games and graphics inside the package, fetching it if need be."""
    return fetch(folder) / _HOME


@lru_cache(maxsize=4)
def read(home: Path, split: Literal["train", "test"]) -> Split:
    """Return the games of a split. Raises DataError that names file and rows for what is wrong."""
    if split not in SPLITS:
        raise UsageError(f"no split {split!r}{near(split, SPLITS)}")
    path = home / "human_data" / f"clean_{split}_trials.pickle"
    columns = unpickle.table(path, _COLUMNS)
    found: dict[Key, list[tuple[int, Step, Grid]]] = defaultdict(list)
    bad: list[str] = []
    checked = _Checked()
    for n, row in enumerate(zip(*(columns[name] for name in _COLUMNS), strict=True)):
        try:
            key, loop, step, grid = _row(row, checked)
            found[key].append((loop, step, grid))
        except (ValueError, TypeError, OverflowError) as error:
            bad.append(f"row {n}: {error}"[:300])
    games = sorted(_games(found, bad))
    if bad:
        more = f"; and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        raise DataError(f"{path}: {'; '.join(bad[:_SHOWN])}{more}")
    return Split({game.id: game for game in games}, packages.digest(path))


class _Checked:
    """What was read once: most states, layouts and actions stand in many rows."""

    def __init__(self) -> None:
        self.grid = lru_cache(maxsize=None)(state.grid)
        self.state = lru_cache(maxsize=None)(_same)
        self.joint = lru_cache(maxsize=None)(joint)


def _same(text: str, grid: Grid) -> str:
    """Return the text of a state that can be read: one text for all rows that hold it."""
    state.read(text, grid)
    return text


def _row(row: tuple[Any, ...], checked: _Checked) -> tuple[Key, int, Step, Grid]:
    """Read one row. Raises ValueError for what is wrong with it."""
    name, layout, worker, run, turn, loop, text, action, left, elapsed, score, reward = row
    for column, value in zip(_COLUMNS, row, strict=True):
        if column in _TEXTS and not isinstance(value, str):
            raise ValueError(f"{column} is no text but {type(value).__name__}")
        if column not in _TEXTS and not math.isfinite(value):
            raise ValueError(f"{column} is {value}")
    if not NAME.fullmatch(name):
        raise ValueError("layout_name is no name")
    grid = checked.grid(layout)
    step = Step(
        state=checked.state(text, grid),
        joint=checked.joint(action),
        left_s=max(0.0, float(left)),
        elapsed_s=float(elapsed),
        score=round(score - reward),
    )
    return (name, int(worker), run, int(turn)), int(loop), step, grid


def joint(text: str) -> int:
    """Return the number of a joint action, 6 times the first's plus the second's.

    INTERACT is written large or small. Raises ValueError for what a player cannot do.
    """
    first, second = (_move(move) for move in state.literal(text, tuple[Move, Move]))
    return len(ACTIONS) * first + second


def _move(move: Move) -> int:
    if isinstance(move, str):
        if move.upper() in ACTIONS:  # files of 2020 write it small
            return ACTIONS.index(move.upper())
    elif move in _MOVES:
        return _MOVES[move]
    raise ValueError(f"no action {move!r}"[:100])


def _games(found: Mapping[Key, list[tuple[int, Step, Grid]]], bad: list[str]) -> Iterable[Game]:
    for key, rows in found.items():
        rows.sort(key=itemgetter(0))
        name = f"{key[0]}-{hashed(key)}"
        if len({loop for loop, *_ in rows}) < len(rows):
            bad.append(f"{name}: a step stands there twice")
        if len({grid for *_, grid in rows}) > 1:
            bad.append(f"{name}: the layout changes")
        yield Game(name, key[0], rows[0][2], tuple(step for _, step, _ in rows))


def hashed(key: tuple[object, ...]) -> str:
    """Return a name of a game that does not tell who played it."""
    told = "\x1f".join(map(str, ("overcooked", *key)))
    return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()[:10]
