"""Aligning the calls that were made with those of a reference trajectory (arXiv 2511.17729, 4).

Calls of the same tool are paired by how alike their arguments are; every measure counts pairs.
A trajectory is a list of steps, each `{"calls": [{"name": ..., "arguments": ...}, ...]}`; other
keys are left alone and the position of a step is its number. Three readings: `official` as the
reference code, `paper` as the text, `fair`; docs/m3-metrics.md tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import isfinite
from numbers import Real
from operator import index
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import UsageError, near
from toolmark.score import assign
from toolmark.score.alike import Exact, cosine, exact, paper_text, text, texts
from toolmark.score.structure import Joint, Matches
from toolmark.types import Tool

__all__ = [
    "COVERED",
    "Exact",
    "Reading",
    "Similarity",
    "aggregate",
    "avg7",
    "avg8",
    "cosine",
    "exact",
    "paper_text",
    "text",
    "texts",
    "trajectory",
]

Reading: TypeAlias = Literal["official", "paper", "fair"]
Steps: TypeAlias = Sequence[Mapping[str, Any]]
Similarity: TypeAlias = (
    NDArray[Any] | Sequence[Sequence[float]] | Callable[[Sequence[str], Sequence[str]], Any] | Exact
)

COVERED = (
    "avg_sim_all_cov",
    "avg_sim_strong_cov",
    "step_coherence_cov",
    "order_consistency_cov",
    "merge_purity_cov",
)
_SIX = ("recall", "precision", "avg_sim_all_cov", *COVERED[2:])
_READINGS = ("official", "paper", "fair")


class _Calls(NamedTuple):
    """The calls of a trajectory in order: each, its tool, and its step."""

    all: list[Mapping[str, Any]]
    names: list[str]
    steps: NDArray[np.intp]
    n_steps: int


def trajectory(
    truth_steps: Steps,
    predicted_steps: Steps | None,
    similarity: Similarity,
    *,
    weak: float = 0.6,
    strong: float = 0.8,
    reading: Reading = "official",
    failed: Collection[int] = (),
    tools: Sequence[Tool] = (),
) -> dict[str, Any]:
    """Return the measures of one task under the names of the reference's results.

    Args:
        truth_steps: The reference trajectory.
        predicted_steps: What was done; None where there is no prediction at all.
        similarity: A row per call of the truth and a column per made call, in order, or a
            function that returns this from the two lists of call texts, or `exact(tools)`.
        weak: The least similarity of a match.
        strong: The least similarity that counts for `avg_sim_strong_cov`.
        reading: Which rules hold.
        failed: Which of the made calls failed, by position; only `fair` minds.
        tools: Their schemas say which arguments are required; only the texts of `paper` need it.

    Beside numbers there are `matches`, [truth, made, similarity] each, `per_step_fragmentation`
    and `primary_pred_for_gt`, the made step that holds most of each step of the truth. `counted`
    is False for a missing prediction that this reading leaves out of the aggregate. Raises
    UsageError where the arguments do not fit together.
    """
    missing = predicted_steps is None
    truth, made = _calls(truth_steps), _calls(() if predicted_steps is None else predicted_steps)
    _check(reading, weak, strong)
    places = _places(failed, len(made.all))
    counts = {"total_gt_calls": len(truth.all), "total_pred_calls": len(made.all)}
    lot: dict[str, Any] = {"rounds": made.n_steps, "counted": reading == "fair" or not missing}
    if not truth.all or not made.all:
        alike = not truth.all and not made.all and not missing
        return counts | _without(truth, perfect=alike) | lot
    table = _table(truth.all, made.all, similarity, reading, tools)
    barred = places if reading == "fair" else frozenset()
    matches = _matched(truth, made, table, weak, reading, barred)
    return counts | _measures(truth, made, matches, strong, reading) | lot


def _check(reading: Reading, weak: Any, strong: Any) -> None:
    if reading not in _READINGS:
        raise UsageError(f"no reading {reading!r}{near(reading, _READINGS)}")
    for name, value in (("weak", weak), ("strong", strong)):
        # nan compares as smaller with nothing: all pairs would be lost in silence
        if not isinstance(value, Real) or not isfinite(value):
            raise UsageError(f"{name}={value!r}: expected a finite number")


def _places(failed: Collection[int], n_made: int) -> frozenset[int]:
    """Return the numbers of the failed calls. Raises UsageError for what numbers no made call."""
    try:
        found = frozenset(map(index, failed))
    except TypeError:
        raise UsageError(
            f"failed={failed!r:.80}: expected the numbers of made calls, from 0"
        ) from None
    beyond = [at for at in sorted(found) if not 0 <= at < n_made]
    if beyond:
        raise UsageError(f"failed={beyond[0]} is no made call: there are {n_made}, from 0")
    return found


def _calls(steps: Steps) -> _Calls:
    try:
        held = [step.get("calls") or () for step in steps]
        every = [call for calls in held for call in calls]
        names = [str(call.get("name") or "").strip() for call in every]
    except (AttributeError, TypeError):
        raise _unread(steps) from None
    sizes = [len(calls) for calls in held]
    return _Calls(every, names, np.arange(len(sizes)).repeat(sizes), len(sizes))


def _unread(steps: Steps) -> UsageError:
    """Return what is wrong with steps that cannot be read."""
    if not isinstance(steps, (list, tuple)):
        return UsageError(f'expected a list of steps {{"calls": [...]}}, got {steps!r:.80}')
    for number, step in enumerate(steps):
        held = (step.get("calls") or ()) if hasattr(step, "get") else None
        if not isinstance(held, (list, tuple)):
            return UsageError(f'step {number}: expected {{"calls": [...]}}, got {step!r:.80}')
    return UsageError('every call must be {"name": ..., "arguments": ...}')


def _without(truth: _Calls, *, perfect: bool) -> dict[str, Any]:
    """Return the measures where one side has no calls: of two empty sides all is well."""
    value = 1.0 if perfect else 0.0
    steps = truth.n_steps if truth.all else 0
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


def _table(
    truth: Sequence[Mapping[str, Any]],
    made: Sequence[Mapping[str, Any]],
    similarity: Similarity,
    reading: Reading,
    tools: Sequence[Tool],
) -> NDArray[np.float32]:
    """Return the similarity matrix, in the precision of the reference."""
    if callable(similarity):
        write: Callable[[Mapping[str, Any]], str] = _given
        if isinstance(similarity, Exact):
            write = similarity.text
        elif reading == "paper":
            write = paper_text(tools)
        left = _written(truth, write, "truth")
        similarity = similarity(left, _written(made, write, "prediction"))
    try:
        table = np.asarray(similarity, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"similarity: expected rows of numbers, {len(truth)} x {len(made)}: {error}"
        ) from None
    if table.shape != (len(truth), len(made)):
        raise UsageError(
            f"similarity is {' x '.join(map(str, table.shape))}; expected {len(truth)} calls of "
            f"the truth x {len(made)} made calls"
        )
    return table


def _written(
    calls: Sequence[Mapping[str, Any]], write: Callable[[Mapping[str, Any]], str], side: str
) -> list[str]:
    """Return the texts of calls. Raises UsageError for arguments that no JSON can hold."""
    found = []
    for number, call in enumerate(calls):
        try:
            found.append(write(call))
        except RecursionError:
            raise UsageError(f"call {number} of the {side}: arguments nested too deep") from None
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"call {number} of the {side}: arguments are no JSON: {error}"
            ) from None
    return found


def _given(call: Mapping[str, Any]) -> str:
    return text(call.get("arguments"))


def _matched(
    truth: _Calls,
    made: _Calls,
    table: NDArray[np.float32],
    weak: float,
    reading: Reading,
    barred: Collection[int],
) -> Matches:
    found = assign.cells(truth.names, made.names, table, barred)
    if not np.isfinite(found.alike).all():
        raise UsageError("similarity holds numbers that are not finite")
    steps = assign.Steps(truth.steps, made.steps, truth.n_steps, made.n_steps)
    if reading != "fair" or not len(found.alike):
        return assign.taken(found, assign.plain(found, weak), steps)
    return assign.structured(found, weak, steps)


# --- measures ---------------------------------------------------------------------------


def _measures(
    truth: _Calls, made: _Calls, matches: Matches, strong: float, reading: Reading
) -> dict[str, Any]:
    n, k = len(truth.all), len(matches.g)
    recall = k / n
    joint = Joint(matches, truth.n_steps, made.n_steps)
    left, right, alike = matches.truth.tolist(), matches.made.tolist(), matches.alike.tolist()
    return {
        "matched": k,
        "recall": recall,
        "precision": k / len(made.all),
        "avg_sim_all_cov": sum(alike) / n,
        "avg_sim_strong_cov": sum([value for value in alike if value >= strong]) / n,
        "step_coherence_cov": joint.coherence() / n,
        "order_consistency_cov": joint.order() * _cover(truth, joint, recall, reading),
        "merge_purity_cov": joint.purity() * recall,
        "matches": list(map(list, zip(left, right, alike, strict=True))),
        "per_step_fragmentation": (1 - joint.undivided).tolist(),
        "primary_pred_for_gt": joint.primary(),
    }


def _cover(truth: _Calls, joint: Joint, recall: float, reading: Reading) -> float:
    """Return what order consistency is multiplied by: officially the share of pairs covered."""
    if reading == "paper":
        return recall
    pairs = _apart(np.bincount(truth.steps))
    if not pairs:
        return recall if reading == "fair" else 0.0
    return _apart(joint.matched) / pairs


def _apart(sizes: NDArray[np.intp]) -> int:
    """Return twice the number of pairs of calls in different steps."""
    return int(sizes.sum()) ** 2 - int(sizes @ sizes)


# --- over tasks -------------------------------------------------------------------------


def aggregate(samples: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Pool the results of `trajectory` over calls: every truth's call weighs the same.

    Recall and precision are matched calls over all calls; the other measures are means, weighted
    by the truth's calls. Missing predictions count where the reading counts them.
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
    for name in COVERED:
        pooled[name] = sum(row[name] * row["total_gt_calls"] for row in rows) / n if n else 0.0
    pooled["avg_tool_calls"] = m / len(rows) if rows else 0.0
    if all("rounds" in row for row in rows):
        pooled["avg_Rounds"] = sum(row["rounds"] for row in rows) / len(rows) if rows else 0.0
    return pooled


def avg7(measures: Mapping[str, float], grounding: float) -> float:
    """Return the mean of six measures and information grounding, as code and Table 2 have it."""
    return (sum(measures[name] for name in _SIX) + grounding) / 7


def avg8(measures: Mapping[str, float], grounding: float, completion: float) -> float:
    """Return the mean with task completion too, as the per-task tables (5 to 32) have it."""
    return (sum(measures[name] for name in _SIX) + grounding + completion) / 8
