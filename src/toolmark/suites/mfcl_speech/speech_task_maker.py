"""Turn written tasks into spoken ones: every utterance made once, on all cores, in order.

`SpeechTaskMaker.make_item` maps the tasks of one base item to the same tasks as they are asked, and
depends on nothing else: other machines can call it unchanged to make a share of the tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from toolmark.core import worker_processes
from toolmark.core.number_format import format_count
from toolmark.core.records import Message, Record, Task, Text
from toolmark.core.task_data import read_task_data
from toolmark.language.argument_facts import extract_facts
from toolmark.suites.mfcl_speech import answer_whitelist, speech_items, system_prompts
from toolmark.suites.mfcl_speech.speech_items import TEXT
from toolmark.suites.mfcl_speech.speech_pipeline import (
    SpeechPipeline,
    SpeechRecipe,
    UtteranceJob,
)
from toolmark.suites.mfcl_speech.speech_task_data import SpeechTaskData, Utterance

RequestForm = Literal["transcript", "sound"]
_MIN_ITEMS_FOR_PROCESSES = 3  # with fewer items, processes are not worth starting
_N_ITEMS_AHEAD = 64  # items that are worded at a time; progress is reported in between


class SpeechTaskMaker(Record, frozen=True, kw_only=True):
    """Makes tasks ready to be asked, by transcript or by sound; `prompt` comes first, if any.

    `speech_folder` is the folder in which speech is stored. By sound, `recognisers` are recognisers
    whose transcripts are stored with it.
    """

    recipe: SpeechRecipe
    form: RequestForm
    speech_folder: str
    prompt: str = ""
    recognisers: tuple[str, ...] = ()

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield the finished tasks in order, made on all cores; cached items cost little.

        Raises UsageError, before any is made, for a missing part of the speech software.
        """
        item_groups = (tuple(group) for _, group in groupby(tasks, key=lambda task: task.item))
        head = list(islice(item_groups, 1))
        if any(task.axes["condition"] != TEXT for group in head for task in group):
            load_pipeline(self.recipe, self.speech_folder).check_available()
        groups = self._prepare_wordings(chain(head, item_groups))
        for finished in worker_processes.map_in_processes(
            self.make_item,
            groups,
            worker_processes.available_cores(),
            min_parallel=_MIN_ITEMS_FOR_PROCESSES,
        ):
            yield from finished

    def _prepare_wordings(self, groups: Iterator[tuple[Task, ...]]) -> Iterator[tuple[Task, ...]]:
        """Yield the items; if a model words them, have it word many at once first."""
        if not self.recipe.rewriter:
            yield from groups
            return
        while batch := list(islice(groups, _N_ITEMS_AHEAD)):
            spoken_tasks = [
                task for group in batch for task in group if task.axes["condition"] != TEXT
            ]
            first = {task.item: task for task in reversed(spoken_tasks)}.values()
            jobs = (job for task in first for job in _make_jobs(task, "", ()) if job)
            load_pipeline(self.recipe, self.speech_folder).prepare_wordings(jobs)
            yield from batch

    def make_item(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks of one item as they are asked; equal utterances are made once."""
        asked_recognisers = filter(None, (task.axes.get("recogniser", "") for task in tasks))
        recognisers = tuple(dict.fromkeys((*asked_recognisers, *self.recognisers)))
        whitelists = _turn_whitelists(tasks[0])
        uttered: dict[str, list[Utterance | None]] = {}
        finished = []
        for task in tasks:
            condition = task.axes["condition"]
            if condition != TEXT and condition not in uttered:
                jobs = _make_jobs(task, condition, recognisers)
                pipeline = load_pipeline(self.recipe, self.speech_folder)
                uttered[condition] = [pipeline.make_utterance(job) if job else None for job in jobs]
            finished.append(self._finish_task(task, uttered.get(condition), whitelists))
        return finished

    def _finish_task(
        self,
        task: Task,
        turns: Sequence[Utterance | None] | None,
        whitelists: Sequence[Mapping[str, Any]],
    ) -> Task:
        data = replace(read_task_data(task, SpeechTaskData), whitelist=list(whitelists))
        stored = msgspec.to_builtins(data)
        user_messages: list[Message | None] = [None] * len(task.turns)
        if turns is not None:
            recogniser = task.axes.get("recogniser", "")
            user_messages = [
                self._make_message(utterance, recogniser) if utterance else None
                for utterance in turns
            ]
            failed = next(
                (utterance.failed for utterance in turns if utterance and utterance.failed), ""
            )
            records = [
                _utterance_record(utterance, recogniser) if utterance else {} for utterance in turns
            ]
            stored["speech"] = {"turns": records} | ({"failed": failed} if failed else {})
        seeded = replace(task, data=stored, seed=self.recipe.seed)
        return self.add_system_prompt(speech_items.replace_user_messages(seeded, user_messages))

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

    def _make_message(self, utterance: Utterance, recogniser: str) -> Message:
        if self.form == "sound" and utterance.audio is not None:
            return Message(role="user", parts=(utterance.audio,))
        text = utterance.heard[recogniser].text if recogniser in utterance.heard else ""
        return Message(role="user", parts=(Text(text),))


@lru_cache(maxsize=2)
def load_pipeline(recipe: SpeechRecipe, home: str) -> SpeechPipeline:
    """Return this process's speech pipeline: voices and models are loaded once."""
    return SpeechPipeline(recipe, Path(home))


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
        if (task := next(group)).axes["condition"] != TEXT
        for written in read_task_data(task, SpeechTaskData).written
    )
    return (
        f"{format_count(clips)} clips to be spoken, but for those that are stored" if clips else ""
    )


def system_prompt(heard_form: system_prompts.HearingMode | Literal["none"]) -> str:
    """Return the system prompt, none where none is wanted."""
    return "" if heard_form == "none" else system_prompts.make_system_prompt(heard_form)
