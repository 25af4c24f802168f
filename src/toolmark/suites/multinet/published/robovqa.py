"""RoboVQA in the published layout: `openx_multi_embodiment/<split>/`, as Parquet files of steps.

MultiNet ships TensorFlow snapshots (`translated_shard_<k>/`). They are read where TensorFlow is, by
`python -m toolmark.suites.multinet.openx.export SNAPSHOT OUT.parquet`; the files that it writes go
into the split's folder, or below it. Of their columns `text` is the question, `answer` the truth
and `image` the last frame of the step. A question that stands in several steps of an episode is
asked once, with the picture of the last of them.

What stands before the first `Q:` is the task and its context, what follows it the question; without
a `Q:` all of it is the question. By its type a question asks whether something is so
("feasibility": yes or no) or for an "action". The training split is a folder `train`, or files
called `train.parquet`; those called `test.parquet` are asked alone then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from toolmark.errors import DataError
from toolmark.fetch import digest
from toolmark.suites.multinet import layout as folders
from toolmark.suites.multinet import parquet
from toolmark.suites.multinet.frame import Frame, Words
from toolmark.suites.multinet.held import Cell, Held, order, stepped
from toolmark.suites.multinet.layout import Faults, Room, Split

NAMES = ("openx_multi_embodiment", "robot_vqa", "robovqa")
_EXPORT = "python -m toolmark.suites.multinet.openx.export SNAPSHOT OUT.parquet"
_MARK = "Q:"
_WHETHER = frozenset((
    "am", "are", "can", "could", "did", "do", "does", "has", "have", "is", "may", "might", "must",
    "possible", "satisfied", "should", "was", "were", "will", "would",
))  # fmt: skip


class _Item(NamedTuple):
    frame: Frame
    step: int
    cell: Cell
    where: str


def rows(folder: Path, *, split: Split, seed: int) -> Held:
    """Read a split. Raises DataError that lists every bad row. Nothing is drawn from the seed."""
    room = folders.room(folder, NAMES, split) or folders.room(folder, NAMES, "test")
    assert room is not None  # there always is one to be asked
    paths = _files(room, split)
    if not paths and split == "train":
        return Held((), {}, (f"RoboVQA: {folder} holds no training split",), clustered=True)
    if not paths:
        raise DataError(f"{folders.absent(room.path, 'robovqa')}; out of a snapshot: {_EXPORT}")
    faults = Faults()
    found: dict[tuple[str, str, str], _Item] = {}
    merged = changed = 0
    for path in paths:
        for item in _items(room, path, faults):
            said = item.frame.fields
            key = (item.frame.group, said.get("context", ""), said["question"])
            if key in found:
                merged += 1
                changed += found[key].frame.truth != item.frame.truth
            if key not in found or found[key].step <= item.step:
                found[key] = item
    places = _places(found.values(), faults)
    faults.check(room.path)
    frames = sorted((item.frame for item in found.values()),
                    key=lambda frame: (order(frame.group), order(frame.id)))  # fmt: skip
    if not frames:
        raise DataError(f"{room.path}: holds no question")
    told = (
        f"RoboVQA: steps that ask what another of their episode asks, the last of which is taken: "
        f"{merged}; of these, answered otherwise than the other: {changed}"
    )
    notes = (told,) if merged else ()
    return Held(stepped(frames), room.hashes, notes, clustered=True, images=places)


def _files(room: Room, split: Split) -> list[Path]:
    """Return the split's files: those named for it, else those that are named for none."""
    paths = sorted(room.path.rglob(f"*{parquet.SUFFIX}"))
    own = [path for path in paths if path.stem == split]
    plain = [path for path in paths if path.stem not in ("train", "test")]
    return own or (plain if split == "test" or room.path.name == folders.TRAIN else [])


def _items(room: Room, path: Path, faults: Faults) -> Iterator[_Item]:
    """Go through the questions of a file."""
    room.note(room.inside(path), digest(path))
    told: dict[str, tuple[str, str]] = {}  # a text that a million rows repeat is parted once
    for number, row in enumerate(parquet.rows(path)):
        where = f"{path.name} row {number}"
        if row.text not in told:
            told[row.text] = parted(row.text)
        context, question = told[row.text]
        if why := folders.blank(question=question, answer=row.answer):
            faults.add(where, why)
            continue
        fields = {"context": context, "question": question}
        frame = Frame(
            id=row.id,
            family="robovqa",
            source="published",
            space=Words(),
            truth=row.answer,
            group=row.group,
            fields={key: text for key, text in fields.items() if text},
            slices={"type": kind(question)},
        )
        yield _Item(frame, row.step, Cell(path, number), where)


def _places(items: Iterable[_Item], faults: Faults) -> dict[str, Path | Cell | None]:
    """Return where each question's picture lies, by id; an id that is there twice is noted."""
    places: dict[str, Path | Cell | None] = {}
    for item in items:
        if item.frame.id in places:
            faults.add(item.where, f"id {item.frame.id!r} stands there twice")
        places[item.frame.id] = item.cell
    return places


def parted(text: str) -> tuple[str, str]:
    """Return the context of a question, and the question: what follows the first `Q:`."""
    before, mark, after = text.partition(_MARK)
    return (before.strip(), after.strip()) if mark else ("", text.strip())


def kind(question: str) -> str:
    """Return the type of a question: whether something is so, or which action."""
    first = question.partition(" ")[0].lower().strip("?,.!")
    return "feasibility" if first in _WHETHER else "action"
