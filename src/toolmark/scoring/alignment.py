"""Alignment of predicted calls with those of a reference trajectory (arXiv 2511.17729, section 4).

Calls of the same tool are paired by the similarity of their arguments; every measure counts pairs.
A trajectory is a list of steps, each `{"calls": [{"name": ..., "arguments": ...}, ...]}`. Other
keys are ignored, and the number of a step is its position. The grading rules are `official` (the
reference code), `paper` (the text) and `fair`; docs/suites/m3-metrics.md describes the differences.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import isfinite
from numbers import Real
from operator import index
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Tool
from toolmark.scoring import call_assignment
from toolmark.scoring.call_similarity import (
    ExactSimilarity,
    arguments_text,
    cosine_matrix,
    exact_similarity,
    paper_text_writer,
    step_call_texts,
)
from toolmark.scoring.step_structure import Matches, StepContingency

__all__ = [
    "COVERED_MEASURES",
    "ExactSimilarity",
    "GradingRule",
    "Similarity",
    "aggregate_alignments",
    "align_trajectory",
    "arguments_text",
    "cosine_matrix",
    "exact_similarity",
    "mean_of_eight_measures",
    "mean_of_seven_measures",
    "paper_text_writer",
    "step_call_texts",
]

GradingRule: TypeAlias = Literal["official", "paper", "fair"]
Steps: TypeAlias = Sequence[Mapping[str, Any]]
Similarity: TypeAlias = (
    NDArray[Any]
    | Sequence[Sequence[float]]
    | Callable[[Sequence[str], Sequence[str]], Any]
    | ExactSimilarity
)

COVERED_MEASURES = (
    "avg_sim_all_cov",
    "avg_sim_strong_cov",
    "step_coherence_cov",
    "order_consistency_cov",
    "merge_purity_cov",
)
_SIX_MEASURES = ("recall", "precision", "avg_sim_all_cov", *COVERED_MEASURES[2:])
_GRADING_RULES = ("official", "paper", "fair")


class _TrajectoryCalls(NamedTuple):
    """The calls of a trajectory in order, with the tool and the step of each."""

    calls: list[Mapping[str, Any]]
    names: list[str]
    steps: NDArray[np.intp]
    n_steps: int


def align_trajectory(
    truth_steps: Steps,
    predicted_steps: Steps | None,
    similarity: Similarity,
    *,
    weak: float = 0.6,
    strong: float = 0.8,
    rule: GradingRule = "official",
    failed: Collection[int] = (),
    tools: Sequence[Tool] = (),
) -> dict[str, Any]:
    """Return the measures of one task, under the names of the reference's results.

    Args:
        truth_steps: The reference trajectory.
        predicted_steps: The predicted trajectory; None where there is no prediction.
        similarity: A matrix with a row per call of the truth and a column per predicted call, in
            order; or a function that returns it from the two lists of call texts; or
            `exact_similarity(tools)`.
        weak: The least similarity of a match.
        strong: The least similarity that counts for `avg_sim_strong_cov`.
        rule: The grading rule.
        failed: The predicted calls that failed, by position; only `fair` uses them.
        tools: Tools whose schemas list the required arguments; only the texts of `paper` need them.

    Besides numbers the result has `matches`, each [truth, predicted, similarity],
    `per_step_fragmentation`, and `primary_pred_for_gt`: for each step of the truth, the predicted
    step that matches most of it. `counted` is False for a missing prediction that the grading rule
    leaves out of the aggregate. Raises UsageError where the arguments do not fit together.
    """
    missing = predicted_steps is None
    truth = _collect_calls(truth_steps)
    predicted = _collect_calls(() if predicted_steps is None else predicted_steps)
    _check_settings(rule, weak, strong)
    failed_numbers = _failed_call_numbers(failed, len(predicted.calls))
    counts = {"total_gt_calls": len(truth.calls), "total_pred_calls": len(predicted.calls)}
    counted: dict[str, Any] = {
        "rounds": predicted.n_steps,
        "counted": rule == "fair" or not missing,
    }
    if not truth.calls or not predicted.calls:
        both_empty = not truth.calls and not predicted.calls and not missing
        return counts | _measures_without_calls(truth, perfect=both_empty) | counted
    table = _similarity_matrix(truth.calls, predicted.calls, similarity, rule, tools)
    excluded = failed_numbers if rule == "fair" else frozenset()
    matches = _match_calls(truth, predicted, table, weak, rule, excluded)
    return counts | _alignment_measures(truth, predicted, matches, strong, rule) | counted


def _check_settings(rule: GradingRule, weak: Any, strong: Any) -> None:
    if rule not in _GRADING_RULES:
        raise UsageError(f"no rule {rule!r}{suggest_names(rule, _GRADING_RULES)}")
    for name, value in (("weak", weak), ("strong", strong)):
        # comparisons with nan are False: all pairs would be dropped silently
        if not isinstance(value, Real) or not isfinite(value):
            raise UsageError(f"{name}={value!r}: expected a finite number")


def _failed_call_numbers(failed: Collection[int], n_predicted: int) -> frozenset[int]:
    """Return the positions of failed calls. Raises UsageError for one without a predicted call."""
    try:
        found = frozenset(map(index, failed))
    except TypeError:
        raise UsageError(
            f"failed={failed!r:.80}: expected the numbers of made calls, from 0"
        ) from None
    beyond = [at for at in sorted(found) if not 0 <= at < n_predicted]
    if beyond:
        raise UsageError(f"failed={beyond[0]} is not a made call: there are {n_predicted}, from 0")
    return found


def _collect_calls(steps: Steps) -> _TrajectoryCalls:
    try:
        step_calls = [step.get("calls") or () for step in steps]
        every = [call for calls in step_calls for call in calls]
        names = [str(call.get("name") or "").strip() for call in every]
    except (AttributeError, TypeError):
        raise _unreadable_steps_error(steps) from None
    sizes = [len(calls) for calls in step_calls]
    return _TrajectoryCalls(every, names, np.arange(len(sizes)).repeat(sizes), len(sizes))


def _unreadable_steps_error(steps: Steps) -> UsageError:
    """Return the error for steps that cannot be read."""
    if not isinstance(steps, (list, tuple)):
        return UsageError(f'expected a list of steps {{"calls": [...]}}, got {steps!r:.80}')
    for number, step in enumerate(steps):
        step_calls = (step.get("calls") or ()) if isinstance(step, Mapping) else None
        if not isinstance(step_calls, (list, tuple)):
            return UsageError(f'step {number}: expected {{"calls": [...]}}, got {step!r:.80}')
    return UsageError('every call must be {"name": ..., "arguments": ...}')


def _measures_without_calls(truth: _TrajectoryCalls, *, perfect: bool) -> dict[str, Any]:
    """Return the measures where a side has no calls; `perfect` where both sides are empty."""
    value = 1.0 if perfect else 0.0
    steps = truth.n_steps if truth.calls else 0
    return {
        "matched": 0,
        "recall": value,
        "precision": value,
        "avg_sim_all_cov": 0.0,
        "avg_sim_strong_cov": 0.0,
        "step_coherence_cov": value,
        "order_consistency_cov": value,
        "merge_purity_cov": value,
        "matches": [],
        "per_step_fragmentation": [0.0] * steps,
        "primary_pred_for_gt": [None] * steps,
    }


# --- matching ---------------------------------------------------------------------------


def _similarity_matrix(
    truth: Sequence[Mapping[str, Any]],
    predicted: Sequence[Mapping[str, Any]],
    similarity: Similarity,
    rule: GradingRule,
    tools: Sequence[Tool],
) -> NDArray[np.float32]:
    """Return the similarity matrix, in the precision of the reference."""
    if callable(similarity):
        write: Callable[[Mapping[str, Any]], str] = _call_arguments_text
        if isinstance(similarity, ExactSimilarity):
            write = similarity.canonical_text
        elif rule == "paper":
            write = paper_text_writer(tools)
        left = _call_texts(truth, write, "truth")
        similarity = similarity(left, _call_texts(predicted, write, "prediction"))
    try:
        table = np.asarray(similarity, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"similarity: expected rows of numbers, {len(truth)} x {len(predicted)}: {error}"
        ) from None
    if table.shape != (len(truth), len(predicted)):
        raise UsageError(
            f"similarity is {' x '.join(map(str, table.shape))}; expected {len(truth)} calls of "
            f"the truth x {len(predicted)} made calls"
        )
    return table


def _call_texts(
    calls: Sequence[Mapping[str, Any]], write: Callable[[Mapping[str, Any]], str], side: str
) -> list[str]:
    """Return the texts of calls. Raises UsageError for arguments that are not JSON values."""
    found = []
    for number, call in enumerate(calls):
        try:
            found.append(write(call))
        except RecursionError:
            raise UsageError(f"call {number} of the {side}: arguments nested too deep") from None
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"call {number} of the {side}: arguments are not JSON: {error}"
            ) from None
    return found


def _call_arguments_text(call: Mapping[str, Any]) -> str:
    return arguments_text(call.get("arguments"))


def _match_calls(
    truth: _TrajectoryCalls,
    predicted: _TrajectoryCalls,
    table: NDArray[np.float32],
    weak: float,
    rule: GradingRule,
    excluded: Collection[int],
) -> Matches:
    found = call_assignment.candidate_cells(truth.names, predicted.names, table, excluded)
    if not np.isfinite(found.similarity).all():
        raise UsageError("similarity holds numbers that are not finite")
    steps = call_assignment.CallSteps(
        truth.steps, predicted.steps, truth.n_steps, predicted.n_steps
    )
    if rule != "fair" or not len(found.similarity):
        return call_assignment.build_matches(
            found, call_assignment.reference_assignment(found, weak), steps
        )
    return call_assignment.structural_assignment(found, weak, steps)


# --- measures ---------------------------------------------------------------------------


def _alignment_measures(
    truth: _TrajectoryCalls,
    predicted: _TrajectoryCalls,
    matches: Matches,
    strong: float,
    rule: GradingRule,
) -> dict[str, Any]:
    n, k = len(truth.calls), len(matches.truth_step)
    recall = k / n
    joint = StepContingency(matches, truth.n_steps, predicted.n_steps)
    left = matches.truth.tolist()
    right = matches.predicted.tolist()
    similarities = matches.similarity.tolist()
    return {
        "matched": k,
        "recall": recall,
        "precision": k / len(predicted.calls),
        "avg_sim_all_cov": sum(similarities) / n,
        "avg_sim_strong_cov": sum([value for value in similarities if value >= strong]) / n,
        "step_coherence_cov": joint.coherence() / n,
        "order_consistency_cov": joint.order() * _order_coverage(truth, joint, recall, rule),
        "merge_purity_cov": joint.purity() * recall,
        "matches": list(map(list, zip(left, right, similarities, strict=True))),
        "per_step_fragmentation": (1 - joint.undivided).tolist(),
        "primary_pred_for_gt": joint.primary_steps(),
    }


def _order_coverage(
    truth: _TrajectoryCalls, joint: StepContingency, recall: float, rule: GradingRule
) -> float:
    """Return the factor of order consistency: officially the share of pairs covered."""
    if rule == "paper":
        return recall
    pairs = _count_cross_step_pairs(np.bincount(truth.steps))
    if not pairs:
        return recall if rule == "fair" else 0.0
    return _count_cross_step_pairs(joint.matched) / pairs


def _count_cross_step_pairs(sizes: NDArray[np.intp]) -> int:
    """Return twice the number of pairs of calls in different steps."""
    return int(sizes.sum()) ** 2 - int(sizes @ sizes)


# --- over tasks -------------------------------------------------------------------------


def aggregate_alignments(samples: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Pool the results of `align_trajectory` over calls; each call of a truth has the same weight.

    Recall and precision are matched calls over all calls; the other measures are means, weighted
    by the number of calls of the truth. Missing predictions count if the grading rule counts them.
    """
    rows = [sample for sample in samples if sample.get("counted", True)]
    n, m, k = (
        sum(row[key] for row in rows) for key in ("total_gt_calls", "total_pred_calls", "matched")
    )
    pooled: dict[str, Any] = {
        "num_ids": len(rows),
        "total_gt_calls": n,
        "total_pred_calls": m,
        "matched": k,
        "recall": k / n if n else 0.0,
        "precision": k / m if m else 0.0,
    }
    for name in COVERED_MEASURES:
        pooled[name] = sum(row[name] * row["total_gt_calls"] for row in rows) / n if n else 0.0
    pooled["avg_tool_calls"] = m / len(rows) if rows else 0.0
    if all("rounds" in row for row in rows):
        pooled["avg_Rounds"] = sum(row["rounds"] for row in rows) / len(rows) if rows else 0.0
    return pooled


def mean_of_seven_measures(measures: Mapping[str, float], grounding: float) -> float:
    """Return the mean of six measures and information grounding, as in the code and Table 2."""
    return (sum(measures[name] for name in _SIX_MEASURES) + grounding) / 7


def mean_of_eight_measures(
    measures: Mapping[str, float], grounding: float, completion: float
) -> float:
    """Return the mean that includes task completion, as in the per-task tables (5 to 32)."""
    return (sum(measures[name] for name in _SIX_MEASURES) + grounding + completion) / 8
