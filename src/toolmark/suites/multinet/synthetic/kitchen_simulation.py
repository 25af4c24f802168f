"""Small kitchens with two scripted cooks, by the rules of the game that `overcooked` reads.

A cook fetches onions while a pot needs them, then a dish, fills it when the soup is ready, and
serves it, always on the shortest path. Sometimes it stands still or makes an error, as people do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import NamedTuple

from toolmark.core import seeds
from toolmark.suites.multinet.overcooked.kitchen_state import (
    FLOOR_TILE,
    N_COOKING_STEPS,
    N_SOUP_INGREDIENTS,
    POT_TILE,
    Grid,
    KitchenObject,
    KitchenState,
    Player,
    Position,
    tile_at,
)

# in the order of the actions
MOVE_OFFSETS: tuple[Position, ...] = ((0, -1), (0, 1), (1, 0), (-1, 0))
STAY_ACTION, INTERACT_ACTION = 4, 5
N_GAME_STEPS = 200  # steps of a game
STEP_S = 0.15
SOUP_POINTS = 20  # per soup
LAYOUTS: Mapping[str, Grid] = {
    "galley": ("XXPXDX", "O    S", "X    X", "XOXXXX"),
    "island": ("XXXPXX", "O    X", "X XX S", "D    O", "XXPXXX"),
    "corner": ("XPXXX", "P   O", "X X X", "D   X", "XSXOX"),
    "long bar": ("XXOXXXPX", "X      S", "D  XX  X", "X      O", "XXXPXDXX"),
}


class KitchenStep(NamedTuple):
    """A state, the points so far, the joint action that follows, and the number of the step."""

    state: KitchenState
    score: int
    joint: int
    number: int

    @property
    def left_s(self) -> float:
        """The time left in the game, in seconds."""
        return (N_GAME_STEPS - self.number) * STEP_S

    @property
    def elapsed_s(self) -> float:
        """The time since the start of the game, in seconds."""
        return self.number * STEP_S


@dataclass
class Cook:
    """A cook's position and direction, and the item in its hands ("" for nothing)."""

    position: Position
    facing: Position
    carried_item: str = ""


@dataclass
class Kitchen:
    """A running game; pots by position have a number of onions and a cooking time."""

    grid: Grid
    cooks: tuple[Cook, Cook]
    pots: dict[Position, list[int]] = field(default_factory=dict)
    score: int = 0

    def snapshot(self) -> KitchenState:
        """Return the state now."""
        players = (_build_player(self.cooks[0]), _build_player(self.cooks[1]))
        soups = {
            f"{x},{y}": KitchenObject(name="soup", position=(x, y), state=("onion", n, cooked))
            for (x, y), (n, cooked) in self.pots.items() if n
        }  # fmt: skip
        return KitchenState(players=players, objects=soups)

    def target_tiles(self, cook: Cook, other: Cook) -> tuple[str, ...]:
        """Return the tiles that a cook goes to; for pots, with the state that they must have."""
        full = [pot for pot in self.pots.values() if pot[0] == N_SOUP_INGREDIENTS]
        match cook.carried_item:
            case "soup":
                return ("S",)
            case "dish":
                return ("ready", "full", POT_TILE)
            case "onion":
                return ("filling", POT_TILE)
        if full and other.carried_item not in ("dish", "soup"):
            return ("D",)
        open_ = sum(N_SOUP_INGREDIENTS - n for n, _ in self.pots.values()) - (
            other.carried_item == "onion"
        )
        return ("O",) if open_ > 0 else ("D",)

    def is_target(self, position: Position, target: str) -> bool:
        """Return whether a tile is the target."""
        n, cooked = self.pots.get(position, (0, 0))
        match target:
            case "ready":
                return cooked >= N_COOKING_STEPS
            case "full":
                return n == N_SOUP_INGREDIENTS
            case "filling":
                return position in self.pots and n < N_SOUP_INGREDIENTS
        return tile_at(self.grid, position) == target

    def apply_joint_action(self, joint: int) -> None:
        """Apply both actions: first moves, then interactions, then the soups cook."""
        actions = divmod(joint, 6)
        self._move_cooks(actions)
        for cook, act in zip(self.cooks, actions, strict=True):
            if act == INTERACT_ACTION:
                self._use_tile(
                    cook, (cook.position[0] + cook.facing[0], cook.position[1] + cook.facing[1])
                )
        for pot in self.pots.values():
            pot[1] = min(N_COOKING_STEPS, pot[1] + 1) if pot[0] == N_SOUP_INGREDIENTS else 0

    def _move_cooks(self, actions: tuple[int, int]) -> None:
        targets = []
        for cook, act in zip(self.cooks, actions, strict=True):
            aim = cook.position
            if act < STAY_ACTION:
                cook.facing = MOVE_OFFSETS[act]
                ahead = (cook.position[0] + cook.facing[0], cook.position[1] + cook.facing[1])
                aim = ahead if tile_at(self.grid, ahead) == FLOOR_TILE else cook.position
            targets.append(aim)
        one, two = self.cooks
        if targets[0] == targets[1] or (targets[0] == two.position and targets[1] == one.position):
            return
        one.position, two.position = targets[0], targets[1]

    def _use_tile(self, cook: Cook, position: Position) -> None:
        """Use the tile that a cook faces."""
        pot = self.pots.get(position)
        match tile_at(self.grid, position), cook.carried_item:
            case "O", "":
                cook.carried_item = "onion"
            case "D", "":
                cook.carried_item = "dish"
            case "P", "onion" if pot and pot[0] < N_SOUP_INGREDIENTS:
                pot[0], cook.carried_item = pot[0] + 1, ""
            case "P", "dish" if pot and pot[1] >= N_COOKING_STEPS:
                pot[:], cook.carried_item = [0, 0], "soup"
            case "S", "soup":
                self.score, cook.carried_item = self.score + SOUP_POINTS, ""


