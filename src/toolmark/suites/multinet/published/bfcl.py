"""BFCL's multi-turn base conversations, from the published layout or from the official package.

`bfcl_v3/<split>/` holds `questions.jsonl` (id, question: turns of messages, initial_config,
involved_classes, path) and `answers.jsonl` (id, ground_truth: the calls of each turn), joined by
id. Without a folder the same rows come from the package that `toolmark fetch bfcl` keeps: its
release is BFCL V4's, in which some entries were mended since V3.

`path` lists the calls that the author had in mind, and the published prompt shows it under another
name: it nearly spells out the truth. It is never read here. A model is told, as `functions`, every
function of the involved classes with its official docs.

MultiNet asks 20 % of the 200 conversations. Of the official 200 rows, here or in a folder, a share
of 20 % is asked that is drawn by id, and the others are the training split; any other folder is
asked whole. `sample` says otherwise: "all" or "seeded".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from toolmark import seeds
from toolmark.dialects.parse import python
from toolmark.errors import DataError, UsageError, near
from toolmark.suites.bfcl import data, multi_turn
from toolmark.suites.multinet import layout as folders
from toolmark.suites.multinet.frame import Calls, Frame
from toolmark.suites.multinet.held import Held, order
from toolmark.suites.multinet.layout import Faults, Room, Split

Sample: TypeAlias = Literal["", "all", "seeded"]

NAMES = ("bfcl_v3", "bfcl")
CATEGORY = "multi_turn_base"
N_OFFICIAL = 200
SHARE = 0.2
_SAMPLES = ("", "all", "seeded")


class _Said(msgspec.Struct, frozen=True):
    content: str


class _Question(msgspec.Struct, frozen=True):
    """An entry. Its `path` is not among what is read, so that nothing of it can be told."""

    id: str
    question: list[list[_Said]]
    initial_config: dict[str, Any]
    involved_classes: list[str]


class _Answer(msgspec.Struct, frozen=True):
    id: str
    ground_truth: list[list[str]]


class _Source(NamedTuple):
    """Where the two halves lie."""

    room: Room
    questions: Path
    answers: Path


def rows(folder: Path | None, *, split: Split, seed: int, sample: Sample = "") -> Held:
    """Read a split. Raises DataError that lists every bad entry with its line."""
    if sample not in _SAMPLES:
        raise UsageError(f"bfcl: no sample {sample!r}{near(sample, _SAMPLES[1:])}")
    folders.check(split)
    official = data.fetch()
    apart = folders.room(folder, NAMES, "train") if folder else None
    source = _source(folder, split if apart else "test", official)
    frames = sorted(_read(source, official), key=lambda frame: order(frame.id))
    way = "all" if apart else sample or ("seeded" if len(frames) == N_OFFICIAL else "all")
    mine = _drawn(frames, seed) if way == "seeded" else frames
    notes = [f"BFCL: {len(mine)} of {len(frames)} conversations"]
    if way == "seeded":
        notes[0] += f", drawn by id with seed {seed}; {len(frames) - len(mine)} are kept to learn"
        notes[0] += " from, unless sample=all asks them too"
    if folder is None:
        notes.append(f"BFCL: from {data.PACKAGE.name} {data.PACKAGE.version}, the release of V4")
    if split == "train" and not apart:
        ids = {frame.id for frame in mine}
        mine = [frame for frame in frames if frame.id not in ids]
    docs = {data.PACKAGE.file: data.PACKAGE.sha256}
    return Held(tuple(mine), source.room.hashes | docs, tuple(notes))


def _drawn(frames: list[Frame], seed: int) -> list[Frame]:
    """Return a fifth of them, of whatever seed as many, in their order."""
    lots = {frame.id: seeds.of(seed, frame.id, 0, "multinet bfcl").random() for frame in frames}
    chosen = set(sorted(lots, key=lambda id: (lots[id], id))[: round(SHARE * len(frames))])
    return [frame for frame in frames if frame.id in chosen]


def _source(folder: Path | None, split: Split, official: Path) -> _Source:
    if folder is None:
        home = official / "bfcl_eval" / "data"
        name = f"BFCL_v4_{CATEGORY}.json"
        return _Source(Room(home, home), home / name, home / "possible_answer" / name)
    room = folders.room(folder, NAMES, split)
    assert room is not None  # asked for `train` only where it is
    return _Source(room, room.path / "questions.jsonl", room.path / "answers.jsonl")


def _read(source: _Source, official: Path) -> list[Frame]:
    faults = Faults()
    truths: dict[str, _Answer] = {}
    for number, row in folders.lines(source.room.read(source.answers), _Answer, faults):
        if row.id in truths:
            faults.add(f"line {number}", f"id {row.id!r} stands there twice")
        truths[row.id] = row
    faults.check(source.answers)
    frames = list(_frames(source, truths, official, faults))
    faults.check(source.questions)
    if not frames:
        raise DataError(f"{source.questions}: holds no conversation")
    if spare := sorted(truths.keys() - {frame.id for frame in frames}):
        raise DataError(
            f"{source.answers}: answers without a question: {len(spare)}, such as {spare[0]!r}"
        )
    return frames


def _frames(
    source: _Source, truths: dict[str, _Answer], official: Path, faults: Faults
) -> Iterator[Frame]:
    seen: set[str] = set()
    for number, row in folders.lines(source.room.read(source.questions), _Question, faults):
        where = f"line {number}"
        truth = truths.get(row.id)
        if row.id in seen:
            faults.add(where, f"id {row.id!r} stands there twice")
        elif truth is None:
            faults.add(where, f"id {row.id!r} has no answer")
        elif len(truth.ground_truth) != len(row.question) or not row.question:
            faults.add(where, f"{len(row.question)} turns, {len(truth.ground_truth)} answered")
        elif not all(said and said[-1].content.strip() for said in row.question):
            faults.add(where, "a turn in which nothing is said")
        elif not row.involved_classes:
            faults.add(where, "no involved_classes: there is nothing to call")
        elif len({*row.involved_classes}) < len(row.involved_classes):
            faults.add(where, "involved_classes names one twice")
        elif odd := next(filter(_odd, chain(*truth.ground_truth)), ""):
            faults.add(where, f"its answer holds what is no call: {odd!r}")
        else:
            try:
                frame = _frame(row, truth, docs(official, row.involved_classes))
            except (DataError, RecursionError) as error:
                deep = "its initial_config is nested too deeply"
                faults.add(where, str(error) if isinstance(error, DataError) else deep)
                continue
            seen.add(row.id)
            yield frame


def _odd(text: str) -> bool:
    """Tell whether a text is anything but one call, as the scorer reads calls."""
    try:
        return len(python.whole(text)) != 1
    except (python.Unreadable, ValueError):
        return True


def docs(official: Path, classes: Iterable[str]) -> str:
    """Return the official docs of all functions of some classes, as JSON, one a line."""
    keys = ("name", "description", "parameters")
    found = [tool.source for name in classes for tool in multi_turn.tools(official, name)]
    told = (msgspec.json.encode({key: doc[key] for key in keys}).decode() for doc in found)
    return "\n".join(told)


def _frame(row: _Question, truth: _Answer, functions: str) -> Frame:
    return Frame(
        id=row.id,
        family="bfcl",
        source="published",
        space=Calls(),
        truth=tuple(map(tuple, truth.ground_truth)),
        group=row.id,
        fields={
            "initial_config": json.dumps(row.initial_config, ensure_ascii=False),
            "classes": ", ".join(row.involved_classes),
            "functions": functions,
        },
        turns=tuple(said[-1].content for said in row.question),
        slices={"turns": str(len(row.question))},
    )
