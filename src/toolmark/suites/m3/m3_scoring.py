"""Scoring of an episode: its calls against the reference, its result against the wanted one.

A task with a final state or an answer is correct or incorrect by these. A task with a reference
trajectory only is correct when every call of the reference was made; its value is the mean of the
measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from toolmark.core import json_codec, sentence_encoder
from toolmark.core.errors import DataError, UsageError
from toolmark.core.failure import Failure
from toolmark.core.records import Attempt, Cause, Label, Task, Tool, Trajectory, Usage, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.runs.run_store import Run
from toolmark.runs.suite import ScoreFunction
from toolmark.scoring import alignment
from toolmark.scoring.episode import Episode
from toolmark.suites.m3 import call_outcomes, judged_parts, published_tasks
from toolmark.suites.m3.local import answer_checking, workspace_state
from toolmark.suites.m3.m3_tables import (
    ALIGNMENT_MEASURES,
    AVERAGE_PARTS,
    MISSING_PART,
    TOOL_PREFIX,
    UNKNOWN_TOOL_LABEL,
)
from toolmark.suites.m3.m3_task_data import M3TaskData
from toolmark.suites.m3.parameters import EXACT_SIMILARITY

GRADING_RULES: tuple[alignment.GradingRule, ...] = ("official", "paper", "fair")
NO_PREDICTION = Failure(stage="import", kind="not_reached", message="no prediction")
"""The failure of a task without a prediction in an imported file, known by its stage and kind."""
_MAX_EVIDENCE_CHARS = 200
_ENDING_LABELS: dict[str, tuple[Cause, str]] = {
    "over_long": ("over_long", "the conversation no longer fits the model"),
    "refused": ("refused", "the model refused"),
    "malformed": ("format", "the reply was malformed"),
    "steps": ("over_limit", "no answer within the limit of steps"),
    "calls": ("over_limit", "no answer within the limit of calls"),
}
_OUTCOME_CAUSES: dict[call_outcomes.Outcome, Cause] = {
    "illegal_format": "format",
    "unknown_tool": "unknown_tool",
    "invalid_arguments": "wrong_type",
    "not_found": "wrong_value",
    "tool_error": "response",
    "server_error": "response",
    "not_executed": "over_limit",
}

SimilarityFunction: TypeAlias = Callable[[Sequence[str], Sequence[str]], NDArray[Any]]


class ExecutedCalls(NamedTuple):
    """The executed calls of an episode in the published layout, with a flat list of outcomes.

    `others` are the outcomes of calls that were not executed and of replies that could not be read.
    """

    steps: list[dict[str, Any]]
    outcomes: list[call_outcomes.Outcome]
    others: list[call_outcomes.Outcome]


def score_episode(
    episode: Episode, similarity: SimilarityFunction | None = None
) -> dict[str, Verdict]:
    """Score one episode under every grading rule.

    `similarity` compares calls; without it two calls are equal or not. Raises DataError for a
    reference without calls if the task has no final state or answer to check: any episode would
    satisfy it.
    """
    task, trajectory = episode.task, episode.trajectory
    data = read_task_data(task, M3TaskData)
    if not data.reference_steps and not _has_result_check(data):
        raise DataError(f"task {task.id!r}: {published_tasks.EMPTY_REFERENCE}")
    offered = trajectory.tools or task.tools
    executed = executed_calls(trajectory, offered)
    failed = [i for i, call_outcome in enumerate(executed.outcomes) if call_outcome != "success"]
    faults = list(_result_faults(data, trajectory))
    verdicts: dict[str, Verdict] = {}
    for rule in GRADING_RULES:
        found = alignment.align_trajectory(
            data.reference_steps,
            executed.steps,
            similarity or alignment.exact_similarity(offered),
            rule=rule,
            failed=failed,
            tools=offered,
        )
        verdicts[rule] = _make_verdict(data, trajectory, executed, found, faults)
    return verdicts


def executed_calls(trajectory: Trajectory, offered: tuple[Tool, ...]) -> ExecutedCalls:
    """Return the executed calls; a reply without calls makes no step, as published."""
    steps: list[dict[str, Any]] = []
    outcomes: list[call_outcomes.Outcome] = []
    others: list[call_outcomes.Outcome] = []
    for step in trajectory.steps:
        found = call_outcomes.step_outcomes(step, offered)
        n = len(step.results)
        others += found[n:]
        if n:
            listed = [
                {"name": c.name, "arguments": parse_arguments(c.arguments)} for c in step.calls[:n]
            ]
            steps.append({"calls": listed})
            outcomes += found[:n]
    return ExecutedCalls(steps, outcomes, others)


def parse_arguments(arguments: str) -> Any:
    """Return arguments for comparison: their JSON value, or the text itself if it is not JSON."""
    try:
        return json_codec.parse_json(json_codec.restore_surrogates(arguments))
    except json_codec.InvalidJson:
        return arguments


# --- success ----------------------------------------------------------------------------


def _result_faults(data: M3TaskData, trajectory: Trajectory) -> Iterator[Label]:
    """Yield the faults of the final state, then of the answer."""
    if not _has_result_check(data):
        return
    for difference in workspace_state.find_differences(data.expected_state, trajectory.state or {}):
        yield _make_label("state", "state", difference)
    answer = json_codec.restore_surrogates(trajectory.answer)
    wrong = answer_checking.check_answer(answer, data.answers, data.wrong_values)
    if wrong:
        cause: Cause = "wrong_answer" if answer.strip() else "no_answer"
        yield _make_label(cause, "answer", "; ".join(wrong))


def _has_result_check(data: M3TaskData) -> bool:
    return bool(data.expected_state or data.answers)


def _make_label(cause: Cause, suite_cause: str, evidence: str) -> Label:
    return Label(
        cause=cause,
        suite_cause=suite_cause,
        evidence=json_codec.escape_surrogates(evidence[:_MAX_EVIDENCE_CHARS]),
    )


def _make_verdict(
    data: M3TaskData,
    trajectory: Trajectory,
    executed: ExecutedCalls,
    found: Mapping[str, Any],
    faults: list[Label],
) -> Verdict:
    parts = {name: float(found[name]) for name in ALIGNMENT_MEASURES}
    average = sum(parts.values()) / len(parts)
    parts |= _count_parts(trajectory, executed, found) | {"avg6": average, "alignment": average}
    labels = list(_verdict_labels(data, trajectory, executed, found, faults))
    success = not faults if _has_result_check(data) else found["matched"] == found["total_gt_calls"]
    value = average
    if _has_result_check(data):
        value = float(success)
        parts["success"] = value
    if success:
        return Verdict(outcome="correct", value=value, parts=parts, labels=tuple(labels))
    first, *others = labels or [
        _make_label("missing_call", "missing", "calls of the reference lack")
    ]
    primary = Label(
        cause=first.cause, suite_cause=first.suite_cause, evidence=first.evidence, primary=True
    )
    return Verdict(outcome="incorrect", value=value, parts=parts, labels=(primary, *others))


def _count_parts(
    trajectory: Trajectory, executed: ExecutedCalls, found: Mapping[str, Any]
) -> dict[str, float]:
    all_outcomes = [*executed.outcomes, *executed.others]
    counts = {
        f"outcome:{name}": float(all_outcomes.count(name))
        for name in call_outcomes.OUTCOME_DESCRIPTIONS
    }
    for (tool, call_outcome), n in _outcomes_by_tool(executed).items():
        counts[f"{TOOL_PREFIX}{call_outcome}:{tool}"] = float(n)
    counts |= {
        "n_truth": float(found["total_gt_calls"]),
        "n_made": float(found["total_pred_calls"]),
        "n_matched": float(found["matched"]),
        "n_steps": float(len(executed.steps)),
        "n_replies": float(len(trajectory.steps)),
    }
    usage = trajectory.usage
    # Zero usage means that nobody counted: imported files, endpoints that report no usage.
    if usage != Usage():
        counts |= {"tokens_in": float(usage.input), "tokens_out": float(usage.output)}
    if trajectory.latency_s:
        counts["latency_s"] = trajectory.latency_s
    return counts


def score_missing_prediction(task: Task, attempt: Attempt) -> dict[str, Verdict]:
    """Return the verdict on a task without a prediction in an imported file: 0, in `fair` only.

    An attempt that failed for any other reason has no verdict.
    """
    if attempt.failure.cause != NO_PREDICTION.cause:
        return {}
    steps = read_task_data(task, M3TaskData).reference_steps
    found = alignment.align_trajectory(steps, None, alignment.exact_similarity(), rule="fair")
    parts = {name: float(found[name]) for name in ALIGNMENT_MEASURES}
    parts |= {"avg6": 0.0, "alignment": 0.0, MISSING_PART: 1.0}
    parts |= {"n_truth": float(found["total_gt_calls"]), "n_made": 0.0, "n_matched": 0.0}
    label = Label(
        cause="no_answer", suite_cause="missing", evidence=NO_PREDICTION.message, primary=True
    )
    return {"fair": Verdict(outcome="incorrect", value=0.0, parts=parts, labels=(label,))}


def _outcomes_by_tool(executed: ExecutedCalls) -> Counter[tuple[str, call_outcomes.Outcome]]:
    """Count executed calls by tool and outcome; tools that do not exist are counted together."""
    flat = [call["name"] for step in executed.steps for call in step["calls"]]
    return Counter(
        (
            UNKNOWN_TOOL_LABEL if call_outcome == "unknown_tool" else name[:_MAX_EVIDENCE_CHARS],
            call_outcome,
        )
        for name, call_outcome in zip(flat, executed.outcomes, strict=True)
    )


# --- why --------------------------------------------------------------------------------


def _verdict_labels(
    data: M3TaskData,
    trajectory: Trajectory,
    executed: ExecutedCalls,
    found: Mapping[str, Any],
    faults: list[Label],
) -> Iterator[Label]:
    """Yield what went wrong: the ending of the episode, then faults of the result, then calls."""
    if trajectory.ending in _ENDING_LABELS:
        cause, why = _ENDING_LABELS[trajectory.ending]
        yield _make_label(cause, trajectory.ending, why)
    yield from faults
    yield from _missing_call_labels(data.reference_steps, executed, found)
    flat = [call for step in executed.steps for call in step["calls"]]
    for call, call_outcome in zip(flat, executed.outcomes, strict=True):
        if call_outcome != "success":
            yield _make_label(
                _OUTCOME_CAUSES[call_outcome],
                call_outcome,
                f"{call['name']}: {call_outcomes.OUTCOME_DESCRIPTIONS[call_outcome]}",
            )
    for call_outcome in dict.fromkeys(executed.others):
        yield _make_label(
            _OUTCOME_CAUSES[call_outcome],
            call_outcome,
            call_outcomes.OUTCOME_DESCRIPTIONS[call_outcome],
        )


def _missing_call_labels(
    truth: Sequence[Mapping[str, Any]], executed: ExecutedCalls, found: Mapping[str, Any]
) -> Iterator[Label]:
    """Yield a label per unmatched call of the reference: missing, or with other arguments."""
    matched_truth = {pair[0] for pair in found["matches"]}
    matched_made = {pair[1] for pair in found["matches"]}
    flat = [call for step in executed.steps for call in step["calls"]]
    unmatched = [call["name"] for at, call in enumerate(flat) if at not in matched_made]
    wanted = [call for step in truth for call in step["calls"]]
    for at, call in enumerate(wanted):
        if at in matched_truth:
            continue
        call_text = f"{call['name']}({alignment.arguments_text(call['arguments'])})"
        if call["name"] in unmatched:
            unmatched.remove(call["name"])
            yield _make_label("wrong_value", "arguments", f"no call like {call_text}")
        else:
            yield _make_label("missing_call", "missing", call_text)


# --- the encoder ------------------------------------------------------------------------


def check_encoder(similarity: str, *, flag: str = "-T similarity=") -> None:
    """Raise UsageError, before any model is asked, if the encoder for scoring is not available."""
    if similarity == EXACT_SIMILARITY:
        return
    try:
        sentence_encoder.load_encoder(similarity)
    except UsageError as error:
        raise UsageError(f"{error}; or {flag}{EXACT_SIMILARITY}, which needs none") from None


def prepare_scoring(run: Run) -> ScoreFunction:
    """Return the score function of a run: it knows call similarities and judges' ratings.

    Every call of the run is encoded in one batch. The function adds judged parts and averages to
    each verdict.
    """
    wanted: dict[str, dict[str, None]] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        data = read_task_data(task, M3TaskData)
        name = data.similarity
        if name == EXACT_SIMILARITY:
            continue
        offered = trajectory.tools or task.tools
        texts = wanted.setdefault(name, {})
        for step in (*data.reference_steps, *executed_calls(trajectory, offered).steps):
            texts.update(dict.fromkeys(alignment.step_call_texts(step, offered)))
    rows = {}
    for name, texts_to_encode in wanted.items():
        rows[name] = dict(
            zip(
                texts_to_encode,
                sentence_encoder.load_encoder(name)(list(texts_to_encode)),
                strict=True,
            )
        )
    return partial(
        _score_with_judgements,
        partial(_score_with_encoder, rows),
        judged_parts.judged_parts(run, GRADING_RULES),
    )


def _score_with_judgements(
    scoring: ScoreFunction,
    parts_by_episode: Mapping[tuple[str, int], Mapping[str, judged_parts.JudgedParts]],
    episode: Episode,
) -> dict[str, Verdict]:
    """Score an episode; add judged parts by grading rule, and the averages that include them."""
    verdicts = dict(scoring(episode))
    judged = parts_by_episode.get((episode.task.id, episode.repeat), {})
    for rule, verdict in verdicts.items():
        episode_parts = judged.get(rule, {})
        parts = {**verdict.parts, **episode_parts}
        for average, more in AVERAGE_PARTS.items():
            if all(name in episode_parts for name in more):
                parts[average] = sum(parts[name] for name in (*ALIGNMENT_MEASURES, *more)) / (
                    len(ALIGNMENT_MEASURES) + len(more)
                )
        verdicts[rule] = replace(verdict, parts=parts)
    return verdicts


def _score_with_encoder(
    rows: Mapping[str, Mapping[str, NDArray[Any]]], episode: Episode
) -> dict[str, Verdict]:
    found = rows.get(read_task_data(episode.task, M3TaskData).similarity)
    if found is None:
        return score_episode(episode)

    def similarity(one: Sequence[str], other: Sequence[str]) -> NDArray[Any]:
        left, right = (np.stack([found[text] for text in texts]) for texts in (one, other))
        return alignment.cosine_matrix(left, right)

    return score_episode(episode, similarity)
