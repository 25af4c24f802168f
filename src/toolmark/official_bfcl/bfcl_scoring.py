"""Single-turn verdicts by two grading rules, with toolmark's causes next to the official errors."""

from __future__ import annotations

from toolmark.core import json_codec
from toolmark.core.records import Cause, Label, Task, Trajectory, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.official_bfcl import (
    agentic_scoring,
    fair_rule,
    format_failure_modes,
    multi_turn_scoring,
    prompt_formats,
    reply_decoding,
    tool_schemas,
)
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.scoring import call_matching, fault_labels
from toolmark.scoring.value_conversion import PYTHON_CONVERTER
from toolmark.scoring.value_matching import OfficialCheckerError

GRADING_RULES = ("official", "fair")
CORRECT = Verdict(outcome="correct", value=1.0)
# read without the exact grammar: the verdict may differ from the official one
APPROXIMATE = {"approximate": 1.0}


def score_episode(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode. Pure: it reads only the task's own docs and truth.

    The text is judged even where the reply was cut, refused or malformed; the label then names
    that. An entry that the fair rule sets aside has only the official verdict.
    """
    if task.category.startswith("multi_turn_"):
        return multi_turn_scoring.score_episode(task, trajectory)
    if task.category in agentic_scoring.CATEGORIES:
        return agentic_scoring.score_episode(task, trajectory)
    decoded = reply_decoding.decode_reply(task, trajectory)
    official_fault = _official_fault(task, decoded)
    official = _official_verdict(official_fault, trajectory, decoded)
    fair_result = fair_rule.judge_fairly(task, trajectory, decoded, official_fault)
    verdicts = {"official": official}
    if fair_result is not None:
        verdicts["fair"] = fair_rule.make_verdict(official, official_fault, *fair_result)
    return format_failure_modes.add_format_labels(task, trajectory, verdicts)


def _official_verdict(
    fault: fault_labels.LabelledFault | None,
    trajectory: Trajectory,
    decoded: reply_decoding.DecodedReply,
) -> Verdict:
    parts = APPROXIMATE if decoded.is_approximate else {}
    if fault is None:
        return Verdict(outcome="correct", value=1.0, parts=parts) if parts else CORRECT
    cause, error_type, evidence = fault
    first = Label(
        cause=fault_labels.CAUSE_OF_STOP.get(reply_decoding.single_reply(trajectory).stop, cause),
        suite_cause=error_type,
        evidence=json_codec.escape_surrogates(evidence[: fault_labels.MAX_EVIDENCE_CHARS]),
        primary=True,
    )
    return Verdict(outcome="incorrect", value=0.0, parts=parts, labels=(first,))


def _official_fault(
    task: Task, decoded: reply_decoding.DecodedReply
) -> fault_labels.LabelledFault | None:
    """Return cause, official error type and evidence of a failure, None for success."""
    category = prompt_formats.original_task(task).category
    if task.data is None and "relevance" in category:
        return _judge_relevance(task, decoded)
    truth = read_task_data(task, BfclTaskData).truth
    if decoded.error_type:
        return decoded.cause, decoded.error_type, decoded.reason
    docs = tool_schemas.published_docs(task)
    try:
        fault = call_matching.check_calls(
            docs,
            decoded.calls,
            truth,
            category,
            converter=fair_rule.VALUE_KINDS.get(category, PYTHON_CONVERTER),
        )
    except OfficialCheckerError as error:
        return "wrong_value", fault_labels.CHECKER_FAILED, str(error)
    return fault_labels.label_fault(fault, docs, decoded.calls, truth) if fault else None


def _judge_relevance(
    task: Task, decoded: reply_decoding.DecodedReply
) -> fault_labels.LabelledFault | None:
    """Judge by whether anything was called; which tool, and how, does not count."""
    if "irrelevance" not in task.category:
        if decoded.calls:
            return None
        cause: Cause = decoded.cause if decoded.error_type else "missing_call"
        return cause, "relevance_error:decoder_failed", decoded.reason or "no call"
    if not decoded.calls:
        return None
    names = ", ".join(name for name, _ in decoded.calls)
    return "extra_call", "irrelevance_error:decoder_success", f"called {names}; no tool fits"
