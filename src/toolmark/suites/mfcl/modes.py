"""Failure modes of speech episodes, by rules on what was said, heard and called (A7).

| mode | what is seen |
|---|---|
| FM1 intent blending | a called value stems from the interfering speech, not from the user |
| FM2 premature execution | what is missing was said after the sound was cut, or last of all |
| FM3 parameter distortion | the right tool, a value that sounds like the right one |
| FM4 clarification misfire | it asked for something that is not on the whitelist |
| FM5 conversational drift | no call where one is due, and no question either |
| FM6 named-entity error | a proper noun is wrong, and was never confirmed |

Precedence of the primary mode: FM4, FM5, FM1, FM2, FM6, FM3. An error that the same model makes on
the written text too is `other`, as is one that no rule explains: perception is not its cause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from toolmark import codec
from toolmark.suites.bfcl import execution
from toolmark.types import Cause, Label, Task, Trajectory

OTHER = "other"
MODES: dict[str, str] = {
    "FM1": "intent blending",
    "FM2": "premature execution",
    "FM3": "parameter distortion",
    "FM4": "clarification misfire",
    "FM5": "conversational drift",
    "FM6": "named-entity error",
}
_CAUSES: dict[str, Cause] = {
    "FM1": "perception", "FM2": "perception", "FM3": "perception", "FM4": "clarification",
    "FM5": "drift", "FM6": "perception",
}  # fmt: skip
_ASKED = ("absent", "ambiguous", "preference")  # why the rules refuse what is a question
_ALIKE = 0.5  # of the letters, in order: fifteen / fifty 0.67, boston / austin 0.67
_LATE = 0.6  # of the words: what is said after these is said late
_SHOWN = 160
_WORDS = re.compile(r"[a-z0-9]+")


class Wrong(NamedTuple):
    """An argument of the truth that no call has right: accepted values, and what came instead."""

    turn: int
    tool: str
    parameter: str
    accepted: tuple[Any, ...]
    given: Any
    called: bool
    """Whether its tool was called at all."""


def found(task: Task, trajectory: Trajectory) -> list[Label]:
    """Return the modes of a failed episode, in the order of precedence; none where no rule holds.

    Pure. Each label's evidence names the value, the words, or the question.
    """
    if task.reference["bfcl"] is None:  # no call is due, or any: only what was asked can be wrong
        return [label for label in (_misfire(trajectory),) if label]
    wrong = list(_wrong(task, trajectory))
    labels = (
        _misfire(trajectory),
        _drift(task, trajectory),
        _blending(task, trajectory),
        _premature(task, wrong),
        _entity(task, trajectory, wrong),
        _distorted(task, wrong),
    )
    return [label for label in labels if label]


def _label(mode: str, evidence: str) -> Label:
    return Label(cause=_CAUSES[mode], native=mode, evidence=codec.escape(evidence[:400]))


# --- what was asked ---------------------------------------------------------------------


def _misfire(trajectory: Trajectory) -> Label | None:
    for step in trajectory.steps:
        ruling = step.ruling
        if ruling and not ruling.allowed and (ruling.reason in _ASKED or "?" in step.reply.text):
            asked = ", ".join(ruling.topics) or "nothing on the whitelist"
            return _label("FM4", f"asked for {asked} ({ruling.reason}): {step.reply.text[:_SHOWN]}")
    return None


def _drift(task: Task, trajectory: Trajectory) -> Label | None:
    """Find a turn in which a call is due and none was made, only words."""
    due = [turn for turn, calls in enumerate(_truth(task)) if calls]
    for turn in due:
        steps = [step for step in trajectory.steps if step.turn == turn]
        if steps and not any(step.calls for step in steps) and "?" not in steps[-1].reply.text:
            return _label("FM5", f"turn {turn + 1}: no call, but: {steps[-1].reply.text[:_SHOWN]}")
    return None


# --- what was heard ---------------------------------------------------------------------


def _blending(task: Task, trajectory: Trajectory) -> Label | None:
    for turn, heard in enumerate(_heard(task)):
        others = " ".join(
            str(effect.get("detail", {}).get("text", ""))
            for effect in heard.get("timeline", ())
            if effect.get("module") == "talkers"
        )
        strange = set(_words(others)) - set(_words(task.reference["written"][turn]))
        if not strange:
            continue
        right = {word for call in _truth(task)[turn] for v in call[1].values() for word in _told(v)}
        for name, given in _made(trajectory, turn):
            for parameter, value in given.items():
                taken = [w for w in _told((value,)) if w in strange and w not in right]
                if taken:
                    told = f"{name}.{parameter} = {_show(value)}: from the other speaker"
                    return _label("FM1", f"{told}, who says: {others[:_SHOWN]}")
    return None


def _premature(task: Task, wrong: Sequence[Wrong]) -> Label | None:
    """Find a value that is missing, and said after a cut or at the end of a disturbed turn."""
    for fault in wrong:
        if fault.given is not None:
            continue
        heard = _heard(task)[fault.turn]
        said = _words(heard.get("said") or task.reference["written"][fault.turn])
        place = max((_place(said, str(value)) for value in fault.accepted), default=-1.0)
        cut = _cut(heard)
        if place >= 0 and cut is not None and place >= cut:
            share = f"{100 * cut:.0f} % of the turn"
            what = f"{fault.tool}.{fault.parameter}"
            return _label("FM2", f"{what} was said after the sound was cut, at {share}")
        if place >= _LATE and _shaken(heard, place):
            what = f"{fault.tool}.{fault.parameter}"
            return _label("FM2", f"{what} was said late, after a loud event: it was not waited for")
    return None


def _cut(heard: Mapping[str, Any]) -> float | None:
    """Return the share of the turn that was left when its tail was cut off; None if it was not."""
    for effect in heard.get("timeline", ()):
        if effect.get("name") == "tail":
            left, cut = float(effect["end_s"]), float(effect.get("detail", {}).get("cut_s", 0))
            return left / (left + cut) if cut else None
    return None


def _shaken(heard: Mapping[str, Any], place: float) -> bool:
    """Tell whether a sudden event came before this place in the turn."""
    seconds = float(heard.get("seconds") or 0)
    return any(
        effect.get("name") == "event" and seconds
        and float(effect["start_s"]) / seconds <= place
        for effect in heard.get("timeline", ())
    )  # fmt: skip


def _entity(task: Task, trajectory: Trajectory, wrong: Sequence[Wrong]) -> Label | None:
    confirmed = {
        topic
        for step in trajectory.steps
        if step.ruling and step.ruling.allowed
        for topic in step.ruling.topics
    }
    for fault in wrong:
        names = [v for v in fault.accepted if _proper(v, task.reference["written"][fault.turn])]
        if names and fault.given is not None and fault.parameter not in confirmed:
            told = f"{fault.tool}.{fault.parameter} = {_show(fault.given)}, said was {names[0]!r}"
            return _label("FM6", f"{told}, and it did not ask")
    return None


def _distorted(task: Task, wrong: Sequence[Wrong]) -> Label | None:
    for fault in wrong:
        if fault.given is None or not fault.called:
            continue
        told = f"{fault.tool}.{fault.parameter} = {_show(fault.given)}, said was "
        told += " or ".join(map(_show, fault.accepted[:3]))
        transcript = str(_heard(task)[fault.turn].get("transcript") or "")
        in_it = set(_told((fault.given,))) <= set(_words(transcript))
        if transcript and in_it and not any(_in(v, transcript) for v in fault.accepted):
            return _label("FM3", f"{told}; the transcript says so")
        if any(_near(fault.given, value) for value in fault.accepted):
            return _label("FM3", f"{told}; they sound alike")
    return None


# --- truth and calls --------------------------------------------------------------------

Wanted = list[tuple[str, dict[str, tuple[Any, ...]]]]


def _truth(task: Task) -> list[Wanted]:
    """Return the calls of the truth by turn: tool, and accepted values by parameter."""
    truth = task.reference["bfcl"]["truth"]
    if len(task.turns) == 1:
        calls = [
            (name, {key: tuple(v for v in values if v != "") for key, values in given.items()})
            for call in truth
            for name, given in call.items()
        ]
        return [calls]
    turns: list[Wanted] = []
    names = {tool.name: list(tool.parameters.get("properties", {})) for tool in _tools(task)}
    for sources in truth:
        acts = [execution.truth(source, names) for source in sources]
        turns.append([(act.name, {k: (v,) for k, v in act.arguments.items()}) for act in acts])
    return turns


def _tools(task: Task) -> Iterator[Any]:
    yield from task.tools
    for turn in task.turns:
        yield from turn.tools


def _made(trajectory: Trajectory, turn: int) -> list[tuple[str, dict[str, Any]]]:
    made = []
    for step in trajectory.steps:
        if step.turn != turn:
            continue
        for call in step.calls:
            try:
                given = codec.loads(codec.restore(call.arguments))
            except codec.BadJson:
                given = {}
            made.append((codec.restore(call.name), given if isinstance(given, dict) else {}))
    return made


def _wrong(task: Task, trajectory: Trajectory) -> Iterator[Wrong]:
    """Go through the arguments of the truth that the nearest call of their tool has not right."""
    for turn, wanted in enumerate(_truth(task)):
        left = _made(trajectory, turn)
        for name, given in wanted:
            alike = [call for call in left if _same_tool(call[0], name)]
            best = max(alike, key=lambda call, g=given: _score(call[1], g), default=None)  # type: ignore[misc]
            if best is not None:
                left.remove(best)
            for parameter, accepted in given.items():
                value = None if best is None else best[1].get(parameter)
                if accepted and not any(_equal(value, each) for each in accepted):
                    yield Wrong(turn, name, parameter, accepted, value, best is not None)


def _same_tool(one: str, other: str) -> bool:
    return one.replace(".", "_") == other.replace(".", "_")


def _score(given: Mapping[str, Any], wanted: Mapping[str, tuple[Any, ...]]) -> int:
    return sum(any(_equal(given.get(k), v) for v in values) for k, values in wanted.items())


def _heard(task: Task) -> list[Mapping[str, Any]]:
    turns = task.reference.get("speech", {}).get("turns", [])
    return turns or [{} for _ in task.turns]


# --- words ------------------------------------------------------------------------------


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.casefold())


def _told(values: Sequence[Any]) -> list[str]:
    """Return the words of values, of nested ones too."""
    return _words(" ".join(v if isinstance(v, str) else json.dumps(v, default=str) for v in values))


def _show(value: Any) -> str:
    return repr(value)[:_SHOWN]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return _told((one,)) == _told((other,)) and one is not None


def _in(value: Any, text: str) -> bool:
    return f" {' '.join(_told((value,)))} " in f" {' '.join(_words(text))} "


def _near(one: Any, other: Any) -> bool:
    """Tell whether two values may sound alike: by their digits, or by their letters."""
    left, right = (" ".join(_told((value,))) for value in (one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return _number(left, right)
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= _ALIKE


def _number(one: str, other: str) -> bool:
    """Tell whether numbers are confused in speech: teens and tens, a digit more, less or other."""
    if {one, other} in [{f"{n}0", f"1{n}"} for n in range(3, 10)]:
        return True
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    shared = sum(block.size for block in blocks)
    return max(len(one), len(other)) - shared <= 1 < max(len(one), len(other))


def _proper(value: Any, written: str) -> bool:
    """Tell whether a value is a proper noun: the user writes it with capitals, not at the start."""
    if not isinstance(value, str) or not value or not any(c.isalpha() for c in value):
        return False
    at = written.casefold().find(value.casefold())
    own = written[at : at + len(value)] if at > 0 else value
    return all(word[:1].isupper() for word in own.split() if word[:1].isalpha() and len(word) > 3)


def _place(said: Sequence[str], value: str) -> float:
    """Return where in the words a value ends, as a share of them; -1 where it is not said."""
    wanted = _words(value)
    for at in range(len(said) - len(wanted), -1, -1):
        if wanted and list(said[at : at + len(wanted)]) == wanted:
            return (at + len(wanted)) / len(said)
    return -1.0
