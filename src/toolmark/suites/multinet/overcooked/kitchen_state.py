"""A kitchen at one step: parsed from the text of a row, validated, and described as text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar

import msgspec

from toolmark.core import json_codec
from toolmark.core.records import Record

T = TypeVar("T")
Position: TypeAlias = tuple[int, int]
Grid: TypeAlias = tuple[str, ...]

FLOOR_TILE, POT_TILE = " ", "P"
TILE_NAMES = {
    "X": "counter",
    "P": "pot",
    "O": "onions",
    "T": "tomatoes",
    "D": "dishes",
    "S": "serving",
}
FACING_NAMES: dict[Position, str] = {
    (0, -1): "north",
    (0, 1): "south",
    (1, 0): "east",
    (-1, 0): "west",
}
HAT_COLOURS = ("blue", "green")
"""The colours of player 0 and player 1 in the pictures."""
N_COOKING_STEPS = 20
"""The cooking time of a soup with three ingredients, in steps."""
N_SOUP_INGREDIENTS = 3
_MAX_TEXT_CHARS = 65_536  # limit for a text, in characters
_MAX_GRID_SIZE = 32
_PYTHON_TO_JSON = (("'", '"'), ("False", "false"), ("True", "true"), ("None", "null"))


class KitchenObject(Record, frozen=True, kw_only=True):
    """An object on a tile or in a hand; `state` of a soup: ingredient, how many, steps cooked."""

    name: Literal["onion", "tomato", "dish", "soup"]
    position: Position
    state: tuple[Literal["onion", "tomato"], int, int] | None = None


class Player(Record, frozen=True, kw_only=True):
    """One of the two players; `position` is column and row, from 0 at the top left.

    `carried_object` is called `held_object` in the published files.
    """

    position: Position
    orientation: Position
    carried_object: KitchenObject | None = msgspec.field(default=None, name="held_object")


class KitchenState(Record, frozen=True, kw_only=True):
    """Players in their order, and objects by their position."""

    players: tuple[Player, Player]
    objects: dict[str, KitchenObject]


def parse_literal(text: str, value_type: type[T]) -> T:
    """Parse JSON, or a Python literal. Raises ValueError for a value of another type."""
    if len(text) > _MAX_TEXT_CHARS:
        raise ValueError(f"{len(text)} characters; the limit is {_MAX_TEXT_CHARS}")
    json_text = text
    for python, json in _PYTHON_TO_JSON:
        json_text = json_text.replace(python, json)
    # for texts that contain quotes this fails, and the slower parser, which handles them, is used
    try:
        return msgspec.json.decode(json_text, type=value_type)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    try:
        return msgspec.convert(json_codec.parse_literal(text), value_type)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"not a literal: {error}") from None


def parse_grid(text: str) -> Grid:
    """Return a layout's rows without the players' start positions. Raises ValueError."""
    rows = tuple(
        row.replace("1", FLOOR_TILE).replace("2", FLOOR_TILE)
        for row in parse_literal(text, list[str])
    )
    if not rows or len(rows) > _MAX_GRID_SIZE or not 0 < len(rows[0]) <= _MAX_GRID_SIZE:
        raise ValueError(f"a layout of {len(rows)} rows")
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("a layout whose rows differ in length")
    if unknown_tiles := sorted(set("".join(rows)) - {FLOOR_TILE, *TILE_NAMES}):
        raise ValueError(f"a layout with the tiles {unknown_tiles}")
    return rows


def parse_state(text: str, kitchen: Grid) -> KitchenState:
    """Return the state in a row's text. Raises ValueError for an impossible one."""
    state = parse_literal(text, KitchenState)
    if fault := next(_state_faults(state, kitchen), ""):
        raise ValueError(fault)
    return state


