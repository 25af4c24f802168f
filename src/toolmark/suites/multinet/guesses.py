"""What the baselines answer: learned from the training split, or from what went before.

A guess never hangs on the truth of its own row. `majority` is the commonest answer of the training
split, `majority-by-LEVEL` that of rows of the same level (Calls: turn by turn). Without a training
split the groups are put into two halves, and each is answered by what was learned from the other:
to leave out a row's own group alone would make the other answers the commoner ones, by exactly what
is asked, and where all answers are equally common no guess would ever be right. `previous` is the
last truth of the same group, `linear` carries the last two on in a straight line; both know nothing
at a group's first row, and answer as `majority` or `mean` there. `mean` is the training mean that
the space holds, `uniform` a seeded draw, `stay` the one constant that Overcooked's players answer
most.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from toolmark import seeds
from toolmark.suites.multinet.families import BASELINES
from toolmark.suites.multinet.frame import (
    Answer,
    Calls,
    Choice,
    Frame,
    Motion,
    Odds,
    Picture,
    Rows,
    bare,
    full,
)

Level: TypeAlias = tuple[str, str]

BY = "majority-by-"
STAY = 28  # 6 * STAY + STAY of Overcooked's joint actions
TRAIN = "train"
"""Before the names of files that only the training split was read from."""

_WHOLE: Level = ("", "")
_FORMER = ("previous", "linear")


def guessed(rows: Rows, train: Rows | None, seed: int, said: tuple[str, ...] = ()) -> Guessed:
    """Return the rows with what each baseline of their family answers.

    Without a training split, or with an empty one, answers are learned from the other half of the
    groups; where a level is one group, from the other half of its rows. What nothing can be learned
    for is left out. Guess before rows are drawn from: what was not drawn is learned from all the
    same. `said` is what else the user should know.
    """
    return Guessed(rows, train, seed, said)


@dataclass(frozen=True)
class Guessed:
    """Rows with the guesses filled in. What is learned stays behind when they travel."""

    rows: Rows
    train: Rows | None
    seed: int
    said: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave behind what was learned."""
        return Guessed, (self.rows, self.train, self.seed, self.said)

    @property
    def clustered(self) -> bool:
        """Whether rows of one group hang together."""
        return self.rows.clustered

    @property
    def hashes(self) -> Mapping[str, str]:
        """What was read, by name; what the training split alone read begins with its name."""
        own = self.rows.hashes
        taught = self.train.hashes if self.train is not None else {}
        apart = {file: sha for file, sha in taught.items() if own.get(file) != sha}
        return {**own, **{f"{TRAIN}/{file}": sha for file, sha in apart.items()}}

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know: of the rows, and what the baselines learn from."""
        first = None if self.train else next(iter(bare(self.rows)), None)
        learns = first is not None and "majority" in BASELINES[first.family]
        return (*self.rows.notes, *self.said, *((_ALONE,) if learns else ()))

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
        return replace(full(self.rows, frame), guesses=self.answers(frame))

    def answers(self, frame: Frame) -> dict[str, Answer]:
        """Return what each baseline answers to one of them, by name; it may be a bare one."""
        found = ((name, self._answer(frame, name)) for name in BASELINES[frame.family])
        return {name: answer for name, answer in found if answer is not None}

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
            if "previous" in BASELINES[frame.family]:
                steps[frame.group].append((frame.step, frame.truth))
        return {group: _past(taken) for group, taken in steps.items()}


_ALONE = (
    "the baselines have no training split: the majority answers of one half of the groups are "
    "learned from the other half, and where a level is one group, so are those of its rows"
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
    """How often each truth was seen, by level; `alone`: in the rows that are guessed themselves.

    These are put into halves then, by the hashes of their names: each is taught by the other.
    """

    def __init__(self, rows: Iterable[Frame], *, alone: bool) -> None:
        self._halves: dict[Level, tuple[int, Mapping[str, int]]] = {}
        self._seen: dict[tuple[Level, int], Counter[Any]] = defaultdict(Counter)
        self._modes: dict[Any, Any] = {}
        seen: dict[Level, list[tuple[str, str, Any]]] = defaultdict(list)
        for frame in rows:
            for level, truth in _lessons(frame):
                if alone:
                    seen[level].append((frame.group, frame.id, truth))
                else:
                    self._seen[level, _ALL][truth] += 1
        for level, taught in seen.items():
            by = int(len({group for group, _, _ in taught}) == 1)
            half = halves({each[by] for each in taught})
            self._halves[level] = by, half
            for each in taught:
                self._seen[level, half[each[by]]][each[2]] += 1
        self._ranks = {key: _ranked(counts) for key, counts in self._seen.items()}

    def mode(self, frame: Frame, level: Level) -> Any:
        """Return the commonest answer that is possible here, None where nothing was seen.

        Of answers that are equally common it is the first in their own order.
        """
        by, half = self._halves.get(level, (0, _NONE))
        own = half.get((frame.group, frame.id)[by])
        space = frame.space
        n = len(space.options) if isinstance(space, Choice | Odds) else math.inf
        key = level, _ALL if own is None else 1 - own
        if (key, n) not in self._modes:
            ranked = (truth for truth, _ in self._ranks.get(key, ()))
            self._modes[key, n] = next((x for x in ranked if n == math.inf or x < n), None)
        return self._modes[key, n]


_NONE: Mapping[str, int] = {}
_ALL = -1  # in the place of a half: there is a training split


def halves(names: Collection[str]) -> Mapping[str, int]:
    """Return for each name its half, 0 or 1; they differ by one at most."""
    return {name: at % 2 for at, name in enumerate(sorted(names, key=_lot))}


def _lot(name: str) -> tuple[bytes, str]:
    return hashlib.sha256(name.encode()).digest(), name


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _lessons(frame: Frame) -> Iterator[tuple[Level, Any]]:
    """Go through what a row teaches: by level the answer that was true."""
    if isinstance(frame.space, Motion):
        return
    if isinstance(frame.space, Calls):
        yield from ((_turn(k), calls) for k, calls in enumerate(_turns(frame.truth)))
        return
    yield _WHOLE, frame.truth
    for name in BASELINES[frame.family]:
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
