"""Small kitchens with two scripted cooks, by the rules that `overcooked` reads games of.

A cook fetches onions while a pot wants them, then a dish, fills it when the soup is ready, serves
it, and goes the shortest way; now and then it stands still or errs, as people do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import NamedTuple

from toolmark import seeds
from toolmark.suites.multinet.overcooked.state import (
    COOKED,
    FLOOR,
    FULL,
    POT,
    Grid,
    Place,
    Player,
    State,
    Thing,
    tile,
)

MOVES: tuple[Place, ...] = ((0, -1), (0, 1), (1, 0), (-1, 0))  # in the order of the actions
STAY, INTERACT = 4, 5
LENGTH = 200  # steps of a game
STEP_S = 0.15
SOUP = 20  # points
LAYOUTS: Mapping[str, Grid] = {
    "galley": ("XXPXDX", "O    S", "X    X", "XOXXXX"),
    "island": ("XXXPXX", "O    X", "X XX S", "D    O", "XXPXXX"),
    "corner": ("XPXXX", "P   O", "X X X", "D   X", "XSXOX"),
    "long bar": ("XXOXXXPX", "X      S", "D  XX  X", "X      O", "XXXPXDXX"),
}


class Step(NamedTuple):
    """A state, the points until then, the joint action that follows, and which step it is."""

    state: State
    score: int
    joint: int
    number: int

    @property
    def left_s(self) -> float:
        """How long the game still goes on."""
        return (LENGTH - self.number) * STEP_S

    @property
    def elapsed_s(self) -> float:
        """How long it went on."""
        return self.number * STEP_S


@dataclass
class Cook:
    """Where a cook is, faces, and what it holds ("" for nothing)."""

    at: Place
    faces: Place
    holds: str = ""


@dataclass
class Kitchen:
    """A game that runs: pots by their place hold how many onions, cooked for how long."""

    grid: Grid
    cooks: tuple[Cook, Cook]
    pots: dict[Place, list[int]] = field(default_factory=dict)
    score: int = 0

    def state(self) -> State:
        """Return the state now."""
        players = (_player(self.cooks[0]), _player(self.cooks[1]))
        soups = {
            f"{x},{y}": Thing(name="soup", position=(x, y), state=("onion", n, cooked))
            for (x, y), (n, cooked) in self.pots.items() if n
        }  # fmt: skip
        return State(players=players, objects=soups)

    def wants(self, cook: Cook, other: Cook) -> tuple[str, ...]:
        """Return the tiles that a cook heads for; for pots the state that it wants them in."""
        full = [pot for pot in self.pots.values() if pot[0] == FULL]
        match cook.holds:
            case "soup":
                return ("S",)
            case "dish":
                return ("ready", "full", POT)
            case "onion":
                return ("filling", POT)
        if full and other.holds not in ("dish", "soup"):
            return ("D",)
        open_ = sum(FULL - n for n, _ in self.pots.values()) - (other.holds == "onion")
        return ("O",) if open_ > 0 else ("D",)

    def fits(self, place: Place, wanted: str) -> bool:
        """Tell whether a tile is what is wanted."""
        n, cooked = self.pots.get(place, (0, 0))
        match wanted:
            case "ready":
                return cooked >= COOKED
            case "full":
                return n == FULL
            case "filling":
                return place in self.pots and n < FULL
        return tile(self.grid, place) == wanted

    def act(self, joint: int) -> None:
        """Let both act: first moves, then hands, then the soups cook."""
        acts = divmod(joint, 6)
        self._move(acts)
        for cook, act in zip(self.cooks, acts, strict=True):
            if act == INTERACT:
                self._use(cook, (cook.at[0] + cook.faces[0], cook.at[1] + cook.faces[1]))
        for pot in self.pots.values():
            pot[1] = min(COOKED, pot[1] + 1) if pot[0] == FULL else 0

    def _move(self, acts: tuple[int, int]) -> None:
        aims = []
        for cook, act in zip(self.cooks, acts, strict=True):
            aim = cook.at
            if act < STAY:
                cook.faces = MOVES[act]
                ahead = (cook.at[0] + cook.faces[0], cook.at[1] + cook.faces[1])
                aim = ahead if tile(self.grid, ahead) == FLOOR else cook.at
            aims.append(aim)
        one, two = self.cooks
        if aims[0] == aims[1] or (aims[0] == two.at and aims[1] == one.at):
            return
        one.at, two.at = aims[0], aims[1]

    def _use(self, cook: Cook, place: Place) -> None:
        """Use what a cook faces."""
        pot = self.pots.get(place)
        match tile(self.grid, place), cook.holds:
            case "O", "":
                cook.holds = "onion"
            case "D", "":
                cook.holds = "dish"
            case "P", "onion" if pot and pot[0] < FULL:
                pot[0], cook.holds = pot[0] + 1, ""
            case "P", "dish" if pot and pot[1] >= COOKED:
                pot[:], cook.holds = [0, 0], "soup"
            case "S", "soup":
                self.score, cook.holds = self.score + SOUP, ""


def _player(cook: Cook) -> Player:
    held = None
    if cook.holds:
        soup = ("onion", FULL, COOKED) if cook.holds == "soup" else None
        held = Thing(name=cook.holds, position=cook.at, state=soup)  # type: ignore[arg-type]
    return Player(position=cook.at, orientation=cook.faces, held_object=held)


@lru_cache(maxsize=64)
def game(seed: int, id: str, layout: str) -> tuple[Step, ...]:
    """Play a game."""
    rng = seeds.of(seed, id, 0, "multinet overcooked")
    grid = LAYOUTS[layout]
    floor = [(x, y) for y, row in enumerate(grid) for x, each in enumerate(row) if each == FLOOR]
    starts = seeds.sample(rng, len(floor), 2)
    one, two = (Cook(floor[k], seeds.choice(rng, MOVES)) for k in starts)
    pots = {
        (x, y): [0, 0] for y, row in enumerate(grid) for x, each in enumerate(row) if each == POT
    }
    kitchen = Kitchen(grid, (one, two), pots)
    steps, rests = [], [0, 0]
    for n in range(LENGTH):
        first, second = (_choice(rng, kitchen, who, rests) for who in (0, 1))
        joint = 6 * first + second
        steps.append(Step(kitchen.state(), kitchen.score, joint, n))
        kitchen.act(joint)
    return tuple(steps)


def _choice(rng: Random, kitchen: Kitchen, who: int, rests: list[int]) -> int:
    """Choose a cook's action: as planned, but for rests of some steps and one in twenty that errs.

    `rests` holds how many steps each cook still rests.
    """
    cook, other = kitchen.cooks[who], kitchen.cooks[1 - who]
    if not rests[who] and seeds.below(rng, 20) < 3:
        rests[who] = seeds.between(rng, 1, 8)
    if rests[who]:
        rests[who] -= 1
        return STAY
    if seeds.below(rng, 20) == 0:
        return seeds.below(rng, 6)
    for wanted in kitchen.wants(cook, other):
        if (way := _way(kitchen, cook, other.at, wanted)) is not None:
            waits = way == INTERACT and wanted in ("full", POT)
            return STAY if waits else way
    return seeds.below(rng, 4)  # the other one is in the way


def _way(kitchen: Kitchen, cook: Cook, taken: Place, wanted: str) -> int | None:
    """Return the first action on the shortest way to use a wanted tile, None if there is none."""
    first: dict[Place, int] = {cook.at: -1}
    queue = deque([cook.at])
    while queue:
        spot = queue.popleft()
        for act, place in _around(spot):
            if place in first:
                continue
            if kitchen.fits(place, wanted) and tile(kitchen.grid, place) != FLOOR:
                if spot != cook.at:
                    return first[spot]
                return INTERACT if cook.faces == MOVES[act] else act
            if tile(kitchen.grid, place) == FLOOR and place != taken:
                first[place] = act if spot == cook.at else first[spot]
                queue.append(place)
    return None


def _around(spot: Place) -> Iterator[tuple[int, Place]]:
    return ((act, (spot[0] + x, spot[1] + y)) for act, (x, y) in enumerate(MOVES))
