"""Conversations of function calls as text, compared turn by turn (MultiNet v1.0, BFCL).

A turn is exact if its calls equal those of the truth, in order. Its recall is the share of the
truth's calls that match at their position before the first mismatch. The grading rules are:

* `paper`: a conversation is exact if every turn is. A turn without expected calls has no recall.
* `reference`: a conversation is exact if the sequence of its calls equals the truth's, whatever the
  limits of turns. The recall of a turn without expected calls is 1, whatever was called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import Any, NamedTuple, TypeAlias

from toolmark.core.errors import UsageError
from toolmark.scoring.error_statistics import GradingRule, check_rule

Calls: TypeAlias = Sequence[Sequence[str]]
_LISTS = (list, tuple)


class ConversationResult(NamedTuple):
    """The result of one conversation. It has the turns of the longer side; missing ones are empty.

    `first_failure` is the first failed turn, from 1, or one past the last turn where none failed. A
    recall is None where it is not defined. `invalid` counts turns that are empty where the truth is
    not.
    """

    exact: bool
    matches: tuple[bool, ...]
    recalls: tuple[float | None, ...]
    first_failure: int
    invalid: int
    n_predicted: int
    n_truth: int


def compare_conversation(
    truth: Calls, predicted: Any, rule: GradingRule = "paper"
) -> ConversationResult:
    """Compare the calls of one conversation; a turn that is not a list of calls counts as empty."""
    predicted_turns, expected_turns = _parse_turns(predicted), [tuple(turn) for turn in truth]
    n_predicted_turns, n_expected_turns = len(predicted_turns), len(expected_turns)
    if n_predicted_turns != n_expected_turns:
        predicted_turns += [()] * (n_expected_turns - n_predicted_turns)
        expected_turns += [()] * (n_predicted_turns - n_expected_turns)
    matches, recalls, invalid = [], [], 0
    nothing = 1.0 if rule == "reference" else None
    for one, other in zip(expected_turns, predicted_turns, strict=True):
        same = one == other
        matches.append(same)
        recalls.append((1.0 if same else _turn_recall(one, other)) if one else nothing)
        invalid += not (same or other)
    all_equal = False not in matches
    return ConversationResult(
        all_equal
        or (
            rule == "reference"
            and _flatten_turns(predicted_turns) == _flatten_turns(expected_turns)
        ),
        tuple(matches),
        tuple(recalls),
        1 + (len(matches) if all_equal else matches.index(False)),
        invalid,
        sum(map(len, predicted_turns)),
        sum(map(len, expected_turns)),
    )


def _parse_turns(predicted: Any) -> list[tuple[Any, ...]]:
    if not isinstance(predicted, _LISTS):
        return []
    return [tuple(turn) if isinstance(turn, _LISTS) else () for turn in predicted]


def _flatten_turns(turns: Iterable[tuple[Any, ...]]) -> list[Any]:
    return [call for turn in turns for call in turn]


def _turn_recall(truth: tuple[Any, ...], predicted: tuple[Any, ...]) -> float:
    for at, call in enumerate(predicted):
        if at == len(truth) or call != truth[at]:
            return at / len(truth)
    return len(predicted) / len(truth)


class ConversationAccumulator:
    """Measures of conversations that come one by one."""

    def __init__(self, rule: GradingRule = "paper") -> None:
        check_rule(rule)
        self.rule = rule
        self.n = self.n_exact = self.failure_turns = self.invalid = self.n_invalid_conversations = 0
        self.turns = self.predicted = self.truth = 0
        self._matches: list[list[int]] = []  # by turn: how many matched, of how many
        self._recalls: list[list[float]] = []

    def feed(self, truth: Calls, predicted: Any) -> None:
        """Add a conversation."""
        self.add_result(compare_conversation(truth, predicted, self.rule), len(truth))

    def add_result(self, found: ConversationResult, n_turns: int) -> None:
        """Add a compared conversation; `n_turns` is the number of turns of the truth."""
        self.n += 1
        self.n_exact += found.exact
        self.failure_turns += found.first_failure
        self.invalid += found.invalid
        self.n_invalid_conversations += found.invalid > 0
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

    def turn_accuracies(self) -> dict[int, float]:
        """Return for each turn, from 1, the share of conversations in which it matches."""
        return {at: right / of for at, (right, of) in enumerate(self._matches, 1)}

    def turn_recalls(self) -> dict[int, float]:
        """Return the mean recall of each turn that has one."""
        return {at: total / of for at, (total, of) in enumerate(self._recalls, 1) if of}

    def measures(self) -> dict[str, Any]:
        """Return the measures under the reference's names; a share of nothing is nan."""
        n, turns = self.n or nan, self.turns or nan
        return {
            "turn_level_accuracy": {
                f"turn_{at}_accuracy": share for at, share in self.turn_accuracies().items()
            },
            "turn_level_recalls_until_failure": {
                f"turn_{at}_recall_until_failure": share
                for at, share in self.turn_recalls().items()
            },
            "avg_turn_of_first_failure": self.failure_turns / n,
            "total_invalid_turns": self.invalid,
            "invalid_turn_percentage": 100 * self.invalid / turns,
            "total_invalid_conversations": self.n_invalid_conversations,
            "invalid_conversation_percentage": 100 * self.n_invalid_conversations / n,
            "exact_match_accuracy": self.n_exact / n,
            "total_samples": self.n,
            "total_predicted_functions": self.predicted,
            "total_ground_truth_functions": self.truth,
            "avg_predicted_functions_per_sample": self.predicted / n,
            "avg_ground_truth_functions_per_sample": self.truth / n,
        }


def measure_conversations(
    truths: Sequence[Calls], predicted: Sequence[Any], *, rule: GradingRule = "paper"
) -> dict[str, Any]:
    """Score conversations: each is a list of turns, and a turn is a list of calls as text.

    Raises UsageError for sides of different length.
    """
    if len(truths) != len(predicted):
        raise UsageError(f"{len(truths)} truths and {len(predicted)} predictions")
    accumulator = ConversationAccumulator(rule)
    for truth, made in zip(truths, predicted, strict=True):
        accumulator.feed(truth, made)
    return accumulator.measures()
