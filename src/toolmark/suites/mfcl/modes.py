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
the written text too, in the same turn, tool and parameter, is `other`: perception is not its cause.
One that no rule explains is `unexplained`.

A question counts only in a turn that lacks a due call or value for it: where a parameter or a tool
is missing, asking is right. A wish or a next step that is asked after a call is no misfire.
To ask for all of it again is FM4, since a user confirms single values only; to say that nothing
fits or can be done is FM5, whatever the sound was like: a listener who is lost may ask.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher
from typing import Any

from toolmark import codec
from toolmark.perturb.text import numerals, survive
from toolmark.suites.mfcl import clarify, faults, phrases, words
from toolmark.suites.mfcl.faults import Wrong
from toolmark.suites.mfcl.lexicon import ASKING
from toolmark.types import Cause, Label, Ruling, Step, Task, Text, Trajectory

OTHER = "other"
UNEXPLAINED = "unexplained"
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
_ASKED = ("absent", "ambiguous", "preference")  # why a question is refused
_CLOSING = re.compile(
    r"\b(?:anything else|something else|what else|how (?:can|may|else|could) (?:i|we)|"
    r"(?:can|may|could) (?:i|we) (?:help|assist)|help you with)\b"
)
_ALIKE = 0.6  # of the letters, in order: boston / austin 0.67, red / green 0.5
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_ALIKE_SAID = (  # number words that are taken for each other
    {"two", "twelve", "twenty"}, {"three", "thirteen", "thirty"}, {"four", "fourteen", "forty"},
    {"five", "fifteen", "fifty", "nine", "nineteen", "ninety"}, {"six", "sixteen", "sixty"},
    {"seven", "seventeen", "seventy"}, {"eight", "eighteen", "eighty"},
)  # fmt: skip
_GAP = re.compile(r"\W+")
_ENDED = re.compile(r"[.!?:]\s|\n")
_LATE = 0.6  # of what is said: what ends after this is said late
_SLACK = 0.1  # by which a place in the text may miss its place in the sound
_SHOWN = 160
_SMALL = {word for word in ASKING if word.isalpha()} | {
    "de", "el", "la", "le", "los", "us", "usa", "his", "her", "him", "she", "he", "they", "me",
    "my", "our", "new", "some", "no",
}  # fmt: skip
_DAYS = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", *words.MONTHS
}  # fmt: skip


def found(
    task: Task, trajectory: Trajectory, known: Set[faults.Place] = frozenset()
) -> list[Label]:
    """Return the modes of a failed episode, in the order of precedence; none where no rule holds.

    Pure. `known` are the places in which the written text went wrong too: they are passed over.
    Each label's evidence names the value, the words, or the question.
    """
    wrong = [fault for fault in faults.wrong(task, trajectory) if fault.place not in known]
    lacking = _lacking(task, trajectory, wrong, known)
    labels = (
        _misfire(task, trajectory, lacking),
        _drift(task, trajectory, lacking),
        _blending(task, trajectory),
        _premature(task, trajectory, wrong),
        _entity(task, trajectory, wrong),
        _distorted(task, wrong),
    )
    return [label for label in labels if label]


def _label(mode: str, evidence: str) -> Label:
    return Label(cause=_CAUSES[mode], native=mode, evidence=codec.escape(evidence[:400]))


# --- what was asked ---------------------------------------------------------------------


def _misfire(task: Task, trajectory: Trajectory, lacking: Sequence[int]) -> Label | None:
    """Find a question that the user does not answer, in a turn that lacks something for it."""
    for turn in lacking:
        called = faults.made(trajectory, turn)
        for step in _steps(trajectory, turn):
            ruling = _ruling(task, step)
            if ruling is None or ruling.allowed or not asks(step, ruling):
                continue
            if not called or ruling.reason != "preference":
                asked = ", ".join(ruling.topics) or "nothing on the whitelist"
                told = f"asked for {asked} ({ruling.reason}): {_cut(step.reply.text)}"
                return _label("FM4", told)
    return None


def _drift(task: Task, trajectory: Trajectory, lacking: Sequence[int]) -> Label | None:
    """Find a turn in which a call is due and none was made, only words."""
    for turn in lacking:
        steps = _steps(trajectory, turn)
        if not steps or any(step.calls for step in steps):
            continue
        ruling = _ruling(task, steps[-1])
        if ruling is None or not (ruling.allowed or asks(steps[-1], ruling)):
            return _label("FM5", f"turn {turn + 1}: no call, but: {_cut(steps[-1].reply.text)}")
    return None


def _lacking(
    task: Task, trajectory: Trajectory, wrong: Sequence[Wrong], known: Set[faults.Place]
) -> list[int]:
    """Return the turns that lack a call or a value; of relevance any call is due."""
    if task.reference["bfcl"] is None:
        due = [] if "irrelevance" in task.category else range(len(task.turns))
        return [turn for turn in due if not faults.made(trajectory, turn)]
    places = faults.places(task, trajectory) - known
    turns = {turn for turn, _, path in places if not path}
    return sorted(turns | {fault.turn for fault in wrong if fault.given is None})