def _build_player(cook: Cook) -> Player:
    carried_object = None
    if cook.carried_item:
        soup = (
            ("onion", N_SOUP_INGREDIENTS, N_COOKING_STEPS) if cook.carried_item == "soup" else None
        )
        carried_object = KitchenObject(name=cook.carried_item, position=cook.position, state=soup)  # type: ignore[arg-type]
    return Player(position=cook.position, orientation=cook.facing, carried_object=carried_object)


@lru_cache(maxsize=64)
def play_game(seed: int, id: str, layout: str) -> tuple[KitchenStep, ...]:
    """Play a game."""
    rng = seeds.make_rng(seed, id, 0, "multinet overcooked")
    grid = LAYOUTS[layout]
    floor = [
        (x, y) for y, row in enumerate(grid) for x, each in enumerate(row) if each == FLOOR_TILE
    ]
    starts = seeds.sample_indices(rng, len(floor), 2)
    one, two = (Cook(floor[k], seeds.draw_one(rng, MOVE_OFFSETS)) for k in starts)
    pots = {
        (x, y): [0, 0]
        for y, row in enumerate(grid)
        for x, each in enumerate(row)
        if each == POT_TILE
    }
    kitchen = Kitchen(grid, (one, two), pots)
    steps, rest_steps = [], [0, 0]
    for n in range(N_GAME_STEPS):
        first, second = (_choose_action(rng, kitchen, who, rest_steps) for who in (0, 1))
        joint = 6 * first + second
        steps.append(KitchenStep(kitchen.snapshot(), kitchen.score, joint, n))
        kitchen.apply_joint_action(joint)
    return tuple(steps)


def _choose_action(rng: Random, kitchen: Kitchen, index: int, rest_steps: list[int]) -> int:
    """Choose a cook's action: the planned one, except for rests of some steps and random errors.

    One action in twenty is an error. `rest_steps` is the number of steps that each cook still
    rests.
    """
    cook, other = kitchen.cooks[index], kitchen.cooks[1 - index]
    if not rest_steps[index] and seeds.draw_below(rng, 20) < 3:
        rest_steps[index] = seeds.draw_between(rng, 1, 8)
    if rest_steps[index]:
        rest_steps[index] -= 1
        return STAY_ACTION
    if seeds.draw_below(rng, 20) == 0:
        return seeds.draw_below(rng, 6)
    for target in kitchen.target_tiles(cook, other):
        if (action := _first_action_to(kitchen, cook, other.position, target)) is not None:
            waits = action == INTERACT_ACTION and target in ("full", POT_TILE)
            return STAY_ACTION if waits else action
    return seeds.draw_below(rng, 4)  # the other cook blocks the path


def _first_action_to(kitchen: Kitchen, cook: Cook, blocked: Position, target: str) -> int | None:
    """Return the first action on the shortest path to use a target tile, None if there is none."""
    first: dict[Position, int] = {cook.position: -1}
    queue = deque([cook.position])
    while queue:
        spot = queue.popleft()
        for act, position in _neighbours(spot):
            if position in first:
                continue
            if (
                kitchen.is_target(position, target)
                and tile_at(kitchen.grid, position) != FLOOR_TILE
            ):
                if spot != cook.position:
                    return first[spot]
                return INTERACT_ACTION if cook.facing == MOVE_OFFSETS[act] else act
            if tile_at(kitchen.grid, position) == FLOOR_TILE and position != blocked:
                first[position] = act if spot == cook.position else first[spot]
                queue.append(position)
    return None


def _neighbours(spot: Position) -> Iterator[tuple[int, Position]]:
    return ((act, (spot[0] + x, spot[1] + y)) for act, (x, y) in enumerate(MOVE_OFFSETS))
