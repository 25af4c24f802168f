"""Verdicts on memory and web search: is an accepted answer in the last message?

`official` searches the last message, all of it, unless it can be read as calls. `fair` requires the
form of reply that was asked for: where the last reply has an answer field, the answer must be in
that field. The context field explains how an answer was reached and may name what was ruled out, so
an accepted answer that occurs only there does not count as given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from toolmark.core import json_codec
from toolmark.core.records import Cause, Ending, Label, Step, Table, Task, Trajectory, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.formats.parse import python_calls
from toolmark.formats.syntax_format import is_syntax_format
from toolmark.official_bfcl import prompt_formats
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.scoring import answer_matching

WEB_CATEGORIES = ("web_search_base", "web_search_no_snippet")
MEMORY_CATEGORIES = ("memory_kv", "memory_vector", "memory_rec_sum")
CATEGORIES = (*WEB_CATEGORIES, *MEMORY_CATEGORIES)

# why the fair rule differs; a verdict that differs has the part `fair:<name>`
CORRECTIONS = {
    "answer_field": "the answer must stand in the answer field, not only in the context",
    "whole_words": "an answer is found where it stands alone: next to signs, not inside a number",
    "last_reply": "the last reply is the answer, and calls in it, read or not, are none",
}

CORRECT = Verdict(outcome="correct", value=1.0)
INFERENCE_ERROR = "agentic:inference_error"
NO_LAST_MESSAGE = "agentic:no_last_message"
ANSWER_NOT_FOUND = "agentic:answer_not_found"
ANSWER_ONLY_IN_CONTEXT = "agentic:answer_only_in_context"

CauseAndEvidence: TypeAlias = tuple[Cause, str]

_MAX_CHARS = 200
_LEADING_SIGNS = "[` \t\r\n"
_CALL_START = re.compile(r"([A-Za-z_][\w.]*)\(\s*([A-Za-z_]\w*\s*=)?")
_CAUSE_OF_ENDING: dict[Ending, Cause] = {
    "steps": "over_limit",
    "calls": "over_limit",
    "length": "over_limit",
    "refused": "refused",
    "malformed": "format",
    "over_long": "over_long",
}


def score_episode(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode by both grading rules. Pure: it reads only the answers in the task."""
    truth: list[str] = read_task_data(task, BfclTaskData).truth
    official_error = _official_error(truth, trajectory)
    fair_error = _fair_error(task, truth, trajectory)
    correction = _correction_name(official_error, fair_error)
    return {
        "official": _make_verdict(task, trajectory, official_error),
        "fair": _make_verdict(
            task, trajectory, fair_error, {f"fair:{correction}": 1.0} if correction else {}
        ),
    }


def _correction_name(official_error: str, fair_error: str) -> str:
    """Return the name of the correction by which the grading rules differ, "" where they agree."""
    if bool(official_error) == bool(fair_error):
        return ""
    return {ANSWER_ONLY_IN_CONTEXT: "answer_field", NO_LAST_MESSAGE: "last_reply"}.get(
        fair_error, "whole_words"
    )


def _make_verdict(
    task: Task, trajectory: Trajectory, error_type: str, parts: dict[str, float] | None = None
) -> Verdict:
    if not error_type:
        return Verdict(outcome="correct", value=1.0, parts=parts) if parts else CORRECT
    cause, evidence = _explain_failure(task, trajectory, error_type)
    label = Label(
        cause=cause,
        suite_cause=error_type,
        evidence=json_codec.escape_surrogates(evidence),
        primary=True,
    )
    return Verdict(outcome="incorrect", value=0.0, parts=parts or {}, labels=(label,))


# --- the official rule ------------------------------------------------------------------


def _official_error(truth: list[str], trajectory: Trajectory) -> str:
    """Return the official error type, "" for success."""
    if not _has_one_turn(trajectory):
        return INFERENCE_ERROR
    last = last_message(trajectory)
    if not last:
        return NO_LAST_MESSAGE
    message = last[0] if isinstance(last, list) else last
    return "" if answer_matching.find_answer_official(str(message), truth) else ANSWER_NOT_FOUND


