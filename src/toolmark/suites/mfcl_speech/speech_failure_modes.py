"""Failure modes of speech episodes, by rules on what was said, heard and called (A7).

| mode | evidence |
|---|---|
| FM1 intent blending | a called value comes from the interfering speech, not from the user |
| FM2 premature execution | the missing value was said after the sound was cut, or at the end |
| FM3 parameter distortion | the right tool, a value that sounds like the right one |
| FM4 clarification misfire | it asked for something that is not on the whitelist |
| FM5 conversational drift | no call where one is due, and no question either |
| FM6 named-entity error | a proper noun is wrong, and was never confirmed |

Precedence of the primary mode: FM4, FM5, FM1, FM2, FM6, FM3. An error that the same model also
makes in writing, in the same turn, tool and parameter, is `other`: perception is not its cause. An
error that no rule explains is `unexplained`.

FM1, FM2, FM3 and FM6 are modes of perception. They are named only where the same model answers the
exact spoken words right (the condition `said`). A model that reads a transcript perceives nothing
by itself: there they are named only for values that the transcript lacks.

A question counts only in a turn that lacks a due call or a value for it: where a parameter or a
tool is missing, asking is right. A question about a wish or a next step after a call is not a
misfire. A request to repeat everything is FM4, since a user confirms single values only. A reply
that nothing fits or can be done is FM5, however bad the sound was: a model that did not understand
may ask.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence, Set
from typing import Any

from toolmark.core import json_codec, number_format
from toolmark.core.records import Cause, Label, Ruling, Step, Task, Text, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.language import value_survival, word_likeness
from toolmark.suites.mfcl_speech import (
    call_differences,
    clarification_phrases,
    clarification_rules,
    heard_values,
)
from toolmark.suites.mfcl_speech.call_differences import WrongValue
from toolmark.suites.mfcl_speech.speech_task_data import (
    SILENT_TURN,
    SpeechTaskData,
    SpokenTurn,
    turn_whitelist,
)

SAME_ON_TEXT = "other"
UNEXPLAINED = "unexplained"
MODES: dict[str, str] = {
    "FM1": "intent blending",
    "FM2": "premature execution",
    "FM3": "parameter distortion",
    "FM4": "clarification misfire",
    "FM5": "conversational drift",
    "FM6": "named-entity error",
}
_CAUSE_OF_MODE: dict[str, Cause] = {
    "FM1": "perception", "FM2": "perception", "FM3": "perception", "FM4": "clarification",
    "FM5": "drift", "FM6": "perception",
}  # fmt: skip
_QUESTION_REASONS = ("absent", "ambiguous", "preference")  # why a question is refused
_CLOSING_OFFER = re.compile(
    r"\b(?:anything else|something else|what else|how (?:can|may|else|could) (?:i|we)|"
    r"(?:can|may|could) (?:i|we) (?:help|assist)|help you with)\b"
)
_LATE_SHARE = 0.6  # of what is said: what ends after this share is said late
_PLACE_TOLERANCE = 0.1  # by which a place in the text may differ from its place in the sound
_MAX_SHOWN_CHARS = 160


def find_failure_modes(
    task: Task,
    trajectory: Trajectory,
    text_places: Set[call_differences.DifferencePlace] = frozenset(),
    *,
    may_be_perception: bool = True,
) -> list[Label]:
    """Return the modes of a failed episode, in the order of precedence; none where no rule holds.

    Pure. `text_places` are the places in which it went wrong in writing too: they are skipped.
    `may_be_perception`: the exact spoken words were answered right. Each label's evidence names the
    value, the words, or the question.
    """
    wrong = [
        wrong_value
        for wrong_value in call_differences.wrong_values(task, trajectory)
        if wrong_value.place not in text_places
    ]
    lacking_turns = _turns_lacking_calls(task, trajectory, wrong, text_places)
    labels = [
        _find_misfire(task, trajectory, lacking_turns),
        _find_drift(task, trajectory, lacking_turns),
    ]
    not_heard = [value for value in wrong if _is_lost_in_transcript(task, value)]
    if may_be_perception and (not_heard or not _has_transcript(task)):
        labels += [
            _find_blending(task, trajectory),
            _find_premature(task, trajectory, not_heard),
            _find_entity_error(task, trajectory, not_heard),
            _find_distortion(task, not_heard),
        ]
    return [label for label in labels if label]


def _has_transcript(task: Task) -> bool:
    return any(turn.transcript is not None for turn in _turn_sounds(task))


def _is_lost_in_transcript(task: Task, wrong_value: WrongValue) -> bool:
    """Tell whether no transcript up to a value's turn states it; so it is for a task of sound."""
    transcripts = [
        turn.transcript
        for turn in _turn_sounds(task)[: wrong_value.turn + 1]
        if turn.transcript is not None
    ]
    return not any(
        heard_values.is_in_text(value, text) or value_survival.value_spans(text, value)
        for text in transcripts
        for value in wrong_value.accepted
    )


