"""What the baselines answer: learned from the training split, or from what went before.

A guess never hangs on the truth of its own row. `majority` is the commonest answer of the training
split, `majority-by-LEVEL` that of rows of the same level; without a training split they are learned
from the other groups of the same rows (Calls: turn by turn). `previous` is the last truth of the
same group, `linear` carries the last two on in a straight line; both know nothing at a group's
first row, and answer as `majority` or `mean` there. `mean` is the training mean that the space
holds, `uniform` a seeded draw, `stay` the one constant that Overcooked's players answer most.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from toolmark import seeds
from toolmark.suites.multinet.bare import bare, full
from toolmark.suites.multinet.frame import (
    Answer,
    Calls,
    Choice,
    Family,
    Frame,
    Motion,
    Odds,
    Picture,
    Rows,
)

Level: TypeAlias = tuple[str, str]

BY = "majority-by-"
STAY = 28  # 6 * STAY + STAY of Overcooked's joint actions
NAMES: Mapping[Family, tuple[str, ...]] = {
    "piqa": ("uniform", "majority"),
    "sqa3d": ("majority", "majority-by-type"),
    "robovqa": ("majority", "majority-by-type"),
    "odinw": ("uniform", "majority", "majority-by-subset"),
    "bfcl": ("majority",),
    "overcooked": ("uniform", "majority", "majority-by-layout", "stay", "previous"),
    "openx": ("uniform", "mean", "previous", "linear"),
}
"""The baselines of each family, those that know least first."""

_WHOLE: Level = ("", "")
_FORMER = ("previous", "linear")


def guessed(rows: Rows, train: Rows | None, seed: int) -> Guessed:
    """Return the rows with what each baseline of their family answers.

    Without a training split, or with an empty one, answers are learned from the other groups of the
    rows; where a level has no other group, from its other rows. What nothing can be learned for is
    left out. Guess before rows are drawn from: what was not drawn is learned from all the same.
    """
    return Guessed(rows, train, seed)


@dataclass(frozen=True)
class Guessed:
    """Rows with the guesses filled in. What is learned stays behind when they travel."""

    rows: Rows
    train: Rows | None
    seed: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave behind what was learned."""
        return Guessed, (self.rows, self.train, self.seed)

    @property
    def clustered(self) -> bool:
        """Whether rows of one group hang together."""
        return self.rows.clustered

    @property
    def hashes(self) -> Mapping[str, str]:
        """What was read, by name; the training split's too."""
        return {**(self.train.hashes if self.train else {}), **self.rows.hashes}

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know: of the rows, and what the baselines learn from."""
        return (*self.rows.notes, *((_ALONE,) if not self.train else ()))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Frame]:
        """Go through them; the first time what there is to learn is learned."""
        return map(self.full, self.bare())

    def bare(self) -> Iterator[Frame]:
        """Go through them without guesses, and without fields where that is cheaper."""
        return iter(bare(self.rows))

    def full(self, frame: Frame) -> Frame:
        """Return the whole of one of them."""
        answers = ((name, self._answer(frame, name)) for name in NAMES[frame.family])
        found = {name: answer for name, answer in answers if answer is not None}
        return replace(full(self.rows, frame), guesses=found)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's pictures, oldest first. Raises DataError where one cannot be had."""
        return self.rows.pictures(id)

    def _answer(self, frame: Frame, name: str) -> Answer | None:
        match name:
            case "uniform":
                return _uniform(frame, self.seed)
            case "stay":
                return STAY
            case "mean":
                return frame.space.mean if isinstance(frame.space, Motion) else None
            case "previous" | "linear":
                return self._carried(frame, name)
            case _:
                return self._commonest(frame, name)

    def _carried(self, frame: Frame, name: str) -> Answer | None:
        """Return what the truths before this one lead to."""
        before = self._former[frame.group].before(frame.step)
        if not before:
            start = "mean" if isinstance(frame.space, Motion) else "majority"
            return self._answer(frame, start)
        if name == "linear" and len(before) > 1:
            return tuple(2 * b - a for a, b in zip(*before, strict=True))
        last: Answer = before[-1]
        return last

    def _commonest(self, frame: Frame, name: str) -> Answer | None:
        level = _level(frame, name.removeprefix(BY)) if name.startswith(BY) else _WHOLE
        if isinstance(frame.space, Calls):
            n = max(len(frame.turns), 1)
            return tuple(self._learned.mode(frame, _turn(k)) or () for k in range(n))
        found: Answer | None = self._learned.mode(frame, level)
        return self._commonest(frame, "majority") if found is None and level != _WHOLE else found

    @cached_property
    def _learned(self) -> Lessons:
        return Lessons(bare(self.train or self.rows), alone=not self.train)

    @cached_property
    def _former(self) -> Mapping[str, Past]:
        steps: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        for frame in bare(self.rows):
            if "previous" in NAMES[frame.family]:
                steps[frame.group].append((frame.step, frame.truth))
        return {group: _past(taken) for group, taken in steps.items()}


