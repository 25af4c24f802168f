"""Why a verdict today is not the published one: what brings that one back."""

from __future__ import annotations

from typing import Literal, TypeAlias

from toolmark.core.records import Task, Trajectory, Verdict
from toolmark.official_bfcl import reply_decoding
from toolmark.official_bfcl.tool_schemas import published_docs
from toolmark.studio.bfcl_audit import published_entries, published_readings
from toolmark.studio.bfcl_audit.published_entries import ChangedEntry, PublishedEntries
from toolmark.studio.bfcl_audit.published_rows import PublishedFailure

DifferenceReason: TypeAlias = Literal[
    "question changed",
    "functions changed",
    "reference changed",
    "reader changed",
    "checker changed",
    "tool names",
    "not described",
    "missing entry",
    "doubled entry",
    "foreign entry",
]

REASON_MEANINGS: dict[DifferenceReason, str] = {
    "question changed": "the question is another one today, and mostly the reference with it",
    "functions changed": "the function docs are others today, and mostly the reference with them",
    "reference changed": "only the reference changed; by the old one the verdict is as published",
    "reader changed": "the calls that are read from the reply today are not those read then",
    "checker changed": "same calls, docs and reference; the rules that compare them changed",
    "tool names": "dots and underscores in names of tools counted otherwise",
    "not described": "every model passed then, so no score file has the entry as it was",
    "missing entry": "the results have no row for an entry of today's data",
    "doubled entry": "an id stands twice in a file; the first row was judged",
    "foreign entry": "an id that today's data do not have",
}


def error_type_of(verdict: Verdict | None) -> str:
    """Return the official error type of a verdict, "" for a correct one."""
    if verdict is None:
        return "unreadable"
    return next((label.suite_cause for label in verdict.labels if label.primary), "")


def explain_difference(
    task: Task,
    trajectory: Trajectory | None,
    error_now: str,
    published: bool,
    failure: PublishedFailure | None,
    entries: PublishedEntries,
) -> tuple[DifferenceReason, str]:
    """Return the reason of a difference, and what was then and is now.

    `failure` is what was published of the entry where the model failed it. The old reference and
    the old function docs are put back first, then the old reading is looked at. An entry that no
    model failed is in no score file: what changed of it is not known.
    """
    then = failure.error_type if failure else "correct"
    errors = f"then {then}, now {error_now or 'correct'}"
    change, entry = entries.find_change(task), entries.by_id.get(task.id)
    if trajectory is None:
        return "reader changed", f"the row cannot be read today; {errors}"
    if len(task.turns) > 1 or task.data is None or task.needs:
        return _explain_without_calls(task, change, errors, is_described=entry is not None)
    decoded = reply_decoding.decode_reply(task, trajectory)
    if change is not None and entry is not None and not decoded.error_type:
        truth, docs = published_entries.entry_truth(task), published_docs(task)
        old_versions = ((docs, entry.truth), (entry.docs, truth), (entry.docs, entry.truth))
        verdicts = [
            published_entries.passes_checker(task, decoded.calls, docs=old_docs, truth=old_truth)
            for old_docs, old_truth in old_versions
        ]
        is_malformed = change.reference and not published_entries.is_call_truth(entry.truth)
        if published in verdicts or is_malformed:
            return _reason_of_change(change), _change_detail(change, errors)
    if _was_read_otherwise(decoded, failure):
        return "reader changed", errors
    if "wrong_func_name" in then:
        return "tool names", errors
    if change is not None and change.question:
        return "question changed", errors
    return ("not described" if entry is None else "checker changed"), errors


def _reason_of_change(change: ChangedEntry) -> DifferenceReason:
    if change.question:
        return "question changed"
    return "functions changed" if change.functions else "reference changed"


def _change_detail(change: ChangedEntry, errors: str) -> str:
    if not change.reference:
        return errors
    return f"reference then {change.reference_then}; now {change.reference_now}"


def _was_read_otherwise(
    decoded: reply_decoding.DecodedReply, failure: PublishedFailure | None
) -> bool:
    """Tell whether the calls read today are not those that were read then."""
    if failure is None:
        return bool(decoded.error_type) or not decoded.calls
    if failure.decoded is None:
        return not decoded.error_type
    if decoded.error_type:
        return True
    return not published_readings.same_calls(decoded.calls, failure.decoded)


def _explain_without_calls(
    task: Task, change: ChangedEntry | None, errors: str, *, is_described: bool
) -> tuple[DifferenceReason, str]:
    """Explain an entry whose verdict does not come from single calls and a reference of calls."""
    if change is not None and (change.reference or change.question):
        return _reason_of_change(change), _change_detail(change, errors)
    if len(task.turns) == 1 and "relevance" in task.category:
        return "reader changed", errors
    return ("checker changed" if is_described else "not described"), errors
