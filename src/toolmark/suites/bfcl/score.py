"""Single-turn verdicts in two readings, with toolmark's causes beside the official error types."""

from __future__ import annotations

from toolmark import codec
from toolmark.score import match
from toolmark.score.kinds import PYTHON
from toolmark.score.values import Unsound
from toolmark.suites.bfcl import agentic_score, decode, fair, formats, label, modes, schema, turns
from toolmark.types import Cause, Label, Task, Trajectory, Verdict

READINGS = ("official", "fair")
RIGHT = Verdict(outcome="correct", value=1.0)
# read without the exact grammar: the verdict may differ from the official one
APPROXIMATE = {"approximate": 1.0}


def score(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode. Pure: the task's own docs and truth are all that is looked at.

    The text is judged as it stands even where the reply was cut, refused or malformed; the label
    then names that. An entry that the fair reading sets aside has the official verdict alone.
    """
    if task.category.startswith("multi_turn_"):
        return turns.score(task, trajectory)
    if task.category in agentic_score.CATEGORIES:
        return agentic_score.score(task, trajectory)
    made = decode.made(task, trajectory)
    found = _official(task, made)
    official = _verdict(found, trajectory, made)
    fairly = fair.judge(task, trajectory, made, found)
    verdicts = {"official": official}
    if fairly is not None:
        verdicts["fair"] = fair.verdict(official, found, *fairly)
    return modes.marked(task, trajectory, verdicts)


def _verdict(found: label.Found | None, trajectory: Trajectory, made: decode.Made) -> Verdict:
    parts = APPROXIMATE if made.approximate else {}
    if found is None:
        return Verdict(outcome="correct", value=1.0, parts=parts) if parts else RIGHT
    cause, native, evidence = found
    first = Label(
        cause=label.STOPS.get(decode.said_in(trajectory).stop, cause),
        native=native,
        evidence=codec.escape(evidence[: label.MAX_CHARS]),
        primary=True,
    )
    return Verdict(outcome="incorrect", value=0.0, parts=parts, labels=(first,))


def _official(task: Task, made: decode.Made) -> label.Found | None:
    """Return cause, official error type and evidence of a failure, None for success."""
    if task.reference is None:
        return _relevance(task, made)
    if made.native:
        return made.cause, made.native, made.why
    kind, docs = formats.original(task).category, schema.docs(task)
    truth = task.reference["truth"]
    try:
        fault = match.check(docs, made.calls, truth, kind, kinds=fair.KINDS.get(kind, PYTHON))
    except Unsound as error:
        return "wrong_value", label.CRASHED, str(error)
    return label.found(fault, docs, made.calls, truth) if fault else None


def _relevance(task: Task, made: decode.Made) -> label.Found | None:
    """Judge by whether anything was called; which tool, and how, is not looked at."""
    if "irrelevance" not in task.category:
        if made.calls:
            return None
        cause: Cause = made.cause if made.native else "missing_call"
        return cause, "relevance_error:decoder_failed", made.why or "no call"
    if not made.calls:
        return None
    names = ", ".join(name for name, _ in made.calls)
    return "extra_call", "irrelevance_error:decoder_success", f"called {names}; no tool fits"