def _make_label(mode: str, evidence: str) -> Label:
    return Label(
        cause=_CAUSE_OF_MODE[mode],
        suite_cause=mode,
        evidence=json_codec.escape_surrogates(evidence[:400]),
    )


# --- what was asked ---------------------------------------------------------------------


def _find_misfire(task: Task, trajectory: Trajectory, lacking_turns: Sequence[int]) -> Label | None:
    """Return a question that the user does not answer, in a turn that lacks something due."""
    for turn in lacking_turns:
        called = call_differences.made_calls(trajectory, turn)
        for step in _turn_steps(trajectory, turn):
            ruling = _find_ruling(task, step)
            if ruling is None or ruling.allowed or not asks_for_something(step, ruling):
                continue
            if not called or ruling.reason != "preference":
                topics = ", ".join(ruling.topics) or "nothing on the whitelist"
                evidence = f"asked for {topics} ({ruling.reason}): {_cut_text(step.reply.text)}"
                return _make_label("FM4", evidence)
    return None


def _find_drift(task: Task, trajectory: Trajectory, lacking_turns: Sequence[int]) -> Label | None:
    """Return a turn in which a call is due and the reply was only text."""
    for turn in lacking_turns:
        steps = _turn_steps(trajectory, turn)
        if not steps or any(step.calls for step in steps):
            continue
        ruling = _find_ruling(task, steps[-1])
        if ruling is None or not (ruling.allowed or asks_for_something(steps[-1], ruling)):
            return _make_label(
                "FM5", f"turn {turn + 1}: no call, but: {_cut_text(steps[-1].reply.text)}"
            )
    return None


def _turns_lacking_calls(
    task: Task,
    trajectory: Trajectory,
    wrong: Sequence[WrongValue],
    text_places: Set[call_differences.DifferencePlace],
) -> list[int]:
    """Return the turns that lack a call or a value; in relevance tasks any call is due."""
    if read_task_data(task, SpeechTaskData).bfcl is None:
        turns_due = [] if "irrelevance" in task.category else range(len(task.turns))
        return [turn for turn in turns_due if not call_differences.made_calls(trajectory, turn)]
    places = call_differences.difference_places(task, trajectory) - text_places
    turns = {turn for turn, _, path in places if not path}
    return sorted(
        turns | {wrong_value.turn for wrong_value in wrong if wrong_value.received is None}
    )


def _turn_steps(trajectory: Trajectory, turn: int) -> list[Step]:
    return [step for step in trajectory.steps if step.turn == turn]


def _find_ruling(task: Task, step: Step) -> Ruling | None:
    """Return the user's ruling; without a user, the ruling of the rules."""
    if step.ruling is not None or step.calls or not step.reply.text.strip():
        return step.ruling
    data = read_task_data(task, SpeechTaskData)
    return clarification_rules.rule_on_message(
        step.reply.text, turn_whitelist(data, step.turn), data.written[step.turn]
    )


