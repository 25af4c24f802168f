"""Turn written tasks into spoken ones: every utterance is made once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from toolmark.core.number_format import format_count
from toolmark.core.records import Message, Task, Text
from toolmark.core.task_data import read_task_data
from toolmark.generation.item_maker import ItemMaker
from toolmark.language.argument_facts import extract_facts
from toolmark.suites.mfcl_speech import answer_whitelist, speech_items, system_prompts
from toolmark.suites.mfcl_speech.speech_items import CONDITIONS_IN_WRITING, TEXT
from toolmark.suites.mfcl_speech.speech_pipeline import (
    SpeechPipeline,
    SpeechRecipe,
    UtteranceJob,
)
from toolmark.suites.mfcl_speech.speech_task_data import SpeechTaskData, Utterance

RequestForm = Literal["transcript", "sound"]
_N_ITEMS_AHEAD = 64  # items that are worded at a time; progress is reported in between


class SpokenItem(NamedTuple):
    """What the tasks of an item share: its utterances by condition and turn, and its whitelists.

    There is no utterance, None, for a turn in which the user says nothing.
    """

    utterances: Mapping[str, Sequence[Utterance | None]]
    whitelists: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class SpeechTaskMaker(ItemMaker[SpokenItem]):
    """Makes tasks ready to be asked, by transcript or by sound; `prompt` comes first, if any.

    `speech_folder` is the folder in which speech is stored. By sound, `recognisers` are recognisers
    whose transcripts are stored with it.
    """

    min_parallel_items: ClassVar[int] = 3

    recipe: SpeechRecipe
    form: RequestForm
    speech_folder: str
    prompt: str = ""
    recognisers: tuple[str, ...] = ()

    def prepare_items(self, items: Iterator[tuple[Task, ...]]) -> Iterator[tuple[Task, ...]]:
        """Yield the items; if a model words requests, have it word many at once first.

        Raises UsageError, before any is made, for a missing part of the speech software.
        """
        while batch := list(islice(items, _N_ITEMS_AHEAD)):
            spoken_tasks = [
                task for tasks in batch for task in tasks if task.axes["condition"] != TEXT
            ]
            if spoken_tasks:
                pipeline = load_pipeline(self.recipe, self.speech_folder)
                if any(_is_heard(task) for task in spoken_tasks):
                    pipeline.check_available()
                first = {task.item: task for task in reversed(spoken_tasks)}.values()
                pipeline.prepare_wordings(
                    job for task in first for job in _make_jobs(task, "", ()) if job
                )
            yield from batch

    def open_item(self, tasks: Sequence[Task]) -> SpokenItem:
        """Make the utterances of an item; those of one condition are made once."""
        asked_recognisers = filter(None, (task.axes.get("recogniser", "") for task in tasks))
        recognisers = tuple(dict.fromkeys((*asked_recognisers, *self.recognisers)))
        utterances: dict[str, list[Utterance | None]] = {}
        for task in tasks:
            condition = task.axes["condition"]
            if condition == TEXT or condition in utterances:
                continue
            jobs = _make_jobs(task, condition, recognisers)
            pipeline = load_pipeline(self.recipe, self.speech_folder)
            make = pipeline.make_utterance if _is_heard(task) else pipeline.words_only
            utterances[condition] = [make(job) if job else None for job in jobs]
        return SpokenItem(utterances, _turn_whitelists(tasks[0]))

    def finish_task(self, task: Task, item: SpokenItem) -> Task:
        """Return the task as it is asked, with the reason if an utterance has failed."""
        data = replace(read_task_data(task, SpeechTaskData), whitelist=list(item.whitelists))
        stored = msgspec.to_builtins(data)
        user_messages: list[Message | None] = [None] * len(task.turns)
        failed = ""
        turns = item.utterances.get(task.axes["condition"])
        if turns is not None:
            recogniser = task.axes.get("recogniser", "")
            is_heard = _is_heard(task)
            user_messages = [
                self._make_message(utterance, recogniser, is_heard=is_heard) if utterance else None
                for utterance in turns
            ]
            records = [
                _utterance_record(utterance, recogniser) if utterance else {} for utterance in turns
            ]
            if is_heard:
                stored["speech"] = {"turns": records}
            failed = next(
                (utterance.failed for utterance in turns if utterance and utterance.failed), ""
            )
        seeded = replace(task, data=stored, seed=self.recipe.seed)
        finished = self.add_system_prompt(speech_items.replace_user_messages(seeded, user_messages))
        return self.mark_failed(finished, failed) if failed else finished

    def mark_failed(self, task: Task, reason: str) -> Task:
        """Return the task with the reason in the record of its speech."""
        speech = {"turns": [], **task.data.get("speech", {}), "failed": reason}
        return replace(task, data={**task.data, "speech": speech})

    def draft(self, task: Task) -> Task:
        """Return the written task with its system prompt; nothing is spoken."""
        return self.add_system_prompt(task)

    def add_system_prompt(self, task: Task) -> Task:
        """Return the task with the system prompt first; an entry's own prompt is joined to it.

        Some endpoints accept one system message, as the first message.
        """
        if not self.prompt:
            return task
        first, *later_turns = task.turns
        own_texts = [m.text for m in first.messages if m.role == "system"]
        system = Message(role="system", parts=(Text("\n\n".join((self.prompt, *own_texts))),))
        others = tuple(m for m in first.messages if m.role != "system")
        return replace(task, turns=(replace(first, messages=(system, *others)), *later_turns))

    def _make_message(self, utterance: Utterance, recogniser: str, *, is_heard: bool) -> Message:
        if not is_heard:
            return Message(role="user", parts=(Text(utterance.uttered),))
        if self.form == "sound" and utterance.audio is not None:
            return Message(role="user", parts=(utterance.audio,))
        text = utterance.heard[recogniser].text if recogniser in utterance.heard else ""
        return Message(role="user", parts=(Text(text),))


@lru_cache(maxsize=2)
def load_pipeline(recipe: SpeechRecipe, speech_folder: str) -> SpeechPipeline:
    """Return this process's speech pipeline: voices and models are loaded once."""
    return SpeechPipeline(recipe, Path(speech_folder))