def last_message(trajectory: Trajectory) -> Any:
    """Return the last reply in which the official decoder finds no call, as files store it."""
    last: Any = None
    for step in trajectory.steps:
        stored = _stored_reply(step)
        if not _decodes_to_calls(stored, step, trajectory.tool_format):
            last = stored
    return last


def _has_one_turn(trajectory: Trajectory) -> bool:
    """Return whether there is one turn of replies: several turns, or none, answer no question."""
    return bool(trajectory.steps) and not any(step.turn for step in trajectory.steps)


def _stored_reply(step: Step) -> str | list[dict[str, str]]:
    """Return a reply in the form in which the official result file stores it."""
    if step.reply.calls:
        return [
            {
                json_codec.restore_surrogates(call.name): json_codec.restore_surrogates(
                    call.arguments
                )
            }
            for call in step.reply.calls
        ]
    return json_codec.restore_surrogates(step.reply.text)


def _decodes_to_calls(stored: str | list[dict[str, str]], step: Step, tool_format: str) -> bool:
    """Return whether the official decoder finds at least one call in the reply."""
    if isinstance(stored, list):
        return all(_is_json_object(text) for call in stored for text in call.values())
    if prompt_formats.is_default_text(tool_format):
        return _text_decodes_to_calls(stored)
    return bool(step.calls)  # other formats have no official decoder: the tool format reads them


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json_codec.parse_json(text), dict)
    except json_codec.InvalidJson:
        return False


def _text_decodes_to_calls(text: str) -> bool:
    try:
        calls = python_calls.parse_reply(text)
    except python_calls.UnreadableCalls:
        return False
    return bool(calls) and all(
        _is_writable(v) for _, arguments in calls for v in arguments.values()
    )


def _is_writable(value: Any) -> bool:
    """Return whether the official decoder can write a value: an empty dict breaks it.

    A dict of dicts is read as a call, of which only the first entry is used.
    """
    if not isinstance(value, dict):
        return True
    if not value:
        return False
    inner = list(value.values())
    if all(isinstance(item, dict) for item in inner):
        inner = list(inner[0].values())
    return all(map(_is_writable, inner))


# --- the fair rule ----------------------------------------------------------------------


def _fair_error(task: Task, truth: list[str], trajectory: Trajectory) -> str:
    """Return the error by the fair rule, "" for none."""
    if not _has_one_turn(trajectory):
        return INFERENCE_ERROR
    text = _final_text(trajectory)
    if not text.strip() or _is_unreadable_call(task, trajectory):
        return NO_LAST_MESSAGE
    field = answer_matching.extract_answer_field(text)
    if answer_matching.find_answer_fair(text if field is None else field, truth):
        return ""
    return (
        ANSWER_ONLY_IN_CONTEXT
        if answer_matching.find_answer_fair(text, truth)
        else ANSWER_NOT_FOUND
    )


def _final_text(trajectory: Trajectory) -> str:
    """Return the last reply's text, "" where the episode ended with calls."""
    last = trajectory.steps[-1]
    return "" if last.calls or last.reply.calls else json_codec.restore_surrogates(last.reply.text)


def _is_unreadable_call(task: Task, trajectory: Trajectory) -> bool:
    """Return whether the last reply is calls that could not be read.

    Such a text begins like a call: of an offered tool, or with a named argument. For formats with
    another notation of calls, the tool format decides.
    """
    last = trajectory.steps[-1]
    variant = prompt_formats.variant_of_format(trajectory.tool_format)
    is_read_by_format = is_syntax_format(trajectory.tool_format) or (
        variant is not None and variant.call_form != "python"
    )
    if is_read_by_format and last.fault:
        return True
    names = {tool.name for tool in task.tools}
    start = _final_text(trajectory).lstrip(_LEADING_SIGNS)
    for word in ("python", "json"):
        start = start.removeprefix(word).lstrip(_LEADING_SIGNS)
    found = _CALL_START.match(start)
    return found is not None and (found[1] in names or found[2] is not None)


# --- causes -----------------------------------------------------------------------------


