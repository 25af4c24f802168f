"""Conversations of function calls as text, turn by turn, by plain equality (MultiNet v1.0, BFCL).

A turn counts as exact if its calls are those of the truth, in order; its recall is the share of
the truth's calls that stand at their place before the first that does not. Readings:

* `paper`: a conversation is exact if every turn is; a turn that asks for nothing has no recall.
* `reference`: if the calls of all turns in a row are the truth's, wherever a turn ends; the recall
  of a turn that asks for nothing is 1, whatever was called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import Any, NamedTuple, TypeAlias

from toolmark.errors import UsageError
from toolmark.score.spread import Reading, check

Calls: TypeAlias = Sequence[Sequence[str]]
_LISTS = (list, tuple)


class Turns(NamedTuple):
    """One conversation. Turns are those of the longer side; a missing one is empty.

    `first_failure` counts from 1, and is one past the last turn where none failed. `recalls` are
    None where there is none. `invalid` turns are empty where the truth is not.
    """

    exact: bool
    matches: tuple[bool, ...]
    recalls: tuple[float | None, ...]
    first_failure: int
    invalid: int
    n_predicted: int
    n_truth: int


def conversation(truth: Calls, predicted: Any, reading: Reading = "paper") -> Turns:
    """Compare the calls of one conversation; a turn that is no list of calls is empty."""
    made, want = _turns(predicted), [tuple(turn) for turn in truth]
    n_made, n_want = len(made), len(want)
    if n_made != n_want:
        made += [()] * (n_want - n_made)
        want += [()] * (n_made - n_want)
    matches, recalls, invalid = [], [], 0
    nothing = 1.0 if reading == "reference" else None
    for one, other in zip(want, made, strict=True):
        same = one == other
        matches.append(same)
        recalls.append((1.0 if same else _recall(one, other)) if one else nothing)
        invalid += not (same or other)
    right = False not in matches
    return Turns(
        right or (reading == "reference" and _flat(made) == _flat(want)),
        tuple(matches),
        tuple(recalls),
        1 + (len(matches) if right else matches.index(False)),
        invalid,
        sum(map(len, made)),
        sum(map(len, want)),
    )


def _turns(predicted: Any) -> list[tuple[Any, ...]]:
    if not isinstance(predicted, _LISTS):
        return []
    return [tuple(turn) if isinstance(turn, _LISTS) else () for turn in predicted]


def _flat(turns: Iterable[tuple[Any, ...]]) -> list[Any]:
    return [call for turn in turns for call in turn]


def _recall(truth: tuple[Any, ...], made: tuple[Any, ...]) -> float:
    for at, call in enumerate(made):
        if at == len(truth) or call != truth[at]:
            return at / len(truth)
    return len(made) / len(truth)


class Conversations:
    """Scores of conversations that come one by one."""

    def __init__(self, reading: Reading = "paper") -> None:
        check(reading)
        self.reading = reading
        self.n = self.right = self.failure = self.invalid = self.spoilt = 0
        self.turns = self.predicted = self.truth = 0
        self._matches: list[list[int]] = []  # how many matched and were there, turn by turn
        self._recalls: list[list[float]] = []

    def feed(self, truth: Calls, predicted: Any) -> None:
        """Take one more."""
        self.add(conversation(truth, predicted, self.reading), len(truth))

    def add(self, found: Turns, n_turns: int) -> None:
        """Take one that was compared already; the truth has so many turns."""
        self.n += 1
        self.right += found.exact
        self.failure += found.first_failure
        self.invalid += found.invalid
        self.spoilt += found.invalid > 0
        self.turns += n_turns
        self.predicted += found.n_predicted
        self.truth += found.n_truth
        while len(self._matches) < len(found.matches):
            self._matches.append([0, 0])
            self._recalls.append([0.0, 0])
        for at, recall in enumerate(found.recalls):
            self._matches[at][0] += found.matches[at]
            self._matches[at][1] += 1
            if recall is not None:
                self._recalls[at][0] += recall
                self._recalls[at][1] += 1

    def accuracies(self) -> dict[int, float]:
        """Return the share of conversations whose calls of a turn are the truth's, from turn 1."""
        return {at: right / of for at, (right, of) in enumerate(self._matches, 1)}

    def recalls(self) -> dict[int, float]:
        """Return the mean recall by turn, of turns that have any."""
        return {at: total / of for at, (total, of) in enumerate(self._recalls, 1) if of}

    def found(self) -> dict[str, Any]:
        """Return the measures under the reference's names; nan of nothing."""
        n, turns = self.n or nan, self.turns or nan
        return {
            "turn_level_accuracy": {
                f"turn_{at}_accuracy": share for at, share in self.accuracies().items()
            },
            "turn_level_recalls_until_failure": {
                f"turn_{at}_recall_until_failure": share for at, share in self.recalls().items()
            },
            "avg_turn_of_first_failure": self.failure / n,
            "total_invalid_turns": self.invalid,
            "invalid_turn_percentage": 100 * self.invalid / turns,
            "total_invalid_conversations": self.spoilt,
            "invalid_conversation_percentage": 100 * self.spoilt / n,
            "exact_match_accuracy": self.right / n,
            "total_samples": self.n,
            "total_predicted_functions": self.predicted,
            "total_ground_truth_functions": self.truth,
            "avg_predicted_functions_per_sample": self.predicted / n,
            "avg_ground_truth_functions_per_sample": self.truth / n,
        }


def conversations(
    truths: Sequence[Calls], predicted: Sequence[Any], *, reading: Reading = "paper"
) -> dict[str, Any]:
    """Score conversations: a list of turns each, a turn a list of calls as text."""
    if len(truths) != len(predicted):
        raise UsageError(f"{len(truths)} truths and {len(predicted)} predictions")
    whole = Conversations(reading)
    for truth, made in zip(truths, predicted, strict=True):
        whole.feed(truth, made)
    return whole.found()