_ALONE = (
    "The baselines have no training split: the majority answers are learned from the other groups "
    "of the same rows, and where a level is one group, from its other rows."
)


class Past(NamedTuple):
    """What was true in a group, by step."""

    steps: list[int]
    truths: list[Any]

    def before(self, step: int) -> list[Any]:
        """Return the last two truths of earlier steps, oldest first; fewer where there are none."""
        at = bisect_left(self.steps, step)
        return self.truths[max(at - 2, 0) : at]


def _past(taken: list[tuple[int, Any]]) -> Past:
    taken.sort(key=lambda each: each[0])
    return Past([step for step, _ in taken], [truth for _, truth in taken])


class Lessons:
    """How often each truth was seen, by level; `alone`: in the rows that are guessed themselves."""

    def __init__(self, rows: Iterable[Frame], *, alone: bool) -> None:
        self._alone = alone
        self._seen: dict[Level, Counter[Any]] = defaultdict(Counter)
        self._own: dict[tuple[Level, str], Counter[Any]] = defaultdict(Counter)
        for frame in rows:
            for level, truth in _lessons(frame):
                self._seen[level][truth] += 1
                if alone:
                    self._own[level, frame.group][truth] += 1
        self._ranks = {level: _ranked(counts) for level, counts in self._seen.items()}
        self._spread = Counter(level for level, _ in self._own)
        self._modes: dict[Any, Any] = {}

    def mode(self, frame: Frame, level: Level) -> Any:
        """Return the commonest answer that is possible here, None where nothing was seen.

        Of answers that are equally common it is the first in their own order.
        """
        own, left_out = self._left_out(frame, level)
        space = frame.space
        n = len(space.options) if isinstance(space, Choice | Odds) else math.inf
        if (level, n, own) not in self._modes:
            self._modes[level, n, own] = _first(self._ranks.get(level, ()), left_out, n)
        return self._modes[level, n, own]

    def _left_out(self, frame: Frame, level: Level) -> tuple[Any, Mapping[Any, int]]:
        """Return what must not be learned from, and a name for it.

        That is the frame's group, or where the level has no other, the frame itself.
        """
        if not self._alone:
            return None, {}
        if self._spread[level] > 1:
            return frame.group, self._own.get((level, frame.group), {})
        own = [truth for at, truth in _lessons(frame) if at == level]
        return tuple(own), Counter(own)


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _first(ranked: Sequence[tuple[Any, int]], left_out: Mapping[Any, int], n: float) -> Any:
    """Return the commonest answer below n once what is left out is taken away."""
    best: tuple[int, Any] = 0, None
    for truth, seen in ranked:
        if seen < -best[0]:
            break  # none that follows can be commoner
        k = seen - left_out.get(truth, 0)
        if k and (n == math.inf or truth < n) and (best[1] is None or (-k, truth) < best):
            best = -k, truth
    return best[1]


def _lessons(frame: Frame) -> Iterator[tuple[Level, Any]]:
    """Go through what a row teaches: by level the answer that was true."""
    if isinstance(frame.space, Motion):
        return
    if isinstance(frame.space, Calls):
        yield from ((_turn(k), calls) for k, calls in enumerate(_turns(frame.truth)))
        return
    yield _WHOLE, frame.truth
    for name in NAMES[frame.family]:
        if name.startswith(BY):
            yield _level(frame, name.removeprefix(BY)), frame.truth


def _turns(truth: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(calls) for calls in truth)


def _level(frame: Frame, name: str) -> Level:
    return name, frame.slices.get(name, "")


def _turn(k: int) -> Level:
    return "turn", str(k)


def _uniform(frame: Frame, seed: int) -> Answer | None:
    """Return the answer that knows nothing: one drawn, or for Odds the same share to each."""
    rng = seeds.of(seed, frame.id, 0, "guess uniform")
    match frame.space:
        case Choice(options=options):
            return seeds.below(rng, len(options))
        case Odds(options=options):
            return (1 / len(options),) * len(options)
        case Motion(low=low, high=high):
            return tuple(a + (b - a) * rng.random() for a, b in zip(low, high, strict=True))
        case _:
            return None
