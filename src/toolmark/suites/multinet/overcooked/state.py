"""A kitchen at one moment: read from the text of a row, checked, and told in words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar

import msgspec

from toolmark import codec
from toolmark.types import Record

T = TypeVar("T")
Place: TypeAlias = tuple[int, int]
Grid: TypeAlias = tuple[str, ...]

FLOOR, POT = " ", "P"
TILES = {"X": "counter", "P": "pot", "O": "onions", "T": "tomatoes", "D": "dishes", "S": "serving"}
FACING: dict[Place, str] = {(0, -1): "north", (0, 1): "south", (1, 0): "east", (-1, 0): "west"}
HATS = ("blue", "green")
"""Of player 0 and player 1, as they are drawn."""
COOKED = 20
"""Steps that a soup of three ingredients cooks."""
FULL = 3
_MOST = 65_536  # characters of a text that is read
_WIDEST = 32
_OF_JSON = (("'", '"'), ("False", "false"), ("True", "true"), ("None", "null"))


class Thing(Record, frozen=True, kw_only=True):
    """Something that lies or is carried; `state` of a soup: ingredient, how many, steps cooked."""

    name: Literal["onion", "tomato", "dish", "soup"]
    position: Place
    state: tuple[Literal["onion", "tomato"], int, int] | None = None


class Player(Record, frozen=True, kw_only=True):
    """One of the two; `position` is column and row, from 0 at the top left."""

    position: Place
    orientation: Place
    held_object: Thing | None = None


class State(Record, frozen=True, kw_only=True):
    """Players in their order, and objects by their place."""

    players: tuple[Player, Player]
    objects: dict[str, Thing]


def literal(text: str, kind: type[T]) -> T:
    """Read JSON, or a literal as Python writes it. Raises ValueError for what is no such `kind`."""
    if len(text) > _MOST:
        raise ValueError(f"{len(text)} characters; the limit is {_MOST}")
    quick = text
    for python, json in _OF_JSON:
        quick = quick.replace(python, json)
    # where texts hold quotes this fails, and the slower way, which knows them, decides
    try:
        return msgspec.json.decode(quick, type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    try:
        return msgspec.convert(codec.literal(text), kind)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"not a literal: {error}") from None


def grid(text: str) -> Grid:
    """Return a layout's rows without the players' first places. Raises ValueError."""
    rows = tuple(row.replace("1", FLOOR).replace("2", FLOOR) for row in literal(text, list[str]))
    if not rows or len(rows) > _WIDEST or not 0 < len(rows[0]) <= _WIDEST:
        raise ValueError(f"a layout of {len(rows)} rows")
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("a layout whose rows differ in length")
    if odd := sorted(set("".join(rows)) - {FLOOR, *TILES}):
        raise ValueError(f"a layout with the tiles {odd}")
    return rows


def read(text: str, kitchen: Grid) -> State:
    """Return the state that a row's text tells. Raises ValueError for one that cannot be."""
    state = literal(text, State)
    if odd := next(_odd(state, kitchen), ""):
        raise ValueError(odd)
    return state


def _odd(state: State, kitchen: Grid) -> Iterator[str]:
    """Yield what cannot be so."""
    for n, player in enumerate(state.players):
        if player.orientation not in FACING:
            yield f"player {n} faces {player.orientation}"
        if tile(kitchen, player.position) != FLOOR:
            yield f"player {n} does not stand on the floor"
        yield from _spoilt(player.held_object)
    for thing in state.objects.values():
        if not tile(kitchen, thing.position):
            yield f"{thing.name} outside the layout, at {thing.position}"
        yield from _spoilt(thing)


def _spoilt(thing: Thing | None) -> Iterator[str]:
    """Yield why a thing cannot be: soups alone have a state."""
    if thing is None or (thing.name != "soup" and thing.state is None):
        return
    if thing.name != "soup" or not thing.state:
        yield f"{thing.name} with the state {thing.state}"
    elif not (1 <= thing.state[1] <= FULL and thing.state[2] >= 0):
        yield f"a soup of {thing.state}"


def tile(kitchen: Grid, place: Place) -> str:
    """Return the letter of a tile, "" outside the layout."""
    x, y = place
    return kitchen[y][x] if 0 <= y < len(kitchen) and 0 <= x < len(kitchen[0]) else ""


# --- in words ---------------------------------------------------------------------------


def plan(kitchen: Grid, state: State) -> str:
    """Return the kitchen a letter for each tile, the players in it as 0 and 1."""
    rows = [list(row.replace(FLOOR, ".")) for row in kitchen]
    for n, player in enumerate(state.players):
        x, y = player.position
        rows[y][x] = str(n)
    return "\n".join(["".join(row) for row in rows] + [_legend(kitchen)])


@lru_cache(maxsize=64)
def _legend(kitchen: Grid) -> str:
    letters = "".join(kitchen)
    named = (f"{letter} {name}" for letter, name in TILES.items() if letter in letters)
    return f"({', '.join(named)}, . floor, 0 and 1 players)"


def told(kitchen: Grid, state: State) -> str:
    """Return who and what is where: players, then what lies, then pots; row by row."""
    lines = [_player(n, player) for n, player in enumerate(state.players)]
    lying = {thing.position: thing for thing in state.objects.values()}
    for place in sorted(lying, key=_reading):
        if tile(kitchen, place) != POT:
            lines.append(f"{_thing(lying[place])} lies at {_at(place)}")
    lines += (f"pot at {_at(place)}: {_cooking(lying.get(place))}" for place in _pots(kitchen))
    return "\n".join(lines)


@lru_cache(maxsize=64)
def _pots(kitchen: Grid) -> tuple[Place, ...]:
    return tuple((x, y) for y, row in enumerate(kitchen) for x, tile in enumerate(row)
                 if tile == POT)  # fmt: skip


def _reading(place: Place) -> Place:
    return place[1], place[0]


def _at(place: Place) -> str:
    return f"column {place[0]}, row {place[1]}"


def _player(n: int, player: Player) -> str:
    held = _thing(player.held_object) if player.held_object else "nothing"
    faces = FACING[player.orientation]
    return f"player {n} ({HATS[n]} hat) at {_at(player.position)}, faces {faces}, holds {held}"


def _thing(thing: Thing) -> str:
    return f"dish with {thing.state[0]} soup" if thing.state else thing.name


def _cooking(thing: Thing | None) -> str:
    if thing is None or thing.state is None:
        return "empty"
    what, n, cooked = thing.state
    if n < FULL:
        return f"{n} of {FULL} ingredients ({what})"
    if cooked < COOKED:
        return f"{what} soup, cooking, {cooked} of {COOKED} steps"
    return f"{what} soup, ready"