def _state_faults(state: KitchenState, kitchen: Grid) -> Iterator[str]:
    """Yield the faults of an impossible state."""
    for n, player in enumerate(state.players):
        if player.orientation not in FACING_NAMES:
            yield f"player {n} faces {player.orientation}"
        if tile_at(kitchen, player.position) != FLOOR_TILE:
            yield f"player {n} does not stand on the floor"
        yield from _object_faults(player.carried_object)
    for thing in state.objects.values():
        if not tile_at(kitchen, thing.position):
            yield f"{thing.name} outside the layout, at {thing.position}"
        yield from _object_faults(thing)


def _object_faults(thing: KitchenObject | None) -> Iterator[str]:
    """Yield the faults of an object: only soups have a state."""
    if thing is None or (thing.name != "soup" and thing.state is None):
        return
    if thing.name != "soup" or not thing.state:
        yield f"{thing.name} with the state {thing.state}"
    elif not (1 <= thing.state[1] <= N_SOUP_INGREDIENTS and thing.state[2] >= 0):
        yield f"a soup of {thing.state}"


def tile_at(kitchen: Grid, position: Position) -> str:
    """Return the letter of a tile, "" outside the layout."""
    x, y = position
    return kitchen[y][x] if 0 <= y < len(kitchen) and 0 <= x < len(kitchen[0]) else ""


# --- as text ----------------------------------------------------------------------------


def draw_text_plan(kitchen: Grid, state: KitchenState) -> str:
    """Return the kitchen with a letter for each tile, and the players as 0 and 1."""
    rows = [list(row.replace(FLOOR_TILE, ".")) for row in kitchen]
    for n, player in enumerate(state.players):
        x, y = player.position
        rows[y][x] = str(n)
    return "\n".join(["".join(row) for row in rows] + [_tile_legend(kitchen)])


@lru_cache(maxsize=64)
def _tile_legend(kitchen: Grid) -> str:
    letters = "".join(kitchen)
    entries = (f"{letter} {name}" for letter, name in TILE_NAMES.items() if letter in letters)
    return f"({', '.join(entries)}, . floor, 0 and 1 players)"


def describe_state(kitchen: Grid, state: KitchenState) -> str:
    """Return who and what is where: players, then objects, then pots; row by row."""
    lines = [_describe_player(n, player) for n, player in enumerate(state.players)]
    objects_by_position = {thing.position: thing for thing in state.objects.values()}
    for position in sorted(objects_by_position, key=_row_major_key):
        if tile_at(kitchen, position) != POT_TILE:
            lines.append(
                f"{_describe_object(objects_by_position[position])} lies at "
                f"{_describe_position(position)}"
            )
    lines += (
        f"pot at {_describe_position(position)}: {_describe_pot(objects_by_position.get(position))}"
        for position in _pot_positions(kitchen)
    )
    return "\n".join(lines)


@lru_cache(maxsize=64)
def _pot_positions(kitchen: Grid) -> tuple[Position, ...]:
    return tuple((x, y) for y, row in enumerate(kitchen) for x, tile in enumerate(row)
                 if tile == POT_TILE)  # fmt: skip


def _row_major_key(position: Position) -> Position:
    return position[1], position[0]


def _describe_position(position: Position) -> str:
    return f"column {position[0]}, row {position[1]}"


def _describe_player(n: int, player: Player) -> str:
    carried_name = _describe_object(player.carried_object) if player.carried_object else "nothing"
    faces = FACING_NAMES[player.orientation]
    return (
        f"player {n} ({HAT_COLOURS[n]} hat) at {_describe_position(player.position)}, faces "
        f"{faces}, holds {carried_name}"
    )


def _describe_object(thing: KitchenObject) -> str:
    return f"dish with {thing.state[0]} soup" if thing.state else thing.name


def _describe_pot(thing: KitchenObject | None) -> str:
    if thing is None or thing.state is None:
        return "empty"
    what, n, cooked = thing.state
    if n < N_SOUP_INGREDIENTS:
        return f"{n} of {N_SOUP_INGREDIENTS} ingredients ({what})"
    if cooked < N_COOKING_STEPS:
        return f"{what} soup, cooking, {cooked} of {N_COOKING_STEPS} steps"
    return f"{what} soup, ready"