def _explain_failure(task: Task, trajectory: Trajectory, error_type: str) -> CauseAndEvidence:
    """Return the cause of a failure, and the evidence."""
    if error_type == INFERENCE_ERROR:
        return "format", f"{len(trajectory.steps)} replies, not one turn of them"
    truth: list[str] = read_task_data(task, BfclTaskData).truth
    if trajectory.ending in _CAUSE_OF_ENDING:
        return _CAUSE_OF_ENDING[
            trajectory.ending
        ], f"the episode ended by force: {trajectory.ending}"
    last = trajectory.steps[-1]
    if last.fault:
        return "format", f"the last reply could not be read: {last.fault[:_MAX_CHARS]}"
    text = _final_text(trajectory)
    if _is_unreadable_call(task, trajectory):
        return "format", f"the last reply is a call that cannot be read: {_short_quote(text)}"
    field = answer_matching.extract_answer_field(text)
    answer_text = text if field is None else field
    if answer_matching.is_unknown_answer(answer_text):
        return "no_answer", _where_answer_was_seen(
            truth, trajectory
        ) or f"said {_short_quote(text)}"
    if error_type == ANSWER_ONLY_IN_CONTEXT:
        return (
            "wrong_answer",
            f"answered {_short_quote(answer_text)}; an expected answer is only in the context",
        )
    return _explain_missed_answer(truth, trajectory, answer_text)


def _explain_missed_answer(
    truth: list[str], trajectory: Trajectory, answer_text: str
) -> CauseAndEvidence:
    """Distinguish a wrong answer from one that was never found, or found but never stored."""
    answered = f"answered {_short_quote(answer_text)}"
    seen_where = _where_answer_was_seen(truth, trajectory)
    if seen_where:
        return "wrong_answer", f"{answered}; {seen_where}"
    if trajectory.state is not None:
        if not answer_matching.find_answer_fair(_state_text(trajectory.state), truth):
            return "state", f"{answered}; what the sessions before left in memory holds no answer"
        return "retrieval", f"{answered}; the memory holds the answer, but it was not retrieved"
    return "retrieval", f"{answered}; no result contained an expected answer"


def _where_answer_was_seen(truth: list[str], trajectory: Trajectory) -> str:
    """Return where the model saw an expected answer, "" for nowhere."""
    for source, text in _shown_texts(trajectory):
        found = answer_matching.find_answer_fair(text, truth)
        if found:
            return f"{found!r} was in {source}"
    return ""


def _shown_texts(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    for message in trajectory.steps[0].new_messages:
        if message.role == "system":
            yield "the memory shown at the start", json_codec.restore_surrogates(message.text)
    for number, step in enumerate(trajectory.steps, 1):
        for call, result in zip(step.calls, step.results, strict=False):
            yield (
                f"the result of {call.name}, reply {number}",
                json_codec.restore_surrogates(result.text),
            )


def _state_text(state: Any) -> str:
    """Return a memory as text, with its values as they were written."""
    match state:
        case dict():
            return "\n".join(f"{key}: {_state_text(value)}" for key, value in state.items())
        case list():
            return "\n".join(map(_state_text, state))
        case str():
            return json_codec.restore_surrogates(state)
        case _:
            return json.dumps(state)


def _short_quote(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}...")


# --- one episode, for the report --------------------------------------------------------


def episode_table(task: Task, trajectory: Trajectory) -> Table:
    """Return the accepted answers next to the given one, and where the model saw an answer."""
    truth: list[str] = [] if task.data is None else read_task_data(task, BfclTaskData).truth
    text = _final_text(trajectory) if trajectory.steps else ""
    seen_where = _where_answer_was_seen(truth, trajectory) if trajectory.steps else ""
    rows = [
        ("accepted", " | ".join(truth)),
        ("last message", text),
        ("answer field", answer_matching.extract_answer_field(text)),
        ("seen", seen_where or "nowhere"),
    ]
    return Table(
        title="Answer",
        head=("", "text"),
        rows=tuple(
            (name, cell if cell is None else json_codec.escape_surrogates(cell))
            for name, cell in rows
        ),
        note="official searches the whole last message, fair its answer field where it has one.",
    )
