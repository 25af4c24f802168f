"""SQA3D in the published layout: `sqa3d/<split>/`, two JSON files and pictures of the scenes.

One file has "question" in its name: `{"questions": [{question_id, scene_id, situation, question,
...}]}`; one "annotation": `{"annotations": [{question_id, question_type, answers: [{answer}]}]}`.
They are joined by `question_id`, and the first answer is the truth. Where a folder holds those of
several splits (as SQA3D's own does) the ones with `_test_`, or `_train_`, in their names are read;
then, and where there is a folder `train`, there is a training split.

Pictures are the PNG files below the folder whose names begin with the id of the scene: before
`_vh_clean`, else the first two pieces between `_`. They are rendered from ScanNet, whose terms of
use its users sign. A question without its picture is not asked, and no black one is shown instead.
Neither the other words for the situation nor the scene's id is told to the model.

The type of a question is what the data say; where they say nothing ("N/A") it goes by its first
word, as in SQA3D's own tables: what, is, how, can, which, other. Rows of one scene are one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from toolmark import files
from toolmark.errors import DataError
from toolmark.suites.multinet import layout as folders
from toolmark.suites.multinet.frame import Frame, Words
from toolmark.suites.multinet.held import Held, order, stepped
from toolmark.suites.multinet.layout import Decoder, Faults, Room, Split

T = TypeVar("T", bound="_Joined")

NAMES = ("sqa3d",)
TYPES = ("what", "is", "how", "can", "which", "other")
_UNTOLD = ("", "n/a", "none")
_CLEAN = "_vh_clean"


class _Questions(msgspec.Struct, frozen=True):
    questions: list[msgspec.Raw]


class _Annotations(msgspec.Struct, frozen=True):
    annotations: list[msgspec.Raw]


class _Joined(msgspec.Struct, frozen=True):
    question_id: int | str


class _Question(_Joined, frozen=True):
    scene_id: str
    question: str
    situation: str = ""


class _Said(msgspec.Struct, frozen=True):
    answer: str


class _Annotation(_Joined, frozen=True):
    answers: list[_Said]
    question_type: str | None = ""


def rows(folder: Path, *, split: Split, seed: int) -> Held:
    """Read a split. Raises DataError that lists every bad entry. Nothing is drawn from the seed."""
    room = folders.room(folder, NAMES, split) or folders.room(folder, NAMES, "test")
    assert room is not None  # there always is one to be asked
    asked, told = (_file(room, word, split) for word in ("question", "annotation"))
    if asked is None or told is None:
        return Held((), {}, (f"SQA3D: {room.path} holds no split {split}",), clustered=True)
    faults = Faults()
    raw = folders.whole(room.read(asked), _Questions, asked).questions
    questions = _by_id(raw, _Question, "question", faults)
    raw = folders.whole(room.read(told), _Annotations, told).annotations
    truths = _by_id(raw, _Annotation, "annotation", faults)
    found = list(_frames(questions, truths, faults))
    faults.check(asked)
    if not found:
        raise DataError(f"{asked}: holds no question")
    scenes, notes = _scenes(room)
    frames = stepped(sorted(found, key=lambda frame: (order(frame.group), order(frame.id))))
    images = {frame.id: scenes.get(frame.group) for frame in frames}
    if spare := len(truths.keys() - questions.keys()):
        notes = (*notes, f"SQA3D: annotations without a question, not read: {spare}")
    lack = f"no PNG of its scene lies in {room.path}"
    return Held(frames, room.hashes, notes, clustered=True, images=images, lack=lack)


def _file(room: Room, word: str, split: Split) -> Path | None:
    """Return the file with a word in its name, of several the split's own.

    None for the training split where no file says that it is of that.
    """
    known = [path for path in sorted(room.path.glob("*.json")) if word in path.name.lower()]
    own = [path for path in known if f"_{split}_" in path.name.lower()]
    if split == "train" and room.path.name != folders.TRAIN and not own:
        return None
    return folders.one(own or known, room.path, f"JSON file with {word!r} in its name", "sqa3d")


def _by_id(
    raw: Iterable[msgspec.Raw], kind: type[T], what: str, faults: Faults
) -> dict[str, tuple[str, T]]:
    """Return entries with where each stands, by their question's id."""
    decoder = Decoder(kind)
    found: dict[str, tuple[str, T]] = {}
    for number, text in enumerate(raw, 1):
        where = f"{what} {number}"
        row = decoder.read(text, where, faults)
        if row is None:
            continue
        name = str(row.question_id)
        if name in found:
            faults.add(where, f"question_id {name} is that of {found[name][0]} too")
        else:
            found[name] = (where, row)
    return found


def _frames(
    questions: Mapping[str, tuple[str, _Question]],
    truths: Mapping[str, tuple[str, _Annotation]],
    faults: Faults,
) -> Iterator[Frame]:
    for name, (where, row) in questions.items():
        why = folders.blank(question=row.question, scene_id=row.scene_id)
        answers = truths[name][1].answers if name in truths else []
        if name not in truths:
            why = why or f"question_id {name} has no annotation"
        elif not answers or not answers[0].answer.strip():
            why = why or f"question_id {name} has no answer"
        if why:
            faults.add(where, why)
            continue
        fields = {"situation": row.situation.strip(), "question": row.question.strip()}
        yield Frame(
            id=name,
            family="sqa3d",
            source="published",
            space=Words(),
            truth=answers[0].answer,
            group=row.scene_id,
            fields={key: text for key, text in fields.items() if text},
            slices={"type": kind(row.question, truths[name][1].question_type or "")},
        )


def kind(question: str, told: str = "") -> str:
    """Return the type of a question: as the data tell it, else by its first word."""
    if told.strip().lower() not in _UNTOLD:
        return told.strip().lower()
    first = question.strip().lower().partition(" ")[0].strip("?,.!'\"")
    return first if first in TYPES else "other"


def _scenes(room: Room) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the pictures by scene, and a note where a scene has several."""
    found: dict[str, Path] = {}
    twice = 0
    for path in files.below(room.path, (".png",)):
        scene = scene_of(path.name)
        twice += scene in found
        found.setdefault(scene, path)
    note = f"SQA3D: pictures not read, since another of their scene comes first by name: {twice}"
    return found, (note,) if twice else ()


def scene_of(name: str) -> str:
    """Return the id of the scene that a picture's name begins with."""
    stem = name.rpartition(".")[0]
    return stem.partition(_CLEAN)[0] if _CLEAN in stem else "_".join(stem.split("_")[:2])