def _steps(trajectory: Trajectory, turn: int) -> list[Step]:
    return [step for step in trajectory.steps if step.turn == turn]


def _ruling(task: Task, step: Step) -> Ruling | None:
    """Return the user's ruling; of what nobody was there to answer, what the rules say."""
    if step.ruling is not None or step.calls or not step.reply.text.strip():
        return step.ruling
    held = _whitelist(task, step.turn)
    return clarify.rule(step.reply.text, held, task.reference["written"][step.turn])


def _whitelist(task: Task, turn: int) -> Mapping[str, Any]:
    """Return what the user may tell in a turn; lists are by turn, or one for all."""
    held = task.reference.get("whitelist") or {}
    if isinstance(held, list):
        held = held[min(turn, len(held) - 1)]
    return held if isinstance(held, Mapping) else {}


def asks(step: Step, ruling: Ruling) -> bool:
    """Tell whether a refused reply asks for something; to offer further help asks for nothing."""
    if ruling.reason == "too often":
        return True
    said = phrases.sentences(step.reply.text)
    left = " ".join(sentence for sentence in said if not _CLOSING.search(sentence))
    return "?" in left or clarify.rule(left, {}, "").reason in _ASKED


# --- what was heard ---------------------------------------------------------------------


def _blending(task: Task, trajectory: Trajectory) -> Label | None:
    truth, written = faults.truth(task), task.reference["written"]
    for turn, heard in enumerate(_heard(task)):
        others = list(_others(heard))
        own = {word for text in (*written[: turn + 1], heard.get("said", "")) for word in
               words.tokens(str(text))}  # fmt: skip
        strange = {word for text in others for word in words.tokens(text)} - own - _SMALL
        if not strange:
            continue
        right = set(faults.text(v for call in truth[turn] for v in call[1].values()).split())
        right |= _results(trajectory, turn)
        for name, given in faults.made(trajectory, turn):
            for parameter, value in given.items():
                if strange & set(faults.text((value,)).split()) - right:
                    told = f"{name}.{parameter} = {_show(value)}: from the other speaker"
                    return _label("FM1", f"{told}, who says: {_cut(' / '.join(others))}")
    return None


def _others(heard: Mapping[str, Any]) -> Iterator[str]:
    """Go through what other people say, as far as it is heard."""
    for effect in heard.get("timeline", ()):
        detail = effect.get("detail", {})
        if effect.get("module") == "talkers" and detail.get("text"):
            said = str(detail["text"]).split()
            yield " ".join(said[: math.ceil(len(said) * float(detail.get("heard", 1)))])


def _results(trajectory: Trajectory, turn: int) -> set[str]:
    """Return the words of what tools have answered up to this turn."""
    texts = [
        part.text
        for step in trajectory.steps
        for result in (step.results if step.turn <= turn else ())
        for part in result.parts
        if isinstance(part, Text)
    ]
    return set(words.tokens(" ".join(texts)[:100_000]))


def _premature(task: Task, trajectory: Trajectory, wrong: Sequence[Wrong]) -> Label | None:
    """Find a value that is missing or made up, and was said after a cut, or late in the turn."""
    heard = _heard(task)
    truth = faults.truth(task)
    for fault in wrong:
        n = len(faults.made(trajectory, fault.turn))
        if not n or not (fault.called or n < len(truth[fault.turn])):
            continue  # nothing was executed, or another tool: that is no haste
        turn = heard[fault.turn]
        said = str(turn.get("said") or task.reference["written"][fault.turn])
        places = [place for value in fault.accepted for place in _places(said, value)]
        left = _left(turn)
        if left is not None and any(_lost(place, left, fault) for place in places):
            share = f"{100 * left:.0f} % of what was said"
            return _label("FM2", f"{fault.named} was said after the sound was cut, at {share}")
        if fault.given is None and any(end >= _LATE for _, end in places):
            shaken = any(effect.get("name") == "event" for effect in turn.get("timeline", ()))
            told = f"{fault.named} was said late{', beside a loud event' if shaken else ''}"
            return _label("FM2", f"{told}: it was not waited for")
    return None


def _lost(place: tuple[float, float], left: float, fault: Wrong) -> bool:
    """Tell whether a value at this place was cut off: all of it, or the end that is missing."""
    start, end = place
    if fault.given is None:
        return end > left - _SLACK
    given = faults.text((fault.given,))
    begun = any(f"{faults.text((value,))} ".startswith(f"{given} ") for value in fault.accepted)
    if begun:
        return end > left - _SLACK
    return start >= left and not any(_near(fault.given, value) for value in fault.accepted)


def _left(heard: Mapping[str, Any]) -> float | None:
    """Return the share of the speech that was left when its tail was cut off; None if not."""
    for effect in heard.get("timeline", ()):
        if effect.get("name") == "tail":
            return 1 - float(effect.get("detail", {}).get("share", 0)) or None
    return None


