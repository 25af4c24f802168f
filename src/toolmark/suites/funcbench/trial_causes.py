"""Why a trial failed: the first divergence that was never repaired; apart from how it ended.

A divergence is a bad call of a needed function, or of one that does not exist. A later call of the
same function that gets further repairs it: a well-formed call repairs an ill-formed one, a call
with known values one that was too early, true values any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Cause, Label, Task, Trajectory
from toolmark.suites.funcbench.call_classes import CallClass, JudgedCall, cause_label

TrialEnding: TypeAlias = Literal[
    "answer", "no answer", "cut short", "call limit", "step limit", "refused", "malformed reply",
    "context full",
]  # fmt: skip
Recovery: TypeAlias = Literal["nothing to repair", "all repaired", "some repaired", "none repaired"]
RECOVERIES: tuple[Recovery, ...] = get_args(Recovery)
_CLASS_RANKS = {name: rank for rank, name in enumerate(get_args(CallClass))}
_CALL_CAUSES: dict[str, Cause] = {
    "not_found": "unknown_tool",
    "not_known": "value_not_known",
    "incorrect": "wrong_value",
    "wrong_branch": "wrong_tool",
    "unreadable": "format",
    "missing": "missing_argument",
    "unexpected": "unexpected_argument",
    "ill_typed": "wrong_type",
}
_STOPS: dict[TrialEnding, tuple[Cause, str]] = {
    "cut short": ("no_answer", "cut short"),
    "step limit": ("over_limit", "step limit"),
    "refused": ("refused", "refused"),
    "malformed reply": ("format", "malformed reply"),
    "context full": ("over_long", "context full"),
}
_WASTE_LABELS = {
    "repeated": "calls spent on repeats",
    "irrelevant": "calls spent on irrelevant functions",
    "bad": "calls spent on errors that were repaired",
}
_MAX_SHOWN_CHARS = 120


class Divergence(Struct, frozen=True):
    """A bad call that mattered; `is_repaired` where a later call made good for it."""

    judged: JudgedCall
    is_repaired: bool


class Trial(Struct, frozen=True, kw_only=True):
    """What is known of a played trial; `stated_value` is the parsed answer, "" for none.

    `is_derived`: the target was computed from true inputs.
    """

    task: Task
    trajectory: Trajectory
    calls: Sequence[JudgedCall]
    stated_value: str
    is_derived: bool

    @property
    def ending(self) -> TrialEnding:
        """How the trial ended, whatever went wrong before."""
        max_calls = self.task.limits.calls
        if max_calls is not None and len(self.calls) > max_calls:
            return "call limit"
        match self.trajectory.ending:
            case "calls":
                return "call limit"
            case "steps":
                return "step limit"
            case "refused":
                return "refused"
            case "malformed":
                return "malformed reply"
            case "over_long":
                return "context full"
            case "length" if not self.stated_value:
                return "cut short"
        return "answer" if self.stated_value else "no answer"


def find_divergences(calls: Sequence[JudgedCall]) -> list[Divergence]:
    """Return the bad calls that mattered, in order, each with whether it was repaired."""
    found: list[Divergence] = []
    computed: set[str] = set()
    for at, judged in enumerate(calls):
        if judged.has_true_inputs:
            computed.update([judged.variable] if judged.computes_output else [])
            continue
        if judged.node is None:
            found.append(Divergence(judged, _makes_progress_after(calls, at, computed)))
        elif judged.is_core and (judged.variable not in computed or _is_value_used(calls, at)):
            found.append(Divergence(judged, _is_called_better_after(calls, at)))
    return found


def _is_called_better_after(calls: Sequence[JudgedCall], at: int) -> bool:
    """Tell whether a later call of the same function gets further."""
    return any(
        _class_rank(later) > _class_rank(calls[at])
        for later in calls[at + 1 :]
        if later.variable == calls[at].variable
    )


def _class_rank(judged: JudgedCall) -> int:
    return _CLASS_RANKS["correct" if judged.has_true_inputs else judged.call_class]


def _makes_progress_after(calls: Sequence[JudgedCall], at: int, computed: set[str]) -> bool:
    """Tell whether a later step computes something that is needed and was not yet computed."""
    return any(
        later.is_core and later.has_true_inputs and later.variable not in computed
        for later in calls[at + 1 :]
        if later.step > calls[at].step
    )


def _is_value_used(calls: Sequence[JudgedCall], at: int) -> bool:
    """Tell whether a later call passes the wrong value that this call returned."""
    value, node = calls[at].returned, calls[at].node
    return any(
        wrong.value == value and node is not None and wrong.variable == node.output.name
        for later in calls[at + 1 :]
        for wrong in later.wrong_arguments
    )


def name_recovery(divergences: Sequence[Divergence]) -> Recovery:
    """Return how much of what went wrong was repaired."""
    n_repaired = sum(each.is_repaired for each in divergences)
    if not divergences:
        return "nothing to repair"
    if n_repaired == len(divergences):
        return "all repaired"
    return "some repaired" if n_repaired else "none repaired"


def failure_labels(trial: Trial, divergences: Sequence[Divergence]) -> tuple[Label, ...]:
    """Return the labels of a failed trial: the primary one, then the first bad call per class."""
    primary = _primary_label(trial, divergences)
    labels = [primary]
    labelled = {"", primary.suite_cause}
    for judged in trial.calls:
        name = cause_label(judged)
        if name not in labelled:
            labelled.add(name)
            labels.append(_call_label(judged))
    return tuple(labels)


def _primary_label(trial: Trial, divergences: Sequence[Divergence]) -> Label:
    if trial.is_derived:
        return _label_after_target(trial)
    lasting = next((each for each in divergences if not each.is_repaired), None)
    if lasting is not None:
        return _call_label(lasting.judged, primary=True)
    ending = trial.ending
    if ending == "call limit":
        return _waste_label(trial)
    if ending in _STOPS:
        return _stop_label(trial, ending)
    said = (
        f"said {trial.stated_value}" if trial.stated_value else _shown_text(trial.trajectory.answer)
    )
    how = "stopped before the target" if trial.calls else "no call made"
    return _make_primary_label("missing_call", how, said)


def _label_after_target(trial: Trial) -> Label:
    """Return why a trial failed in which the target was computed."""
    ending = trial.ending
    match ending:
        case "answer":
            return _make_primary_label(
                "wrong_answer",
                "target computed, other value stated",
                f"said {trial.stated_value}",
            )
        case "no answer":
            return _make_primary_label(
                "no_answer",
                "target computed, no value stated",
                _shown_text(trial.trajectory.answer),
            )
        case "call limit":
            return _make_primary_label(
                "extra_call",
                "went on after the target",
                f"no answer within {trial.task.limits.calls} calls",
            )
        case _:
            return _stop_label(trial, ending)


def _stop_label(trial: Trial, ending: TrialEnding) -> Label:
    cause, name = _STOPS[ending]
    return _make_primary_label(cause, name, f"reply {len(trial.trajectory.steps)}")


def _waste_label(trial: Trial) -> Label:
    """Return what the calls went into that were not needed: the largest kind, its first call."""
    kinds = [(_waste_kind(judged), judged) for judged in trial.calls]
    counts = Counter(kind for kind, _ in kinds if kind)
    if not counts:
        return _make_primary_label("over_limit", "call limit", f"{len(trial.calls)} calls")
    kind, n = counts.most_common(1)[0]
    first = next(judged for each, judged in kinds if each == kind)
    evidence = f"{n} of {len(trial.calls)} calls; first: {_call_text(first)}"
    return _make_primary_label("extra_call", _WASTE_LABELS[kind], evidence)


def _waste_kind(judged: JudgedCall) -> str:
    if judged.is_repeat:
        return "repeated"
    if judged.node is not None and not judged.is_core:
        return "irrelevant"
    return "" if judged.has_true_inputs else "bad"


def _make_primary_label(cause: Cause, suite_cause: str, evidence: str) -> Label:
    return Label(cause=cause, suite_cause=suite_cause, evidence=evidence, primary=True)


def _call_label(judged: JudgedCall, *, primary: bool = False) -> Label:
    cause = _CALL_CAUSES[judged.fault_kind or judged.call_class]
    origins = "; ".join(argument.text for argument in judged.wrong_arguments)
    evidence = f"{_call_text(judged)}: {judged.reason}{f' ({origins})' if origins else ''}"
    return Label(cause=cause, suite_cause=cause_label(judged), evidence=evidence, primary=primary)


def _call_text(judged: JudgedCall) -> str:
    shown = _shown_text(f"{judged.call.name}({judged.call.arguments})")
    return f"step {judged.step}, call {judged.number}: {shown}"


def _shown_text(text: str) -> str:
    return escape_surrogates(
        text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "..."
    )
