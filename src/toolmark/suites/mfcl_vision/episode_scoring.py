"""Scoring of vision episodes: whether the answer is accepted, and the failure mode (B3, B4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.records import Cause, Ending, Label, Task, Trajectory, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.formats.native_format import NativeFormat
from toolmark.perturb.image import reshaping
from toolmark.runs.suite import ScoreFunction
from toolmark.scoring.episode import Episode
from toolmark.suites.mfcl_vision import failure_modes, final_answer, query_words
from toolmark.suites.mfcl_vision.episode_actions import EpisodeActions, extract_actions
from toolmark.suites.mfcl_vision.item_records import BASE_VARIATION, ItemTruth

if TYPE_CHECKING:
    from toolmark.runs.run_store import Run

RULES = ("paper", "fair")
MODE_PREFIX = "mode:"
"""Prefix of a part's name: 1 for the mode that an error shows, whatever its cause."""

BARS_PART = "bars"
"""A part: 1 if the picture was padded with bars, because a crop would have removed a sign."""

_MAX_QUOTED_CHARS = 200

BaseErrors = Mapping[tuple[str, int, str], str]
"""Errors on the undamaged picture, by item, repeat and rule; values are `error_signature`."""

_MATCHERS = {
    "paper": final_answer.is_right_by_paper_rule,
    "fair": final_answer.is_right_by_fair_rule,
}
_CAUSE_BY_ENDING: dict[Ending, Cause] = {
    "steps": "over_limit",
    "calls": "over_limit",
    "length": "over_limit",
    "refused": "refused",
    "malformed": "format",
    "over_long": "over_long",
}
_CAUSE_BY_MESSAGE_KIND: dict[final_answer.MessageKind, tuple[Cause, str]] = {
    "answer": ("wrong_answer", "answered"),
    "asks": ("clarification", "asked again:"),
}
_DECISIVE_ENDINGS = ("length", "refused", "malformed", "over_long")
"""Endings that hide what the model was doing; reaching a limit of steps or calls does not."""


class EpisodeCase(NamedTuple):
    """An episode with everything that its scoring uses."""

    task: Task
    trajectory: Trajectory
    truth: ItemTruth
    actions: EpisodeActions


def score_episode(episode: Episode, controls: BaseErrors | None = None) -> dict[str, Verdict]:
    """Score one episode; `controls` are the errors on the paired undamaged pictures."""
    task, trajectory = episode.task, episode.trajectory
    case = EpisodeCase(
        task, trajectory, read_task_data(task, ItemTruth), extract_actions(trajectory)
    )
    parts = _episode_parts(case)
    found: dict[str, Verdict] = {}
    for rule in RULES:
        if is_right(case, rule):
            found[rule] = Verdict(outcome="correct", value=1.0, parts=parts)
            continue
        own_labels = _failure_labels(case, rule)
        failure_parts = parts | {f"{MODE_PREFIX}{own_labels[0].suite_cause}": 1.0}
        base_error = (controls or {}).get((task.item, trajectory.repeat, rule), "")
        labels = _compare_with_base(
            own_labels, base_error if case.truth.variation != BASE_VARIATION else ""
        )
        found[rule] = Verdict(outcome="incorrect", value=0.0, parts=failure_parts, labels=labels)
    return found


def is_right(case: EpisodeCase, rule: str) -> bool:
    """Tell whether the answer is accepted under a grading rule, whatever its form."""
    return _MATCHERS[rule](case.actions.final_message.answer, case.truth.answers)


def _failure_labels(case: EpisodeCase, rule: str) -> tuple[Label, ...]:
    """Return what went wrong; the first label is primary.

    An ending in `_DECISIVE_ENDINGS`, or a last reply that could not be read, comes before the
    failure modes. Any other ending comes after them. An answer that is right except for its form
    has only the label `form`.
    """
    if _is_right_but_for_form(case, rule):
        evidence = (
            f"right but for its form: {case.actions.final_message.answer[:_MAX_QUOTED_CHARS]!r}"
        )
        return (_make_label("format", failure_modes.FORM_MODE, evidence, primary=True),)
    found = failure_modes.find_modes(case.truth, case.actions)
    failed_calls, ended = [*_failed_call_labels(case)], _ending_label(case)
    if case.trajectory.ending in _DECISIVE_ENDINGS or _last_fault(case):
        primary, *further = ended, *found, *failed_calls
    elif failed_calls and not case.actions.queries:
        primary, *further = *failed_calls, *found, ended
    elif found:
        ending_label = (
            replace(ended, suite_cause="")
            if ended.suite_cause == failure_modes.UNEXPLAINED_MODE
            else ended
        )
        primary, *further = *found, *failed_calls, ending_label
    else:
        primary, *further = ended, *failed_calls
    return replace(primary, primary=True), *further


