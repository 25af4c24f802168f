"""Judging an episode: its calls against the reference, its outcome against what was wanted.

A task with a final state or an answer succeeds or fails by these; one with a reference trajectory
alone is correct when every call of it was made, and its value is the mean of the measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from toolmark import codec, encoder
from toolmark.errors import DataError, UsageError
from toolmark.failure import Failure
from toolmark.runs.store import Run
from toolmark.runs.suite import Scoring
from toolmark.score import align
from toolmark.suites.m3 import data, outcome, panel
from toolmark.suites.m3.local import reply, state
from toolmark.suites.m3.report import AVERAGED, MEASURES, MISSED, NO_TOOL, TOOL
from toolmark.types import (
    Attempt,
    Cause,
    Label,
    Task,
    Tool,
    Trajectory,
    Usage,
    Verdict,
)

READINGS: tuple[align.Reading, ...] = ("official", "paper", "fair")
EXACT = "exact"
NO_PREDICTION = Failure(stage="import", kind="not_reached", message="no prediction")
"""Why what a file of others lacks is not run: stage and kind tell it from all else."""
_SHOWN = 200
_ENDINGS: dict[str, tuple[Cause, str]] = {
    "over_long": ("over_long", "the conversation no longer fits the model"),
    "refused": ("refused", "the model refused"),
    "malformed": ("format", "the reply was malformed"),
    "steps": ("over_limit", "no answer within the limit of steps"),
    "calls": ("over_limit", "no answer within the limit of calls"),
}
_CAUSES: dict[outcome.Outcome, Cause] = {
    "illegal_format": "format",
    "unknown_tool": "unknown_tool",
    "invalid_arguments": "wrong_type",
    "not_found": "wrong_value",
    "tool_error": "response",
    "server_error": "response",
    "not_executed": "over_limit",
}

Similar: TypeAlias = Callable[[Sequence[str], Sequence[str]], NDArray[Any]]


class Made(NamedTuple):
    """The executed calls of an episode in the published shape, and what became of each, flattened.

    `others`: outcomes of calls that were not executed and of replies that could not be read.
    """

    steps: list[dict[str, Any]]
    outcomes: list[outcome.Outcome]
    others: list[outcome.Outcome]


def score(task: Task, trajectory: Trajectory, similar: Similar | None = None) -> dict[str, Verdict]:
    """Judge one episode; calls are as similar as `similar` says, or equal or not.

    Raises DataError for a reference without calls that nothing else decides: it would be met by
    whatever is done.
    """
    if not task.reference["steps"] and not _wanted(task):
        raise DataError(f"task {task.id!r}: {data.EMPTY}")
    offered = trajectory.tools or task.tools
    made = calls(trajectory, offered)
    truth = task.reference["steps"]
    failed = [i for i, said in enumerate(made.outcomes) if said != "success"]
    faults = list(_faults(task, trajectory))
    verdicts: dict[str, Verdict] = {}
    for reading in READINGS:
        found = align.trajectory(
            truth,
            made.steps,
            similar or align.exact(offered),
            reading=reading,
            failed=failed,
            tools=offered,
        )
        verdicts[reading] = _verdict(task, trajectory, made, found, faults)
    return verdicts


def calls(trajectory: Trajectory, offered: tuple[Tool, ...]) -> Made:
    """Return the calls that were executed; a reply without any makes no step, as published."""
    steps: list[dict[str, Any]] = []
    outcomes: list[outcome.Outcome] = []
    others: list[outcome.Outcome] = []
    for step in trajectory.steps:
        found = outcome.of(step, offered)
        n = len(step.results)
        others += found[n:]
        if n:
            listed = [{"name": c.name, "arguments": given(c.arguments)} for c in step.calls[:n]]
            steps.append({"calls": listed})
            outcomes += found[:n]
    return Made(steps, outcomes, others)


def given(arguments: str) -> Any:
    """Return arguments as they are compared: their JSON value, or the text that is none."""
    try:
        return codec.loads(codec.restore(arguments))
    except codec.BadJson:
        return arguments


# --- success ----------------------------------------------------------------------------


def _faults(task: Task, trajectory: Trajectory) -> Iterator[Label]:
    """Go through what is wrong with the final state and the answer, the most telling first."""
    reference = task.reference
    if not _wanted(task):
        return
    for told in state.check(reference.get("expects", {}), trajectory.state or {}):
        yield _label("state", "state", told)
    said = codec.restore(trajectory.answer)
    wrong = reply.check(said, reference.get("answers", ()), reference.get("rivals", ()))
    if wrong:
        cause: Cause = "wrong_answer" if said.strip() else "no_answer"
        yield _label(cause, "answer", "; ".join(wrong))


def _wanted(task: Task) -> bool:
    return bool(task.reference.get("expects") or task.reference.get("answers"))


def _label(cause: Cause, native: str, evidence: str) -> Label:
    return Label(cause=cause, native=native, evidence=codec.escape(evidence[:_SHOWN]))


def _verdict(
    task: Task, trajectory: Trajectory, made: Made, found: Mapping[str, Any], faults: list[Label]
) -> Verdict:
    parts = {name: float(found[name]) for name in MEASURES}
    average = sum(parts.values()) / len(parts)
    parts |= _counts(trajectory, made, found) | {"avg6": average, "alignment": average}
    labels = list(_labels(task, trajectory, made, found, faults))
    success = not faults if _wanted(task) else found["matched"] == found["total_gt_calls"]
    value = average
    if _wanted(task):
        value = float(success)
        parts["success"] = value
    if success:
        return Verdict(outcome="correct", value=value, parts=parts, labels=tuple(labels))
    first, *others = labels or [_label("missing_call", "missing", "calls of the reference lack")]
    primary = Label(cause=first.cause, native=first.native, evidence=first.evidence, primary=True)
    return Verdict(outcome="incorrect", value=value, parts=parts, labels=(primary, *others))


def _counts(trajectory: Trajectory, made: Made, found: Mapping[str, Any]) -> dict[str, float]:
    met = [*made.outcomes, *made.others]
    counts = {f"outcome:{name}": float(met.count(name)) for name in outcome.OUTCOMES}
    for (tool, said), n in _by_tool(made).items():
        counts[f"{TOOL}{said}:{tool}"] = float(n)
    counts |= {
        "n_truth": float(found["total_gt_calls"]),
        "n_made": float(found["total_pred_calls"]),
        "n_matched": float(found["matched"]),
        "n_steps": float(len(made.steps)),
        "n_replies": float(len(trajectory.steps)),
    }
    usage = trajectory.usage
    if usage != Usage():  # else nobody counted: files of others, endpoints that do not tell
        counts |= {"tokens_in": float(usage.input), "tokens_out": float(usage.output)}
    if trajectory.latency_s:
        counts["latency_s"] = trajectory.latency_s
    return counts


def missed(task: Task, attempt: Attempt) -> dict[str, Verdict]:
    """Return the verdict on a prediction that a file of others lacks: worth nothing, in `fair`.

    What was not run for any other reason has none.
    """
    if attempt.failure.cause != NO_PREDICTION.cause:
        return {}
    found = align.trajectory(task.reference["steps"], None, align.exact(), reading="fair")
    parts = {name: float(found[name]) for name in MEASURES}
    parts |= {"avg6": 0.0, "alignment": 0.0, MISSED: 1.0}
    parts |= {"n_truth": float(found["total_gt_calls"]), "n_made": 0.0, "n_matched": 0.0}
    label = Label(cause="no_answer", native="missing", evidence=NO_PREDICTION.message, primary=True)
    return {"fair": Verdict(outcome="incorrect", value=0.0, parts=parts, labels=(label,))}


def _by_tool(made: Made) -> Counter[tuple[str, outcome.Outcome]]:
    """Count executed calls by tool and outcome; tools that do not exist are taken together."""
    flat = [call["name"] for step in made.steps for call in step["calls"]]
    return Counter(
        (NO_TOOL if said == "unknown_tool" else name[:_SHOWN], said)
        for name, said in zip(flat, made.outcomes, strict=True)
    )


# --- why --------------------------------------------------------------------------------


def _labels(
    task: Task, trajectory: Trajectory, made: Made, found: Mapping[str, Any], faults: list[Label]
) -> Iterator[Label]:
    """Go through what went wrong: what ended the episode, then what decides, then the calls."""
    if trajectory.ending in _ENDINGS:
        cause, why = _ENDINGS[trajectory.ending]
        yield _label(cause, trajectory.ending, why)
    yield from faults
    yield from _lacking(task.reference["steps"], made, found)
    flat = [call for step in made.steps for call in step["calls"]]
    for call, said in zip(flat, made.outcomes, strict=True):
        if said != "success":
            yield _label(_CAUSES[said], said, f"{call['name']}: {outcome.OUTCOMES[said]}")
    for said in dict.fromkeys(made.others):
        yield _label(_CAUSES[said], said, outcome.OUTCOMES[said])


def _lacking(
    truth: Sequence[Mapping[str, Any]], made: Made, found: Mapping[str, Any]
) -> Iterator[Label]:
    """Name the calls of the reference that nothing matches: not made, or with other arguments."""
    hit = {pair[0] for pair in found["matches"]}
    used = {pair[1] for pair in found["matches"]}
    flat = [call for step in made.steps for call in step["calls"]]
    spare = [call["name"] for at, call in enumerate(flat) if at not in used]
    wanted = [call for step in truth for call in step["calls"]]
    for at, call in enumerate(wanted):
        if at in hit:
            continue
        told = f"{call['name']}({align.text(call['arguments'])})"
        if call["name"] in spare:
            spare.remove(call["name"])
            yield _label("wrong_value", "arguments", f"no call like {told}")
        else:
            yield _label("missing_call", "missing", told)


# --- the encoder ------------------------------------------------------------------------


def check(similarity: str, *, flag: str = "-T similarity=") -> None:
    """Raise UsageError, before anything is asked, where judging would lack its encoder."""
    if similarity == EXACT:
        return
    try:
        encoder.load(similarity)
    except UsageError as error:
        raise UsageError(f"{error}; or {flag}{EXACT}, which needs none") from None


def gather(run: Run) -> Scoring:
    """Encode every call of a run at once, and look up what judge models said of its episodes.

    Returns the scoring that knows how alike calls are, and adds the judged parts and averages.
    """
    wanted: dict[str, dict[str, None]] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        name = task.reference["similarity"]
        if name == EXACT:
            continue
        offered = trajectory.tools or task.tools
        texts = wanted.setdefault(name, {})
        for step in (*task.reference["steps"], *calls(trajectory, offered).steps):
            texts.update(dict.fromkeys(align.texts(step, offered)))
    rows = {}
    for name, asked in wanted.items():
        rows[name] = dict(zip(asked, encoder.load(name)(list(asked)), strict=True))
    return partial(_judged, partial(_known, rows), panel.judged(run, READINGS))


def _judged(
    scoring: Scoring,
    known: Mapping[tuple[str, int], Mapping[str, panel.Parts]],
    task: Task,
    trajectory: Trajectory,
) -> dict[str, Verdict]:
    """Add what judges said for each reading, and the averages that take it in."""
    verdicts = dict(scoring(task, trajectory))
    judged = known.get((task.id, trajectory.repeat), {})
    for reading, verdict in verdicts.items():
        said = judged.get(reading, {})
        parts = {**verdict.parts, **said}
        for average, more in AVERAGED.items():
            if all(name in said for name in more):
                parts[average] = sum(parts[name] for name in (*MEASURES, *more)) / (
                    len(MEASURES) + len(more)
                )
        verdicts[reading] = replace(verdict, parts=parts)
    return verdicts


def _known(
    rows: Mapping[str, Mapping[str, NDArray[Any]]], task: Task, trajectory: Trajectory
) -> dict[str, Verdict]:
    found = rows.get(task.reference["similarity"])
    if found is None:
        return score(task, trajectory)

    def similar(one: Sequence[str], other: Sequence[str]) -> NDArray[Any]:
        left, right = (np.stack([found[text] for text in texts]) for texts in (one, other))
        return align.cosine(left, right)

    return score(task, trajectory, similar)