def _make_jobs(
    task: Task, condition: str, recognisers: tuple[str, ...]
) -> Iterator[UtteranceJob | None]:
    """Yield the utterances of a task; None for a turn in which the user says nothing."""
    truth = speech_items.expected_by_turn(task)
    tools = task.tools
    for turn, written in enumerate(read_task_data(task, SpeechTaskData).written):
        tools += task.turns[turn].tools
        if not written.strip():
            yield None
            continue
        yield UtteranceJob(
            item=task.item,
            turn=turn,
            written=written,
            condition=condition,
            facts=extract_facts(truth[turn]),
            tools=tuple(replace(tool, source=None) for tool in tools),
            recognisers=recognisers,
        )


def _is_heard(task: Task) -> bool:
    """Tell whether a task is asked by sound, or by what was made of sound."""
    return task.axes["condition"] not in CONDITIONS_IN_WRITING


def _turn_whitelists(task: Task) -> list[dict[str, Any]]:
    """Return the whitelist of each turn; where no call is due the user reveals nothing."""
    data = read_task_data(task, SpeechTaskData)
    written = data.written
    if data.bfcl is None:
        return [{} for _ in written]
    if speech_items.is_multi_turn(task):
        return list(answer_whitelist.turn_whitelists(speech_items.original_task(task), written))
    return [
        answer_whitelist.single_turn_whitelist(speech_items.expected_by_turn(task)[0], written[0])
    ]


def _utterance_record(utterance: Utterance, recogniser: str) -> dict[str, Any]:
    """Return an utterance as a task stores it, readable as `SpokenTurn`.

    What is known of a transcript is stored where it is False or None too.
    """
    record: dict[str, Any] = msgspec.to_builtins(utterance)
    transcripts = record.pop("heard", {})
    transcript = transcripts.get(recogniser, {})
    if transcripts and not recogniser:
        record["transcripts"] = transcripts
    if transcript:
        record |= {
            "recogniser": recogniser,
            "transcript": transcript["text"],
            "simulated": transcript["simulated"],
        }
        record |= {"wer": transcript["wer"], "entity_wer": transcript.get("entity_wer")}
    return record | _snr(utterance)


def _snr(utterance: Utterance) -> dict[str, float]:
    """Return the dB of the speech over all beds and other talkers together, without bursts."""
    found = [
        float(effect.detail["snr_db"])
        for effect in utterance.timeline
        if effect.name in ("bed", "talker")
    ]
    if not found:
        return {}
    noise_power = sum(10 ** (-ratio / 10) for ratio in found)
    return {"snr_db": found[0] if len(found) == 1 else -10 * math.log10(noise_power)}


def failure_reason(task: Task) -> str:
    """Return why a task could not be spoken when it was made, "" if it was."""
    speech = read_task_data(task, SpeechTaskData).speech
    return "" if speech is None else speech.failed


def effort_note(tasks: Iterable[Task]) -> str:
    """Return the number of clips that these tasks need, as a note.

    There is one for each item, condition and turn with words.
    """
    clips = sum(
        bool(written.strip())
        for _, group in groupby(tasks, key=lambda task: (task.item, task.axes["condition"]))
        if _is_heard(task := next(group))
        for written in read_task_data(task, SpeechTaskData).written
    )
    return (
        f"{format_count(clips)} clips to be spoken, but for those that are stored" if clips else ""
    )


def system_prompt(heard_form: system_prompts.HearingMode | Literal["none"]) -> str:
    """Return the system prompt, none where none is wanted."""
    return "" if heard_form == "none" else system_prompts.make_system_prompt(heard_form)
