"""Verdicts on memory and web search: is an accepted answer in the last message?

`official` searches the whole last message that cannot be read as calls. `fair` holds the model to
the reply it was asked for: where the last reply has an answer field, the answer must stand there.
The context explains how an answer was reached and may name what was ruled out, so an accepted
answer that stands only in it is not an answer given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from toolmark import codec
from toolmark.dialects.parse import python
from toolmark.score import answer
from toolmark.suites.bfcl import formats
from toolmark.types import Cause, Ending, Label, Step, Table, Task, Trajectory, Verdict

WEB = ("web_search_base", "web_search_no_snippet")
MEMORY = ("memory_kv", "memory_vector", "memory_rec_sum")
CATEGORIES = (*WEB, *MEMORY)

# by which the fair reading differs; a verdict that does has the part `fair:<name>`
RULES = {
    "answer_field": "the answer must stand in the answer field, not only in the context",
    "whole_words": "an answer is found where it stands alone: beside signs, not inside a number",
    "last_reply": "the last reply is the answer, and calls in it, read or not, are none",
}

RIGHT = Verdict(outcome="correct", value=1.0)
INFERENCE = "agentic:inference_error"
NO_LAST = "agentic:no_last_message"
NOT_FOUND = "agentic:answer_not_found"
CONTEXT_ONLY = "agentic:answer_only_in_context"

Found: TypeAlias = tuple[Cause, str]

_SHOWN_CHARS = 200
_AROUND = "[` \t\r\n"
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(\s*([A-Za-z_]\w*\s*=)?")
_ENDINGS: dict[Ending, Cause] = {
    "steps": "over_limit",
    "calls": "over_limit",
    "length": "over_limit",
    "refused": "refused",
    "malformed": "format",
    "over_long": "over_long",
}


def score(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode in both readings. Pure: only the answers in the task are looked at."""
    truth: list[str] = task.reference["truth"]
    official, fair = _official(truth, trajectory), _fair(task, trajectory)
    rule = _rule(official, fair)
    return {
        "official": _verdict(task, trajectory, official),
        "fair": _verdict(task, trajectory, fair, {f"fair:{rule}": 1.0} if rule else {}),
    }


def _rule(official: str, fair: str) -> str:
    """Return the rule by which the readings differ, "" where they agree."""
    if bool(official) == bool(fair):
        return ""
    return {CONTEXT_ONLY: "answer_field", NO_LAST: "last_reply"}.get(fair, "whole_words")


def _verdict(
    task: Task, trajectory: Trajectory, native: str, parts: dict[str, float] | None = None
) -> Verdict:
    if not native:
        return Verdict(outcome="correct", value=1.0, parts=parts) if parts else RIGHT
    cause, evidence = _why(task, trajectory, native)
    label = Label(cause=cause, native=native, evidence=codec.escape(evidence), primary=True)
    return Verdict(outcome="incorrect", value=0.0, parts=parts or {}, labels=(label,))


# --- the official reading ---------------------------------------------------------------


def _official(truth: list[str], trajectory: Trajectory) -> str:
    """Return the official error type, "" for success."""
    if not _single(trajectory):
        return INFERENCE
    last: Any = None
    for step in trajectory.steps:
        said = _said(step)
        if not _callable(said, step, trajectory.dialect):
            last = said
    if not last:
        return NO_LAST
    message = last[0] if isinstance(last, list) else last
    return "" if answer.official(str(message), truth) else NOT_FOUND


def _single(trajectory: Trajectory) -> bool:
    """Tell whether there is one turn of replies: more, or none, answer no question."""
    return bool(trajectory.steps) and not any(step.turn for step in trajectory.steps)


def _said(step: Step) -> str | list[dict[str, str]]:
    """Return a reply as the official result file holds it."""
    if step.reply.calls:
        return [
            {codec.restore(call.name): codec.restore(call.arguments)} for call in step.reply.calls
        ]
    return codec.restore(step.reply.text)


def _callable(said: str | list[dict[str, str]], step: Step, dialect: str) -> bool:
    """Tell whether the official decoder makes at least one call of the reply."""
    if isinstance(said, list):
        return all(_object(text) for call in said for text in call.values())
    if dialect.partition(":")[0] == "prompt":
        return _written(said)
    return bool(step.calls)  # other formats are not asked for officially; the dialect's reading


def _object(text: str) -> bool:
    try:
        return isinstance(codec.loads(text), dict)
    except codec.BadJson:
        return False


def _written(text: str) -> bool:
    try:
        calls = python.calls(text)
    except python.Unreadable:
        return False
    return bool(calls) and all(_writable(v) for _, given in calls for v in given.values())


def _writable(value: Any) -> bool:
    """Tell whether the official decoder can write a value: an empty dict breaks it.

    A dict of dicts is taken for a call, of which only the first entry is looked at.
    """
    if not isinstance(value, dict):
        return True
    if not value:
        return False
    inner = list(value.values())
    if all(isinstance(item, dict) for item in inner):
        inner = list(inner[0].values())
    return all(map(_writable, inner))


