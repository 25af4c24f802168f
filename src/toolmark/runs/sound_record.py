"""What a run knows of how its endpoint takes sound, as `run.json` stores it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from toolmark.core.number_format import pluralize
from toolmark.core.records import Record

Hearing: TypeAlias = Literal["heard", "not_heard", "unknown"]
TextOnly: TypeAlias = Literal["", "taken", "with_silence", "left_out"]
_MAX_LISTED_TASKS = 5


class SoundRecord(Record, frozen=True, kw_only=True):
    """What was asked before the first task of a run with sound, and what was found.

    - `hearing`: whether the model said what a spoken clip says.
    - `spoken`, `answer`: the digits in the clip, and the beginning of what the model said.
    - `reason`: why the hearing is unknown.
    - `is_accepted`: whether the endpoint took the sound.
    - `text_only`: how the tasks without sound are asked: as they are, with a silent clip, or not at
      all; "" where there are none, or that was not asked.
    - `complaint`: what the endpoint says of a request without sound.
    - `changed_tasks`: the ids of the tasks that got a silent clip, or were left out.
    - `suite_tasks_sha256`: that of the tasks before they were changed.
    - `n_requests`: how many requests this took.
    """

    hearing: Hearing
    spoken: str = ""
    answer: str = ""
    reason: str = ""
    is_accepted: bool = True
    text_only: TextOnly = ""
    complaint: str = ""
    changed_tasks: tuple[str, ...] = ()
    suite_tasks_sha256: str = ""
    n_requests: int = 0


def describe_hearing(record: SoundRecord) -> str:
    """Return in a sentence what became of the spoken clip."""
    match record.hearing:
        case "heard":
            return f"the model hears: it repeated the digits of a spoken clip, {record.spoken}"
        case "not_heard":
            return (
                f"the model may not hear: a spoken clip says {record.spoken}, it answered "
                f"{record.answer!r}"
            )
        case "unknown":
            return f"whether the model hears is not known: {record.reason}"


def describe_text_tasks(record: SoundRecord) -> str:
    """Return in a sentence what became of the tasks without sound, "" where they are unchanged."""
    if record.text_only not in ("with_silence", "left_out"):
        return ""
    ids = record.changed_tasks
    listed = ", ".join(ids[:_MAX_LISTED_TASKS])
    more = f" and {len(ids) - _MAX_LISTED_TASKS} more" if len(ids) > _MAX_LISTED_TASKS else ""
    how = (
        "asked with a clip of silence"
        if record.text_only == "with_silence"
        else "left out, and not counted"
    )
    return (
        f"{pluralize(len(ids), 'task')} without sound {'is' if len(ids) == 1 else 'are'} {how}: "
        f"the endpoint refuses a request without sound ({record.complaint}): {listed}{more}"
    )


def sound_notes(record: SoundRecord) -> tuple[str, ...]:
    """Return what was unlike what a suite with sound expects, a sentence each."""
    found = () if record.hearing == "heard" else (describe_hearing(record),)
    changed = describe_text_tasks(record)
    return (*found, changed) if changed else found


def sound_caution(record: SoundRecord | None) -> str:
    """Return what a reader of the scores must know first, "" where the model hears."""
    if record is None:
        return ""
    return " ".join(_list_cautions(record))


def start_lines(record: SoundRecord) -> tuple[str, ...]:
    """Return what is shown when the run begins: what was asked, and what was found."""
    changed = describe_text_tasks(record)
    head = (
        f"sound: {describe_hearing(record)} ({pluralize(record.n_requests, 'request')}; "
        "--no-canary asks none)"
    )
    return (head, f"sound: {changed}") if changed else (head,)


def _list_cautions(record: SoundRecord) -> Iterator[str]:
    if record.hearing == "not_heard":
        yield (
            "the endpoint takes sound and may ignore it: the model did not repeat a spoken clip, "
            "so scores of tasks with sound may be guesses."
        )
    n = len(record.changed_tasks)
    if record.text_only == "left_out":
        yield f"{pluralize(n, 'task')} without sound left out: the endpoint refuses them."
    elif record.text_only == "with_silence":
        yield f"{pluralize(n, 'task')} without sound asked with a clip of silence."
