"""Multi-turn verdicts: replay the model's calls and the truth's in parallel and compare them.

After each turn in which something is expected, the public state must be equal and every result of
the truth must be among the model's results so far (the official checker's two tests).
"""

from __future__ import annotations

from collections.abc import Sequence

from toolmark.core import json_codec
from toolmark.core.records import Cause, Label, Task, Trajectory, Verdict
from toolmark.official_bfcl import executable_calls, truth_replay
from toolmark.official_bfcl.executable_calls import CallsByTurn, ExecutableCall
from toolmark.official_bfcl.truth_replay import (
    EMPTY_TURN,
    RESPONSE_MISMATCH,
    STATE_MISMATCH,
    ReplayOutcome,
    TruthCheck,
)

FORCE_TERMINATED = "multi_turn:force_terminated"
INFERENCE_ERROR = "multi_turn:inference_error"

_CAUSE_OF_ERROR: dict[str, Cause] = {
    EMPTY_TURN: "no_answer",
    STATE_MISMATCH: "state",
    RESPONSE_MISMATCH: "response",
}
_MAX_EVIDENCE_CHARS = 600


def score_episode(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode by both grading rules.

    `official` lets both sides share what the official classes share at module level within one
    check; `fair` separates them, takes strings and dicts as they were sent, and drops no call
    because another call of the same reply cannot be read.
    """
    check = truth_replay.find_check(task)
    official_calls, fair_calls = executable_calls.decode_both_ways(
        trajectory, check.make_rewriter("model")
    )
    official_outcome = check.compare_officially(official_calls)
    rules_agree = (
        official_outcome.shared_unchanged and official_calls == fair_calls and check.truths_agree
    )
    fair_outcome = official_outcome if rules_agree else check.compare_fairly(fair_calls)
    official_verdict = _make_verdict(check, trajectory, official_calls, official_outcome)
    fair_verdict = (
        official_verdict
        if rules_agree
        else _make_verdict(check, trajectory, fair_calls, fair_outcome)
    )
    return {"official": official_verdict, "fair": fair_verdict}


# --- the verdict ------------------------------------------------------------------------


def _make_verdict(
    check: TruthCheck, trajectory: Trajectory, model_turns: CallsByTurn, outcome: ReplayOutcome
) -> Verdict:
    failed_turn = outcome.first_failed_turn
    n_passed = sum(fault is None for fault in outcome.faults.values())
    parts = {
        "turns": n_passed / len(outcome.faults) if outcome.faults else 1.0,
        "turns_passed": float(n_passed),
        "turns_checked": float(len(outcome.faults)),
    }
    if failed_turn is not None:
        parts["first_failed_turn"] = failed_turn + 1.0
    ending_label = _ending_label(check, trajectory, model_turns)
    if ending_label is None and failed_turn is None:
        return Verdict(outcome="correct", value=1.0, parts=parts)
    labels = [ending_label] if ending_label else []
    if failed_turn is not None and failed_turn < len(model_turns):
        labels += _fault_labels(
            check, model_turns, outcome, failed_turn, primary=ending_label is None
        )
    return Verdict(outcome="incorrect", value=0.0, parts=parts, labels=tuple(labels))


def _ending_label(
    check: TruthCheck, trajectory: Trajectory, model_turns: CallsByTurn
) -> Label | None:
    """Return the label of an episode that did not come to its end."""
    n_planned = len(check.rewritten_truth)
    if trajectory.ending == "over_long":
        text = f"the conversation outgrew the model in turn {len(model_turns)} of {n_planned}"
        return Label(cause="over_long", suite_cause=INFERENCE_ERROR, evidence=text, primary=True)
    if len(model_turns) != n_planned:
        text = (
            f"stopped in turn {len(model_turns)} of {n_planned}, after {len(trajectory.steps)} "
            "replies"
        )
        return Label(cause="over_limit", suite_cause=FORCE_TERMINATED, evidence=text, primary=True)
    return None


def _fault_labels(
    check: TruthCheck, model_turns: CallsByTurn, outcome: ReplayOutcome, turn: int, *, primary: bool
) -> list[Label]:
    """Return the labels of the first failed turn: the fault, and the first call that diverges."""
    fault = outcome.faults[turn]
    assert fault is not None
    passed = max((t for t in outcome.faults if t < turn), default=-1)
    made_calls = [
        call for steps in model_turns[passed + 1 : turn + 1] for step in steps for call in step
    ]
    expected = [call for calls in check.plain_truth[passed + 1 : turn + 1] for call in calls]
    found = _first_divergence(check, made_calls, expected) if made_calls else None
    text = f"turn {turn + 1}: {fault.evidence}"
    if found:
        text = f"{text}; {found[1]}"
    first = Label(
        cause=_CAUSE_OF_ERROR[fault.error_type],
        suite_cause=fault.error_type,
        evidence=_cut_evidence(text),
        primary=primary,
    )
    return [first, Label(cause=found[0], evidence=_cut_evidence(found[1]))] if found else [first]


def _first_divergence(
    check: TruthCheck, predicted_calls: Sequence[ExecutableCall], expected: Sequence[ExecutableCall]
) -> tuple[Cause, str] | None:
    """Return the first expected call that was not made, else the first superfluous one."""
    remaining = list(predicted_calls)
    for call in expected:
        index = next((i for i, x in enumerate(remaining) if _is_same_call(x, call)), None)
        if index is not None:
            del remaining[index]
            continue
        near = next((x for x in remaining if x.name == call.name), None)
        if near is None:
            return (
                "missing_call",
                f"first divergence: {executable_calls.format_call(call)} was expected and not made",
            )
        return (
            _argument_cause(near, call),
            (
                f"first divergence: {executable_calls.format_call(near)} instead of "
                f"{executable_calls.format_call(call)}"
            ),
        )
    if not remaining:
        index = next(
            (i for i, (x, y) in enumerate(zip(predicted_calls, expected, strict=True)) if x != y), 0
        )
        return (
            "drift",
            (
                f"first divergence: call {index + 1} is "
                f"{executable_calls.format_call(predicted_calls[index])}, out of order"
            ),
        )
    unknown = next((call for call in remaining if call.name not in check.methods), None)
    if unknown is not None:
        return (
            "unknown_tool",
            f"first divergence: {executable_calls.format_call(unknown)}: there is no such tool",
        )
    return (
        "extra_call",
        f"first divergence: {executable_calls.format_call(remaining[0])} was not expected",
    )


def _argument_cause(predicted_call: ExecutableCall, expected: ExecutableCall) -> Cause:
    if predicted_call.error:
        return "format"
    if set(expected.arguments) - set(predicted_call.arguments):
        return "missing_argument"
    if set(predicted_call.arguments) - set(expected.arguments):
        return "unexpected_argument"
    return "wrong_value"


def _is_same_call(predicted_call: ExecutableCall, expected: ExecutableCall) -> bool:
    return (
        predicted_call.name == expected.name
        and not predicted_call.error
        and predicted_call.arguments == expected.arguments
    )


def _cut_evidence(text: str) -> str:
    return json_codec.escape_surrogates(text[:_MAX_EVIDENCE_CHARS])