# --- the fair reading -------------------------------------------------------------------


def _fair(task: Task, trajectory: Trajectory) -> str:
    """Return what is wrong, "" for nothing."""
    if not _single(trajectory):
        return INFERENCE
    truth: list[str] = task.reference["truth"]
    text = _final(trajectory)
    if not text.strip() or _broken(task, trajectory):
        return NO_LAST
    field = answer.field(text)
    if answer.fair(text if field is None else field, truth):
        return ""
    return CONTEXT_ONLY if answer.fair(text, truth) else NOT_FOUND


def _final(trajectory: Trajectory) -> str:
    """Return the last reply's text, "" where the episode ended with calls."""
    last = trajectory.steps[-1]
    return "" if last.calls or last.reply.calls else codec.restore(last.reply.text)


def _broken(task: Task, trajectory: Trajectory) -> bool:
    """Tell whether the last reply is calls that could not be read.

    Such a text begins like a call: of a tool on offer, or with a named argument. In the formats
    that write calls otherwise the dialect tells.
    """
    last = trajectory.steps[-1]
    shape = formats.form(trajectory.dialect)
    if shape is not None and shape.calls != "python" and last.fault:
        return True
    names = {tool.name for tool in task.tools}
    start = _final(trajectory).lstrip(_AROUND)
    for word in ("python", "json"):
        start = start.removeprefix(word).lstrip(_AROUND)
    found = _CALL.match(start)
    return found is not None and (found[1] in names or found[2] is not None)


# --- causes -----------------------------------------------------------------------------


def _why(task: Task, trajectory: Trajectory, native: str) -> Found:
    """Return the cause of a failure, and the evidence."""
    if native == INFERENCE:
        return "format", f"{len(trajectory.steps)} replies, not one turn of them"
    truth: list[str] = task.reference["truth"]
    if trajectory.ending in _ENDINGS:
        return _ENDINGS[trajectory.ending], f"the episode ended by force: {trajectory.ending}"
    last = trajectory.steps[-1]
    if last.fault:
        return "format", f"the last reply could not be read: {last.fault[:_SHOWN_CHARS]}"
    text = _final(trajectory)
    if _broken(task, trajectory):
        return "format", f"the last reply is a call that cannot be read: {_shown(text)}"
    field = answer.field(text)
    given = text if field is None else field
    if answer.unknown(given):
        return "no_answer", _seen(truth, trajectory) or f"said {_shown(text)}"
    if native == CONTEXT_ONLY:
        return (
            "wrong_answer",
            f"answered {_shown(given)}; an expected answer is only in the context",
        )
    return _missed(truth, trajectory, given)


def _missed(truth: list[str], trajectory: Trajectory, given: str) -> Found:
    """Tell a wrong answer to what was seen from one to what was never found, or never kept."""
    said = f"answered {_shown(given)}"
    seen = _seen(truth, trajectory)
    if seen:
        return "wrong_answer", f"{said}; {seen}"
    if trajectory.state is not None:
        if not answer.fair(_texts(trajectory.state), truth):
            return "state", f"{said}; what the sessions before left in memory holds no answer"
        return "retrieval", f"{said}; the memory holds the answer, but it was not retrieved"
    return "retrieval", f"{said}; no result held an expected answer"


def _seen(truth: list[str], trajectory: Trajectory) -> str:
    """Return where the model saw an expected answer, "" for nowhere."""
    for source, text in _sources(trajectory):
        found = answer.fair(text, truth)
        if found:
            return f"{found!r} was in {source}"
    return ""


def _sources(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    for message in trajectory.steps[0].said:
        if message.role == "system":
            yield "the memory shown at the start", codec.restore(message.text)
    for number, step in enumerate(trajectory.steps, 1):
        for call, result in zip(step.calls, step.results, strict=False):
            yield f"the result of {call.name}, reply {number}", codec.restore(result.text)


def _texts(state: Any) -> str:
    """Return a memory as text, its values as they were written."""
    match state:
        case dict():
            return "\n".join(f"{key}: {_texts(value)}" for key, value in state.items())
        case list():
            return "\n".join(map(_texts, state))
        case str():
            return codec.restore(state)
        case _:
            return json.dumps(state)


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}...")


# --- one episode, for the report --------------------------------------------------------


def view(task: Task, trajectory: Trajectory) -> Table:
    """Return what was accepted beside what was answered, and where the model saw an answer."""
    truth: list[str] = [] if task.reference is None else task.reference["truth"]
    text = _final(trajectory) if trajectory.steps else ""
    seen = _seen(truth, trajectory) if trajectory.steps else ""
    rows = [
        ("accepted", " | ".join(truth)),
        ("last message", text),
        ("answer field", answer.field(text)),
        ("seen", seen or "nowhere"),
    ]
    return Table(
        title="Answer",
        head=("", "text"),
        rows=tuple((name, cell if cell is None else codec.escape(cell)) for name, cell in rows),
        note="official searches the whole last message, fair its answer field where it has one.",
    )
