"""Single-turn verdicts: the official reading, with toolmark's causes beside its error types."""

from __future__ import annotations

from typing import Any

from toolmark import codec
from toolmark.score import match
from toolmark.score.values import Unsound
from toolmark.suites.bfcl import decode, label
from toolmark.types import Cause, Label, StopReason, Task, Trajectory, Verdict

READINGS = ("official",)
RIGHT = Verdict(outcome="correct", value=1.0)

_STOPS: dict[StopReason, Cause] = {
    "length": "over_limit",
    "refused": "refused",
    "malformed": "format",
    "over_long": "over_long",
}


def score(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode. Pure: the task's own docs and truth are all that is looked at.

    The text is judged as it stands even where the reply was cut, refused or malformed; the label
    then names that.
    """
    found = _official(task, decode.made(trajectory))
    if found is None:
        return {"official": RIGHT}
    stop = trajectory.steps[0].reply.stop if trajectory.steps else "stop"
    cause, native, evidence = found
    first = Label(
        cause=_STOPS.get(stop, cause),
        native=native,
        evidence=codec.escape(evidence[: label.MAX_CHARS]),
        primary=True,
    )
    return {"official": Verdict(outcome="incorrect", value=0.0, labels=(first,))}


def _official(task: Task, made: decode.Made) -> label.Found | None:
    """Return cause, official error type and evidence of a failure, None for success."""
    if task.reference is None:
        return _relevance(task, made)
    if made.native:
        return made.cause, made.native, made.why
    docs: list[Any] = [tool.source for tool in task.tools]
    truth = task.reference["truth"]
    try:
        fault = match.check(docs, made.calls, truth, task.category)
    except Unsound as error:
        return "wrong_value", "checker_failed", str(error)
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