def asks_for_something(step: Step, ruling: Ruling) -> bool:
    """Return whether a refused reply asks for something; an offer of help asks for nothing."""
    if ruling.reason == "too often":
        return True
    sentence_list = clarification_phrases.split_sentences(step.reply.text)
    remaining = " ".join(
        sentence for sentence in sentence_list if not _CLOSING_OFFER.search(sentence)
    )
    return (
        "?" in remaining
        or clarification_rules.rule_on_message(remaining, {}, "").reason in _QUESTION_REASONS
    )


# --- what was heard ---------------------------------------------------------------------


def _find_blending(task: Task, trajectory: Trajectory) -> Label | None:
    truth, written = (
        call_differences.expected_calls(task),
        read_task_data(task, SpeechTaskData).written,
    )
    for turn, turn_sound in enumerate(_turn_sounds(task)):
        others = list(_other_speech(turn_sound))
        own_words = {
            word
            for text in (*written[: turn + 1], turn_sound.uttered)
            for word in word_likeness.split_tokens(text)
        }
        foreign_words = (
            {word for text in others for word in word_likeness.split_tokens(text)}
            - own_words
            - heard_values.small_words()
        )
        if not foreign_words:
            continue
        right_words = set(
            call_differences.value_words(
                v for call in truth[turn] for v in call[1].values()
            ).split()
        )
        right_words |= _result_words(trajectory, turn)
        for name, arguments in call_differences.made_calls(trajectory, turn):
            for parameter, value in arguments.items():
                if (
                    foreign_words
                    & set(call_differences.value_words((value,)).split()) - right_words
                ):
                    evidence = (
                        f"{name}.{parameter} = {_format_value(value)}: from the other speaker"
                    )
                    return _make_label(
                        "FM1", f"{evidence}, who says: {_cut_text(' / '.join(others))}"
                    )
    return None


def _other_speech(turn_sound: SpokenTurn) -> Iterator[str]:
    """Yield what other people say, as far as it can be heard."""
    for effect in turn_sound.timeline:
        if effect.module == "talkers" and effect.detail.get("text"):
            spoken = str(effect.detail["text"]).split()
            heard_share = float(effect.detail.get("heard", 1))
            yield " ".join(spoken[: math.ceil(len(spoken) * heard_share)])


def _result_words(trajectory: Trajectory, turn: int) -> set[str]:
    """Return the words of the tool results up to this turn."""
    texts = [
        part.text
        for step in trajectory.steps
        for result in (step.results if step.turn <= turn else ())
        for part in result.parts
        if isinstance(part, Text)
    ]
    return set(word_likeness.split_tokens(" ".join(texts)[:100_000]))


def _find_premature(
    task: Task, trajectory: Trajectory, wrong: Sequence[WrongValue]
) -> Label | None:
    """Return a value that is missing or invented, and was said after a cut, or late in the turn."""
    heard, written = _turn_sounds(task), read_task_data(task, SpeechTaskData).written
    truth = call_differences.expected_calls(task)
    for wrong_value in wrong:
        n = len(call_differences.made_calls(trajectory, wrong_value.turn))
        if not n or not (wrong_value.tool_was_called or n < len(truth[wrong_value.turn])):
            continue  # nothing was executed, or another tool: that is not haste
        turn = heard[wrong_value.turn]
        spoken = turn.uttered or written[wrong_value.turn]
        places = [
            position
            for value in wrong_value.accepted
            for position in _value_positions(spoken, value)
        ]
        share_left = _share_left(turn)
        if share_left is not None and any(
            _was_cut_off(position, share_left, wrong_value) for position in places
        ):
            share = f"{number_format.format_percent(share_left, 0)} of what was said"
            return _make_label(
                "FM2", f"{wrong_value.qualified_name} was said after the sound was cut, at {share}"
            )
        if wrong_value.received is None and any(end >= _LATE_SHARE for _, end in places):
            has_event = any(effect.name == "event" for effect in turn.timeline)
            evidence = (
                f"{wrong_value.qualified_name} was said "
                f"late{', next to a loud event' if has_event else ''}"
            )
            return _make_label("FM2", f"{evidence}: it was not waited for")
    return None


