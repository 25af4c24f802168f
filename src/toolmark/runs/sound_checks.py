"""What is asked before the first task of a run with sound: does the model hear, and read too?

A clip that says digits is sent once: an endpoint that takes sound and ignores it cannot repeat
them. A model that refuses requests without sound is found by a request of one word; its tasks
without sound then get a clip of silence, or are left out where that is refused too. Nothing here is
asked again when a run continues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.errors import EndpointError, Rejected, ToolmarkError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model
from toolmark.core.records import Audio, Message, Part, Request, Sampling, Task, Text
from toolmark.models import run_spending
from toolmark.models.probes import media_probes, probe_requests
from toolmark.runs.record_files import write_document
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Connection
from toolmark.runs.run_store import INFO_FILE, Run, RunWriter
from toolmark.runs.sound_record import SoundRecord, sound_notes
from toolmark.runs.suite import Suite
from toolmark.runs.task_files import write_tasks

PURPOSE = "sound checks"
_QUESTION = (
    "The recording says six digits. Which ones, in their order? Reply with the digits alone."
)
_N_DIGITS, _N_RIGHT, _N_READ = 6, 5, 9
"""So many digits are said; so many of them must come back in order, among the last ones of a reply.

A guess of six digits succeeds once in a few thousand times.
"""
_DIGIT_BY_WORD = {
    "zero": "0", "oh": "0", "one": "1", "won": "1", "two": "2", "to": "2", "too": "2",
    "three": "3", "four": "4", "for": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "ate": "8", "nine": "9",
}  # fmt: skip
_DIGIT = re.compile(rf"[0-9]|\b(?:{'|'.join(_DIGIT_BY_WORD)})\b", re.ASCII)
_MAX_READ_CHARS = 4000
_SOUND_MARK = b'"type":"audio"'  # within a text the quotes would be escaped
_MAX_SHOWN_CHARS = 120
_WORD_SAMPLING = Sampling(max_tokens=64)


async def check_sound_input(
    player: Model,
    media: MediaStore,
    suite: Suite,
    plan: Plan,
    connection: Connection,
    *,
    hint: str = "",
) -> SoundRecord | None:
    """Raise UsageError if a model for a suite with sound does not accept sound.

    An endpoint is asked what a spoken clip says; the record says what it heard. None where nothing
    was asked: of a model in this process its `accepts_audio` decides. Other errors of the endpoint
    are left to the run, which handles them. `hint` says what else the user can do.
    """
    if not player.accepts_audio:
        raise _refuse_model("", hint)
    if not _may_ask(player, plan, connection):
        return None
    player = run_spending.count_replies(player, PURPOSE)
    rng = seeds.make_rng(suite.provenance.seed, suite.name, 0, "spoken digits")
    engines = suite.parameters.get("engines") or ()
    try:
        return await _ask_hearing(player, media, rng, engines)
    except Rejected as error:
        if error.is_final:
            raise
        raise _refuse_model(str(error), hint) from None
    except EndpointError as error:
        return SoundRecord(hearing="unknown", reason=str(error), is_accepted=False, n_requests=1)


async def settle_sound(
    writer: RunWriter,
    player: Model,
    suite: Suite,
    connection: Connection,
    record: SoundRecord | None,
    *,
    hint: str = "",
) -> SoundRecord | None:
    """Ask what a run that begins has to know of sound, adapt its tasks, and store the record.

    `record` is what `check_sound_input` has found already. Returns what is new: None for a run
    without sound, and for one whose record is stored. Raises UsageError for a model that does not
    accept sound.
    """
    run, media = writer.run, MediaStore(writer.path / "media")
    if run.info.sound is not None or not media.folder.is_dir() or run.completed_episodes():
        return None
    if not _may_ask(player, run.info.plan, connection):
        return None
    if not _may_hold_sound(writer.path / "tasks.jsonl"):
        return None
    has_sound, text_tasks = find_sound(run.tasks(), suite)
    if not has_sound:
        return None
    if record is None:
        record = await check_sound_input(player, media, suite, run.info.plan, connection, hint=hint)
    if record is None:
        return None
    if text_tasks and record.is_accepted:
        asked = run_spending.count_replies(player, PURPOSE)
        record = await _settle_text_tasks(writer, asked, suite, media, record, text_tasks)
    notes = sound_notes(record)
    writer.update_info(sound=record, notes={"sound": notes} if notes else None)
    return record


def find_sound(tasks: Iterable[Task], suite: Suite) -> tuple[bool, dict[str, str]]:
    """Return whether a task has sound in its messages, and the kind of each that has none, by id.

    Tasks whose sound could not be made are not among them: they are not asked.
    """
    has_sound = False
    text_tasks: dict[str, str] = {}
    for task in tasks:
        if _has_sound(task):
            has_sound = True
        elif suite.maker.failure is None or not suite.maker.failure(task):
            text_tasks[task.id] = task.kind
    return has_sound, text_tasks


def read_digits(text: str) -> str:
    """Return the digits that a reply names, in their order, written as figures or words.

    Words count only where there are few figures: `to` and `for` may be digits that were heard so.
    """
    words = _DIGIT.findall(text[:_MAX_READ_CHARS].casefold())
    figures = [word for word in words if word.isdigit()]
    if len(figures) >= _N_RIGHT:
        return "".join(figures)
    return "".join(_DIGIT_BY_WORD.get(word, word) for word in words)


def has_heard(spoken: str, answer: str) -> bool:
    """Return whether a reply repeats the spoken digits, but for one."""
    found = read_digits(answer)[-_N_READ:]
    # the length of the longest common subsequence of the spoken digits with each beginning of found
    lengths = [0] * (len(found) + 1)
    for digit in spoken:
        diagonal = 0
        for at, other in enumerate(found, 1):
            above = lengths[at]
            lengths[at] = diagonal + 1 if digit == other else max(above, lengths[at - 1])
            diagonal = above
    return lengths[-1] >= _N_RIGHT


async def _ask_hearing(
    player: Model, media: MediaStore, rng: Random, engines: Sequence[str]
) -> SoundRecord:
    """Ask what a clip says. Raises EndpointError."""
    digits = seeds.sample_indices(rng, 10, _N_DIGITS)
    seeds.shuffle_items(rng, digits)
    try:
        from toolmark.perturb.speech import spoken_digits

        wav = spoken_digits.speak_digits(digits, engines)
    except (ToolmarkError, ImportError) as error:
        # a tone still shows whether sound is accepted
        await player(_sound_request(media.add_audio(media_probes.synthesize_beeps(1), "audio/wav")))
        return SoundRecord(hearing="unknown", reason=str(error), n_requests=1)
    reply = await player(_sound_request(media.add_audio(wav, "audio/wav")))
    spoken = "".join(map(str, digits))
    heard = has_heard(spoken, reply.text)
    return SoundRecord(
        hearing="heard" if heard else "not_heard",
        spoken=spoken,
        answer=reply.text[:_MAX_SHOWN_CHARS],
        n_requests=1,
    )


def _sound_request(clip: Audio) -> Request:
    message = Message(role="user", parts=(Text(_QUESTION), clip))
    return Request(messages=(message,), sampling=probe_requests.PROBE_SAMPLING)


async def _settle_text_tasks(
    writer: RunWriter,
    player: Model,
    suite: Suite,
    media: MediaStore,
    record: SoundRecord,
    text_tasks: Mapping[str, str],
) -> SoundRecord:
    """Ask whether a request without sound is taken; else change the tasks that have none."""
    complaint = await _find_complaint(player, (Text("Reply with: ok"),))
    record = replace(record, n_requests=record.n_requests + 1)
    if not complaint:
        return replace(record, text_only="taken")
    run = writer.run
    silence = media.add_audio(media_probes.synthesize_silence(), "audio/wav")
    still = await _find_complaint(player, (Text("Reply with: ok"), silence))
    # tasks that set others up stay: their sound or text is not what is measured
    changed = [id for id, kind in text_tasks.items() if not still or kind == "scored"]
    record = replace(
        record,
        text_only="left_out" if still else "with_silence",
        complaint=complaint,
        changed_tasks=tuple(changed),
        suite_tasks_sha256=run.info.tasks_sha256,
        n_requests=record.n_requests + 1,
    )
    ids = frozenset(changed)
    tasks = (
        (task for task in run.tasks() if task.id not in ids)
        if still
        else (_add_clip(task, silence) if task.id in ids else task for task in run.tasks())
    )
    _rewrite_tasks(writer, suite, media, tasks)
    return record


async def _find_complaint(player: Model, parts: tuple[Part, ...]) -> str:
    """Return why a request is refused, "" where it is taken or the endpoint fails otherwise."""
    message = Message(role="user", parts=parts)
    try:
        await player(Request(messages=(message,), sampling=_WORD_SAMPLING))
    except Rejected as error:
        if error.is_final:
            raise
        return probe_requests.endpoint_complaint(error)
    except EndpointError:
        return ""
    return ""


def _add_clip(task: Task, clip: Audio) -> Task:
    """Return the task with a clip in the first message of its user."""
    turns = list(task.turns)
    for at, turn in enumerate(turns):
        for number, message in enumerate(turn.messages):
            if message.role == "user":
                messages = list(turn.messages)
                messages[number] = replace(message, parts=(*message.parts, clip))
                turns[at] = replace(turn, messages=tuple(messages))
                return replace(task, turns=tuple(turns))
    return task


def _rewrite_tasks(
    writer: RunWriter, suite: Suite, media: MediaStore, tasks: Iterable[Task]
) -> None:
    """Replace all tasks of a run of which no episode is complete. Raises UsageError for none."""
    path = writer.path / "tasks.jsonl"
    written = write_tasks(path, tasks, media, suite.provenance.referenced_media)
    info = replace(
        writer.run.info,
        n_tasks=written.n_tasks,
        n_setup=written.n_setup_tasks,
        tasks_sha256=written.sha256,
    )
    write_document(writer.path / INFO_FILE, info)
    writer.run = Run(writer.path)


def _may_hold_sound(path: Path) -> bool:
    """Return whether a file of tasks has a mark of sound; to decode all of them takes longer."""
    with path.open("rb") as file:
        return any(_SOUND_MARK in line for line in file)


def _has_sound(task: Task) -> bool:
    parts = (part for turn in task.turns for message in turn.messages for part in message.parts)
    return any(isinstance(part, Audio) for part in parts)


def _may_ask(player: Model, plan: Plan, connection: Connection) -> bool:
    return (
        connection.canary
        and bool(plan.base_url)
        and not connection.replay_only
        and not connection.batch  # an answer would come hours later
        and not isinstance(player, Control)
    )


def _refuse_model(complaint: str, hint: str) -> UsageError:
    message = "the suite asks by sound, which this model does not take"
    message += f" ({complaint})" if complaint else ""
    return UsageError(f"{message}; {hint}" if hint else message)