def _is_right_but_for_form(case: EpisodeCase, rule: str) -> bool:
    """Tell whether an answer is right except for its spelling or for the words around it."""
    final = case.actions.final_message
    if final.kind != "answer" or case.trajectory.ending != "answered" or _last_fault(case):
        return False
    others = [mark.answer for mark in case.truth.marks if mark.answer not in case.truth.answers]
    if rule == "paper" and is_right(case, "fair"):
        return True
    accepted = case.truth.answers
    return final_answer.contains_accepted_answer(
        final.answer, accepted
    ) and not final_answer.contains_accepted_answer(final.answer, others)


def _last_fault(case: EpisodeCase) -> str:
    return case.trajectory.steps[-1].fault if case.trajectory.steps else ""


def _failed_call_labels(case: EpisodeCase) -> Iterator[Label]:
    """Yield a label for calls that failed, if there are any."""
    if failed_calls := case.actions.failed_calls:
        more = f", and {len(failed_calls) - 1} more" if len(failed_calls) > 1 else ""
        yield _make_label(
            "format",
            failure_modes.FORM_MODE,
            f"a call that could not be made: {failed_calls[0]}{more}",
        )


def _ending_label(case: EpisodeCase) -> Label:
    """Return how the episode ended, with its answer or fault."""
    final, ending = case.actions.final_message, case.trajectory.ending
    if ending in _CAUSE_BY_ENDING:
        verb = f"the episode ended by force: {ending}"
        return _make_label(_CAUSE_BY_ENDING[ending], failure_modes.FORCED_MODE, verb)
    if fault := _last_fault(case):
        return _make_label(
            "format",
            failure_modes.FORM_MODE,
            f"the last reply could not be read: {fault[:_MAX_QUOTED_CHARS]}",
        )
    cause, verb = _CAUSE_BY_MESSAGE_KIND.get(final.kind, ("no_answer", "said"))
    evidence = (
        f"{verb} {final.answer[:_MAX_QUOTED_CHARS]!r}"
        if final.answer
        else "the last reply holds no answer"
    )
    return _make_label(cause, failure_modes.UNEXPLAINED_MODE, evidence)


def _make_label(cause: Cause, suite_cause: str, evidence: str, *, primary: bool = False) -> Label:
    return Label(
        cause=cause,
        suite_cause=suite_cause,
        evidence=json_codec.escape_surrogates(evidence),
        primary=primary,
    )


def _compare_with_base(own_labels: tuple[Label, ...], base_error: str) -> tuple[Label, ...]:
    """Put `other` first if the error on the undamaged picture is the same."""
    primary, *further = own_labels
    if not base_error or error_signature(primary) != base_error:
        return own_labels
    name = failure_modes.MODE_LABELS.get(primary.suite_cause, primary.suite_cause)
    evidence = f"the same error on the undamaged picture: {name}, {primary.evidence}"
    base_label = Label(
        cause=primary.cause, suite_cause=failure_modes.OTHER_MODE, evidence=evidence, primary=True
    )
    return base_label, replace(primary, primary=False), *further


def error_signature(label: Label) -> str:
    """Return the kind of an error: its mode; for labels that are not a mode, with the cause too."""
    return (
        label.suite_cause
        if label.suite_cause in failure_modes.MODE_LABELS
        else f"{label.suite_cause} {label.cause}"
    )


def _episode_parts(case: EpisodeCase) -> dict[str, float]:
    """Return counts and flags of the episode's actions; word shares only if there are queries."""
    actions = case.actions
    declined = actions.final_message.kind in ("unknown", "unanswerable")
    refused = case.trajectory.ending == "refused" or (declined and not is_right(case, "fair"))
    parts = {
        "searched": float(bool(actions.queries)),
        "queries": float(len(actions.queries)),
        "fetched": float(len(actions.opened_pages)),
        "steps": float(actions.n_steps),
        "refused": float(refused),
        "asked_back": float(actions.asked_back),
        "lookalikes": float(sum(mark.role == "lookalike" for mark in case.truth.marks)),
        BARS_PART: float(reshaping.BARS_NOTE in str(case.truth.settings.get("note", ""))),
        "prompted": float(case.trajectory.tool_format != NativeFormat.name),
    }
    counts = [
        Counter(source for _, source in origins)
        for _, origins in failure_modes.query_word_origins(case.truth, actions)
    ]
    return parts | {
        f"from_{name}": share for name, share in query_words.origin_shares(counts).items()
    }


def make_scoring(run: Run) -> ScoreFunction:
    """Return the score function that knows the same model's errors on undamaged pictures."""
    controls: dict[tuple[str, int, str], str] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if task.variation is None and task.axes.get("variation") == BASE_VARIATION:
            for rule, verdict in score_episode(Episode(task, trajectory)).items():
                if verdict.labels:
                    key = task.item, trajectory.repeat, rule
                    controls[key] = error_signature(verdict.labels[0])
    return partial(score_episode, controls=controls)