def _entity(task: Task, trajectory: Trajectory, wrong: Sequence[Wrong]) -> Label | None:
    confirmed = set(_confirmed(task, trajectory))
    for fault in wrong:
        written = task.reference["written"][fault.turn]
        names = [value for value in fault.accepted if proper(value, written)]
        told = {(fault.turn, fault.path, faults.text((value,))) for value in fault.accepted}
        if names and fault.given is not None and not told & confirmed:
            evidence = f"{fault.named} = {_show(fault.given)}, said was {_show(names[0])}"
            return _label("FM6", f"{evidence}, and it did not ask")
    return None


def _confirmed(task: Task, trajectory: Trajectory) -> Iterator[tuple[int, str, str]]:
    """Go through what the user told when asked: the turn, the path of the value, its words.

    Topics of one path are numbered, as in `city 2`.
    """
    for step in trajectory.steps:
        if step.ruling is not None and step.ruling.allowed:
            held = _whitelist(task, step.turn)
            for topic in step.ruling.topics:
                value = held.get(topic)
                yield step.turn, topic.partition(" ")[0], faults.text((value,))


def _distorted(task: Task, wrong: Sequence[Wrong]) -> Label | None:
    for fault in wrong:
        if fault.given is None:
            continue
        told = f"{fault.named} = {_show(fault.given)}, said was "
        told += " or ".join(map(_show, fault.accepted[:3]))
        transcript = str(_heard(task)[fault.turn].get("transcript") or "")
        in_it = _in(fault.given, transcript)
        if in_it and not any(_in(value, transcript) for value in fault.accepted):
            return _label("FM3", f"{told}; the transcript says so")
        if any(_near(fault.given, value) for value in fault.accepted):
            return _label("FM3", f"{told}; they sound alike")
    return None


def _heard(task: Task) -> list[Mapping[str, Any]]:
    turns = task.reference.get("speech", {}).get("turns", [])
    return turns or [{} for _ in task.turns]


# --- words ------------------------------------------------------------------------------


def _cut(text: str) -> str:
    return text[:_SHOWN]


def _show(value: Any) -> str:
    return _cut(repr(value))


def _places(said: str, value: Any) -> list[tuple[float, float]]:
    """Return where a value is said, from and to, as shares of what is said."""
    size = max(len(said), 1)
    return [(start / size, end / size) for start, end in survive.spans(said, value)]


def _in(value: Any, text: str) -> bool:
    if not text:
        return False
    told = faults.text((value,))
    return bool(told) and f" {told} " in f" {' '.join(words.tokens(text))} "


def _near(one: Any, other: Any) -> bool:
    """Tell whether two values may sound alike: number by number, else by letters and sounds."""
    left, right = faults.text((one,)).split(), faults.text((other,)).split()
    pairs = [(a, b) for a, b in zip(left, right, strict=False) if a != b]
    numbers = all(_NUMBER.fullmatch(word) for pair in pairs for word in pair)
    if pairs and numbers and len(left) == len(right):
        return all(_number(a, b) for a, b in pairs)
    said, meant = " ".join(left), " ".join(right)
    alike = SequenceMatcher(None, said, meant, autojunk=False).ratio() >= _ALIKE
    return alike or words.likeness(left, meant) >= words.NEAR


def _number(one: str, other: str) -> bool:
    """Tell whether numbers are confused in speech.

    So they are where one word is taken for another that sounds like it (teens and tens, five and
    nine) or is lost, or one digit of several that are read one by one.
    """
    short, long = sorted((one, other), key=len)
    cuts = {long[:at] + long[at + 1 :] for at in range(len(long))}
    if len(short) > 1 and short in cuts:
        return True
    a, b = (numerals.cardinal(each).replace("-", " ").split() for each in (one, other))
    edits = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    changed = [(a[i:j], b[k:m]) for kind, i, j, k, m in edits if kind != "equal"]
    if len(changed) != 1 or max(map(len, changed[0])) > 1:
        return False
    lost, new = ({*part} for part in changed[0])
    return not (lost and new) or any(lost | new <= alike for alike in _ALIKE_SAID)


def proper(value: Any, written: str) -> bool:
    """Tell whether a value is a proper noun: what the user writes of it has capitals.

    What begins a sentence has a capital anyway: there the value's own spelling decides. Days and
    months are no names, nor are words of two letters.
    """
    if not isinstance(value, str) or (value.islower() and not value.replace(" ", "").isalpha()):
        return False  # ai-news-today is made from words, and no name
    parts = [part for part in re.findall(r"[^\W\d_]+", value) if len(part) > 2]
    if not parts or _DAYS.issuperset(part.casefold() for part in parts):
        return False
    starts = {
        gap.end() for gap in _GAP.finditer(written) if not gap.start() or _ENDED.search(gap[0])
    } | {0}
    seen = [each for part in parts if (each := _capital(part, written, starts)) is not None]
    return bool(seen) and all(seen)


def _capital(part: str, written: str, starts: Set[int]) -> bool | None:
    """Tell whether a word is written with a capital; None where it is not written, or too small."""
    if part.casefold() in _SMALL:
        return None
    places = [match.start() for match in re.finditer(rf"(?i)\b{re.escape(part)}", written)]
    if not places:
        return None
    inner = [place for place in places if place not in starts]
    return any(written[place].isupper() for place in inner) if inner else part[0].isupper()
