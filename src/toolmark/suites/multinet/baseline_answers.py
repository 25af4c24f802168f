"""What the baselines answer: learned from the training split, or from earlier steps.

A guess never depends on the truth of its own row. `majority` is the most frequent answer of the
training split, `majority-by-LEVEL` the most frequent for rows of the same level (for FunctionCalls:
turn by turn). Without a training split the groups are divided into two halves, and each half is
answered by what was learned from the other. Leaving out only a row's own group would bias the
counts towards the other answers: if all answers are equally frequent, no guess would ever be
correct. `previous` is the last truth of the same group. `linear` extrapolates the last two truths
in a straight line. At a group's first row both have nothing to use, and answer as `majority` or
`mean` do. `mean` is the training mean stored in the space, `uniform` is a seeded random answer,
`stay` is the most frequent constant answer of Overcooked's players.
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

from toolmark.core import seeds
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    Answer,
    Choice,
    Distribution,
    Frame,
    FunctionCalls,
    Picture,
    Rows,
)
from toolmark.suites.multinet.multinet_families import BASELINES_BY_FAMILY

GroupLevel: TypeAlias = tuple[str, str]

BY_PREFIX = "majority-by-"
STAY_JOINT_ACTION = 28  # 6 * STAY + STAY of Overcooked's joint actions
TRAIN_PREFIX = "train"
"""The prefix of names of files that were read only for the training split."""

_ALL_ROWS_LEVEL: GroupLevel = ("", "")
_HISTORY_BASELINES = ("previous", "linear")


def add_baseline_answers(
    rows: Rows, train: Rows | None, seed: int, notes: tuple[str, ...] = ()
) -> RowsWithBaselines:
    """Return the rows with the answers of each baseline of their family.

    Without a training split, or with an empty one, answers are learned from the other half of the
    groups; for a level with only one group, from the other half of its rows. A baseline that can
    learn nothing is left out. Add the answers before rows are sampled: baselines learn from all
    rows, also those that are not drawn. `notes` are further notes for the user.
    """
    return RowsWithBaselines(rows, train, seed, notes)


@dataclass(frozen=True)
class RowsWithBaselines:
    """Rows with the guesses added. Pickling omits what was learned."""

    rows: Rows
    train: Rows | None
    seed: int
    extra_notes: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what was learned."""
        return RowsWithBaselines, (self.rows, self.train, self.seed, self.extra_notes)

    @property
    def clustered(self) -> bool:
        """Whether rows of one group depend on each other."""
        return self.rows.clustered

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of what was read, by name; files read only for training have a prefix."""
        row_hashes = self.rows.hashes
        train_hashes = self.train.hashes if self.train is not None else {}
        train_only = {
            file: sha for file, sha in train_hashes.items() if row_hashes.get(file) != sha
        }
        return {**row_hashes, **{f"{TRAIN_PREFIX}/{file}": sha for file, sha in train_only.items()}}

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user: about the rows, and about what the baselines learn from."""
        first = None if self.train else next(self.rows.partial_frames(), None)
        needs_training = first is not None and "majority" in BASELINES_BY_FAMILY[first.family]
        return (
            *self.rows.notes,
            *self.extra_notes,
            *((_NO_TRAINING_NOTE,) if needs_training else ()),
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows. The first pass learns the baselines' answers."""
        return map(self.complete_frame, self.partial_frames())

    def partial_frames(self) -> Iterator[Frame]:
        """Yield the rows without guesses, and without fields if that is cheaper."""
        return self.rows.partial_frames()

    def complete_frame(self, frame: Frame) -> Frame:
        """Return one partial frame with all its parts."""
        return replace(
            self.rows.complete_frame(frame), baseline_answers=self.baseline_answers(frame)
        )

    def baseline_answers(self, frame: Frame) -> dict[str, Answer]:
        """Return the answer of each baseline to a frame, by name; the frame may be partial."""
        found = (
            (name, self._baseline_answer(frame, name)) for name in BASELINES_BY_FAMILY[frame.family]
        )
        return {name: answer for name, answer in found if answer is not None}

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's pictures, oldest first. Raises DataError if one is not available."""
        return self.rows.pictures(id)

    def _baseline_answer(self, frame: Frame, name: str) -> Answer | None:
        match name:
            case "uniform":
                return _uniform_answer(frame, self.seed)
            case "stay":
                return STAY_JOINT_ACTION
            case "mean":
                return frame.space.mean if isinstance(frame.space, ActionVector) else None
            case "previous" | "linear":
                return self._extrapolated_answer(frame, name)
            case _:
                return self._majority_answer(frame, name)

    def _extrapolated_answer(self, frame: Frame, name: str) -> Answer | None:
        """Return the last truth of the group, or for `linear` the line through the last two."""
        previous_truths = self._past_by_group[frame.group].truths_before(frame.step)
        if not previous_truths:
            fallback = "mean" if isinstance(frame.space, ActionVector) else "majority"
            return self._baseline_answer(frame, fallback)
        if name == "linear" and len(previous_truths) > 1:
            return tuple(2 * b - a for a, b in zip(*previous_truths, strict=True))
        last: Answer = previous_truths[-1]
        return last

    def _majority_answer(self, frame: Frame, name: str) -> Answer | None:
        level = (
            _slice_level(frame, name.removeprefix(BY_PREFIX))
            if name.startswith(BY_PREFIX)
            else _ALL_ROWS_LEVEL
        )
        if isinstance(frame.space, FunctionCalls):
            n = max(len(frame.turns), 1)
            return tuple(
                self._answer_counts.most_common(frame, _turn_level(k)) or () for k in range(n)
            )
        found: Answer | None = self._answer_counts.most_common(frame, level)
        return (
            self._majority_answer(frame, "majority")
            if found is None and level != _ALL_ROWS_LEVEL
            else found
        )

    @cached_property
    def _answer_counts(self) -> AnswerCounts:
        return AnswerCounts((self.train or self.rows).partial_frames(), in_halves=not self.train)

    @cached_property
    def _past_by_group(self) -> Mapping[str, GroupPast]:
        steps: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        for frame in self.rows.partial_frames():
            if "previous" in BASELINES_BY_FAMILY[frame.family]:
                steps[frame.group].append((frame.step, frame.truth))
        return {group: _build_past(truths_by_step) for group, truths_by_step in steps.items()}


_NO_TRAINING_NOTE = (
    "the baselines have no training split: the majority answers of one half of the groups are "
    "learned from the other half, and where a level is one group, so are those of its rows"
)


class GroupPast(NamedTuple):
    """The truths of a group, by step."""

    steps: list[int]
    truths: list[Any]

    def truths_before(self, step: int) -> list[Any]:
        """Return the last two truths of earlier steps, oldest first; fewer if there are not two."""
        at = bisect_left(self.steps, step)
        return self.truths[max(at - 2, 0) : at]


def _build_past(truths_by_step: list[tuple[int, Any]]) -> GroupPast:
    truths_by_step.sort(key=lambda each: each[0])
    return GroupPast([step for step, _ in truths_by_step], [truth for _, truth in truths_by_step])


class AnswerCounts:
    """How often each truth occurs, by level.

    `in_halves`: the rows are also the ones that are answered. They are divided into halves by the
    hashes of their names, and each half is answered from the counts of the other.
    """

    def __init__(self, rows: Iterable[Frame], *, in_halves: bool) -> None:
        self._halves: dict[GroupLevel, tuple[int, Mapping[str, int]]] = {}
        self._counts: dict[tuple[GroupLevel, int], Counter[Any]] = defaultdict(Counter)
        self._modes: dict[Any, Any] = {}
        answers_by_level: dict[GroupLevel, list[tuple[str, str, Any]]] = defaultdict(list)
        for frame in rows:
            for level, truth in _training_answers(frame):
                if in_halves:
                    answers_by_level[level].append((frame.group, frame.id, truth))
                else:
                    self._counts[level, _NO_HALF][truth] += 1
        for level, level_answers in answers_by_level.items():
            name_index = int(len({group for group, _, _ in level_answers}) == 1)
            half = split_in_halves({each[name_index] for each in level_answers})
            self._halves[level] = name_index, half
            for each in level_answers:
                self._counts[level, half[each[name_index]]][each[2]] += 1
        self._ranks = {key: _rank_answers(counts) for key, counts in self._counts.items()}

    def most_common(self, frame: Frame, level: GroupLevel) -> Any:
        """Return the most frequent answer that is possible here, None if nothing was counted.

        For a tie it is the first answer in sort order.
        """
        name_index, half = self._halves.get(level, (0, _NO_HALVES))
        own_half = half.get((frame.group, frame.id)[name_index])
        space = frame.space
        n = len(space.options) if isinstance(space, Choice | Distribution) else math.inf
        key = level, _NO_HALF if own_half is None else 1 - own_half
        if (key, n) not in self._modes:
            ranked = (truth for truth, _ in self._ranks.get(key, ()))
            self._modes[key, n] = next((x for x in ranked if n == math.inf or x < n), None)
        return self._modes[key, n]


_NO_HALVES: Mapping[str, int] = {}
_NO_HALF = -1  # used in place of a half if there is a training split


def split_in_halves(names: Collection[str]) -> Mapping[str, int]:
    """Return the half of each name, 0 or 1; the sizes differ by at most one."""
    return {name: at % 2 for at, name in enumerate(sorted(names, key=_hash_key))}


def _hash_key(name: str) -> tuple[bytes, str]:
    return hashlib.sha256(name.encode()).digest(), name


def _rank_answers(counts: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _training_answers(frame: Frame) -> Iterator[tuple[GroupLevel, Any]]:
    """Yield what a row contributes to the counts: its true answer, by level."""
    if isinstance(frame.space, ActionVector):
        return
    if isinstance(frame.space, FunctionCalls):
        yield from ((_turn_level(k), calls) for k, calls in enumerate(_turn_calls(frame.truth)))
        return
    yield _ALL_ROWS_LEVEL, frame.truth
    for name in BASELINES_BY_FAMILY[frame.family]:
        if name.startswith(BY_PREFIX):
            yield _slice_level(frame, name.removeprefix(BY_PREFIX)), frame.truth


def _turn_calls(truth: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(calls) for calls in truth)


def _slice_level(frame: Frame, name: str) -> GroupLevel:
    return name, frame.slices.get(name, "")


def _turn_level(k: int) -> GroupLevel:
    return "turn", str(k)


def _uniform_answer(frame: Frame, seed: int) -> Answer | None:
    """Return the uninformed answer: a random draw, or equal shares for a Distribution."""
    rng = seeds.make_rng(seed, frame.id, 0, "guess uniform")
    match frame.space:
        case Choice(options=options):
            return seeds.draw_below(rng, len(options))
        case Distribution(options=options):
            return (1 / len(options),) * len(options)
        case ActionVector(low=low, high=high):
            return tuple(a + (b - a) * rng.random() for a, b in zip(low, high, strict=True))
        case _:
            return None