def _was_cut_off(position: tuple[float, float], share_left: float, wrong_value: WrongValue) -> bool:
    """Return whether a value at this place was cut off: all of it, or the end that is missing."""
    start, end = position
    if wrong_value.received is None:
        return end > share_left - _PLACE_TOLERANCE
    received = call_differences.value_words((wrong_value.received,))
    is_beginning = any(
        f"{call_differences.value_words((value,))} ".startswith(f"{received} ")
        for value in wrong_value.accepted
    )
    if is_beginning:
        return end > share_left - _PLACE_TOLERANCE
    return start >= share_left and not any(
        heard_values.sounds_alike(wrong_value.received, value) for value in wrong_value.accepted
    )


def _share_left(turn_sound: SpokenTurn) -> float | None:
    """Return the share of the speech that was left when its end was cut off; None if it was not."""
    for effect in turn_sound.timeline:
        if effect.name == "tail":
            return 1 - float(effect.detail.get("share", 0)) or None
    return None


def _find_entity_error(
    task: Task, trajectory: Trajectory, wrong: Sequence[WrongValue]
) -> Label | None:
    confirmed = set(_confirmed_values(task, trajectory))
    texts = read_task_data(task, SpeechTaskData).written
    for wrong_value in wrong:
        written = texts[wrong_value.turn]
        names = [
            value for value in wrong_value.accepted if heard_values.is_proper_noun(value, written)
        ]
        value_keys = {
            (wrong_value.turn, wrong_value.path, call_differences.value_words((value,)))
            for value in wrong_value.accepted
        }
        if names and wrong_value.received is not None and not value_keys & confirmed:
            evidence = (
                f"{wrong_value.qualified_name} = {_format_value(wrong_value.received)}, said was "
                f"{_format_value(names[0])}"
            )
            return _make_label("FM6", f"{evidence}, and it did not ask")
    return None


def _confirmed_values(task: Task, trajectory: Trajectory) -> Iterator[tuple[int, str, str]]:
    """Yield what the user revealed when asked: the turn, the path of the value, its words.

    Topics of one path are numbered, as in `city 2`.
    """
    data = read_task_data(task, SpeechTaskData)
    for step in trajectory.steps:
        if step.ruling is not None and step.ruling.allowed:
            for topic in step.ruling.topics:
                value = turn_whitelist(data, step.turn).get(topic)
                yield step.turn, topic.partition(" ")[0], call_differences.value_words((value,))


def _find_distortion(task: Task, wrong: Sequence[WrongValue]) -> Label | None:
    heard = _turn_sounds(task)
    for wrong_value in wrong:
        if wrong_value.received is None:
            continue
        evidence = (
            f"{wrong_value.qualified_name} = {_format_value(wrong_value.received)}, said was "
        )
        evidence += " or ".join(map(_format_value, wrong_value.accepted[:3]))
        transcript = heard[wrong_value.turn].transcript or ""
        in_transcript = heard_values.is_in_text(wrong_value.received, transcript)
        if in_transcript and not any(
            heard_values.is_in_text(value, transcript) for value in wrong_value.accepted
        ):
            return _make_label("FM3", f"{evidence}; the transcript says so")
        if any(
            heard_values.sounds_alike(wrong_value.received, value) for value in wrong_value.accepted
        ):
            return _make_label("FM3", f"{evidence}; they sound alike")
    return None


def _turn_sounds(task: Task) -> list[SpokenTurn]:
    return read_task_data(task, SpeechTaskData).turns or [SILENT_TURN for _ in task.turns]


def _cut_text(text: str) -> str:
    return text[:_MAX_SHOWN_CHARS]


def _format_value(value: Any) -> str:
    return _cut_text(repr(value))


def _value_positions(spoken: str, value: Any) -> list[tuple[float, float]]:
    """Return where a value is said, from and to, as shares of what is said."""
    size = max(len(spoken), 1)
    return [(start / size, end / size) for start, end in value_survival.value_spans(spoken, value)]
