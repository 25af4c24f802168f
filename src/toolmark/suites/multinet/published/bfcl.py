"""BFCL's multi-turn base conversations, from the published layout or from the official package.

`bfcl_v3/<split>/` has `questions.jsonl` (id, question: turns of messages, initial_config,
involved_classes, path) and `answers.jsonl` (id, ground_truth: the calls of each turn), joined by
id. Without a folder the same rows come from the package that `toolmark fetch bfcl` stores. Its
release is BFCL V4's, in which some entries were corrected since V3.

`path` lists the calls that the author intended, and the published prompt shows it under another
name: it nearly reveals the truth. This reader never reads it. As `functions` the model sees every
function of the involved classes with its official docs.

MultiNet asks 20 % of the 200 conversations. From the official 200 rows, here or in a folder, 20 %
are asked, drawn by id, and the others are the training split. All rows of any other folder are
asked. `sample` overrides this: "all" or "seeded".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from toolmark.core import seeds
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.formats.parse import python_calls
from toolmark.official_bfcl import multi_turn_tasks, official_data
from toolmark.suites.multinet import published_layout
from toolmark.suites.multinet.frame_records import Frame, FunctionCalls
from toolmark.suites.multinet.loaded_rows import LoadedRows, natural_sort_key
from toolmark.suites.multinet.published_layout import RowFaults, Split, SplitFolder

SampleMode: TypeAlias = Literal["", "all", "seeded"]

NAMES = ("bfcl_v3", "bfcl")
CATEGORY = "multi_turn_base"
N_OFFICIAL = 200
SAMPLE_SHARE = 0.2
_SAMPLE_MODES = ("", "all", "seeded")


class _Message(msgspec.Struct, frozen=True):
    content: str


class _Question(msgspec.Struct, frozen=True):
    """An entry. `path` is not a field, so it cannot reach a prompt."""

    id: str
    question: list[list[_Message]]
    initial_config: dict[str, Any]
    involved_classes: list[str]


class _Answer(msgspec.Struct, frozen=True):
    id: str
    ground_truth: list[list[str]]


class _ConversationFiles(NamedTuple):
    """The two files."""

    split_folder: SplitFolder
    questions: Path
    answers: Path


def rows(folder: Path | None, *, split: Split, seed: int, sample: SampleMode = "") -> LoadedRows:
    """Read a split. Raises DataError that lists every bad entry with its line."""
    if sample not in _SAMPLE_MODES:
        raise UsageError(f"bfcl: no sample {sample!r}{suggest_names(sample, _SAMPLE_MODES[1:])}")
    published_layout.check_split(split)
    official = official_data.fetch_wheel()
    train_folder = published_layout.find_split_folder(folder, NAMES, "train") if folder else None
    source = _locate_files(folder, split if train_folder else "test", official)
    frames = sorted(
        _read_conversations(source, official), key=lambda frame: natural_sort_key(frame.id)
    )
    sample_mode = (
        "all" if train_folder else sample or ("seeded" if len(frames) == N_OFFICIAL else "all")
    )
    selected = _draw_sample(frames, seed) if sample_mode == "seeded" else frames
    notes = [f"BFCL: {len(selected)} of {len(frames)} conversations"]
    if sample_mode == "seeded":
        notes[0] += (
            f", drawn by id with seed {seed}; {len(frames) - len(selected)} are reserved to learn"
        )
        notes[0] += " from, unless sample=all asks them too"
    if folder is None:
        notes.append(
            f"BFCL: from {official_data.PACKAGE.name} {official_data.PACKAGE.version}, the release "
            "of V4"
        )
    if split == "train" and not train_folder:
        ids = {frame.id for frame in selected}
        selected = [frame for frame in frames if frame.id not in ids]
    docs_hash = {official_data.PACKAGE.file: official_data.PACKAGE.sha256}
    return LoadedRows(tuple(selected), source.split_folder.hashes | docs_hash, tuple(notes))


def _draw_sample(frames: list[Frame], seed: int) -> list[Frame]:
    """Return a fifth of the frames, in their order; the number does not depend on the seed."""
    draws = {
        frame.id: seeds.make_rng(seed, frame.id, 0, "multinet bfcl").random() for frame in frames
    }
    drawn_ids = set(
        sorted(draws, key=lambda id: (draws[id], id))[: round(SAMPLE_SHARE * len(frames))]
    )
    return [frame for frame in frames if frame.id in drawn_ids]


def _locate_files(folder: Path | None, split: Split, official: Path) -> _ConversationFiles:
    if folder is None:
        data_folder = official / "bfcl_eval" / "data"
        name = f"BFCL_v4_{CATEGORY}.json"
        return _ConversationFiles(
            SplitFolder(data_folder, data_folder),
            data_folder / name,
            data_folder / "possible_answer" / name,
        )
    split_folder = published_layout.find_split_folder(folder, NAMES, split)
    assert split_folder is not None  # `train` is asked for only if it exists
    return _ConversationFiles(
        split_folder, split_folder.path / "questions.jsonl", split_folder.path / "answers.jsonl"
    )


def _read_conversations(source: _ConversationFiles, official: Path) -> list[Frame]:
    faults = RowFaults()
    truths: dict[str, _Answer] = {}
    for number, row in published_layout.parse_json_lines(
        source.split_folder.read_bytes(source.answers), _Answer, faults
    ):
        if row.id in truths:
            faults.add(f"line {number}", f"id {row.id!r} stands there twice")
        truths[row.id] = row
    faults.raise_if_any(source.answers)
    frames = list(_parse_conversations(source, truths, official, faults))
    faults.raise_if_any(source.questions)
    if not frames:
        raise DataError(f"{source.questions}: holds no conversation")
    if unmatched := sorted(truths.keys() - {frame.id for frame in frames}):
        raise DataError(
            f"{source.answers}: answers without a question: {len(unmatched)}, such as "
            f"{unmatched[0]!r}"
        )
    return frames


def _parse_conversations(
    source: _ConversationFiles, truths: dict[str, _Answer], official: Path, faults: RowFaults
) -> Iterator[Frame]:
    seen_ids: set[str] = set()
    for number, row in published_layout.parse_json_lines(
        source.split_folder.read_bytes(source.questions), _Question, faults
    ):
        where = f"line {number}"
        truth = truths.get(row.id)
        if row.id in seen_ids:
            faults.add(where, f"id {row.id!r} stands there twice")
        elif truth is None:
            faults.add(where, f"id {row.id!r} has no answer")
        elif len(truth.ground_truth) != len(row.question) or not row.question:
            faults.add(where, f"{len(row.question)} turns, {len(truth.ground_truth)} answered")
        elif not all(turn and turn[-1].content.strip() for turn in row.question):
            faults.add(where, "a turn in which nothing is said")
        elif not row.involved_classes:
            faults.add(where, "no involved_classes: there is nothing to call")
        elif len({*row.involved_classes}) < len(row.involved_classes):
            faults.add(where, "involved_classes names one twice")
        elif invalid_call := next(filter(_is_not_single_call, chain(*truth.ground_truth)), ""):
            faults.add(where, f"its answer holds what is not a call: {invalid_call!r}")
        else:
            try:
                frame = _build_frame(row, truth, function_docs(official, row.involved_classes))
            except (DataError, RecursionError) as error:
                deep = "its initial_config is nested too deeply"
                faults.add(where, str(error) if isinstance(error, DataError) else deep)
                continue
            seen_ids.add(row.id)
            yield frame


def _is_not_single_call(text: str) -> bool:
    """Return whether a text is anything but one call, as the scorer parses calls."""
    try:
        return len(python_calls.parse_written_calls(text)) != 1
    except (python_calls.UnreadableCalls, ValueError):
        return True


def function_docs(official: Path, classes: Iterable[str]) -> str:
    """Return the official docs of all functions of some classes, as JSON, one per line."""
    keys = ("name", "description", "parameters")
    found = [
        tool.source
        for name in classes
        for tool in multi_turn_tasks.read_class_tools(official, name)
    ]
    encoded = (msgspec.json.encode({key: doc[key] for key in keys}).decode() for doc in found)
    return "\n".join(encoded)


def _build_frame(row: _Question, truth: _Answer, functions: str) -> Frame:
    return Frame(
        id=row.id,
        family="bfcl",
        source="published",
        space=FunctionCalls(),
        truth=tuple(map(tuple, truth.ground_truth)),
        group=row.id,
        fields={
            "initial_config": json.dumps(row.initial_config, ensure_ascii=False),
            "classes": ", ".join(row.involved_classes),
            "functions": functions,
        },
        turns=tuple(turn[-1].content for turn in row.question),
        slices={"turns": str(len(row.question))},
    )
