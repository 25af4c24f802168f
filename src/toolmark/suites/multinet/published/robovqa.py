"""RoboVQA in the published layout: `openx_multi_embodiment/<split>/`, as Parquet files of steps.

MultiNet ships TensorFlow snapshots (`translated_shard_<k>/`). On a machine with TensorFlow they are
read by `python -m toolmark.suites.multinet.openx.snapshot_export SNAPSHOT OUT.parquet`; its output
files go into the split's folder, or below it. Of their columns `text` is the question, `answer` the
truth and `image` the last frame of the step. A question that occurs in several steps of an episode
is asked once, with the picture of the last of them.

The text before the first `Q:` is the task and its context, the text after it is the question;
without a `Q:` all of it is the question. The type of a question is "feasibility" (whether something
is so: yes or no) or "action". The training split is a folder `train`, or files called
`train.parquet`; if there are files called `test.parquet`, only these are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from toolmark.core.errors import DataError
from toolmark.core.files import file_sha256
from toolmark.suites.multinet import published_layout, step_parquet
from toolmark.suites.multinet.frame_records import Frame, FreeText
from toolmark.suites.multinet.loaded_rows import (
    LoadedRows,
    PictureCell,
    natural_sort_key,
    number_steps,
)
from toolmark.suites.multinet.published_layout import RowFaults, Split, SplitFolder

NAMES = ("openx_multi_embodiment", "robot_vqa", "robovqa")
_EXPORT_COMMAND = "python -m toolmark.suites.multinet.openx.snapshot_export SNAPSHOT OUT.parquet"
_QUESTION_MARK = "Q:"
_YES_NO_WORDS = frozenset((
    "am", "are", "can", "could", "did", "do", "does", "has", "have", "is", "may", "might", "must",
    "possible", "satisfied", "should", "was", "were", "will", "would",
))  # fmt: skip


class _QuestionItem(NamedTuple):
    frame: Frame
    step: int
    cell: PictureCell
    where: str


def rows(folder: Path, *, split: Split, seed: int) -> LoadedRows:
    """Read a split. Raises DataError that lists every bad row. Nothing is drawn from the seed."""
    split_folder = published_layout.find_split_folder(
        folder, NAMES, split
    ) or published_layout.find_split_folder(folder, NAMES, "test")
    assert split_folder is not None  # only a `train` split can be missing
    paths = _split_files(split_folder, split)
    if not paths and split == "train":
        return LoadedRows((), {}, (f"RoboVQA: {folder} holds no training split",), clustered=True)
    if not paths:
        raise DataError(
            f"{published_layout.missing_data_error(split_folder.path, 'robovqa')}; "
            "out of a snapshot: "
            f"{_EXPORT_COMMAND}"
        )
    faults = RowFaults()
    found: dict[tuple[str, str, str], _QuestionItem] = {}
    n_merged = n_changed = 0
    for path in paths:
        for item in _read_questions(split_folder, path, faults):
            fields = item.frame.fields
            key = (item.frame.group, fields.get("context", ""), fields["question"])
            if key in found:
                n_merged += 1
                n_changed += found[key].frame.truth != item.frame.truth
            if key not in found or found[key].step <= item.step:
                found[key] = item
    locations = _picture_locations(found.values(), faults)
    faults.raise_if_any(split_folder.path)
    frames = sorted(
        (item.frame for item in found.values()),
        key=lambda frame: (natural_sort_key(frame.group), natural_sort_key(frame.id)),
    )
    if not frames:
        raise DataError(f"{split_folder.path}: holds no question")
    note = (
        f"RoboVQA: steps that ask what another of their episode asks, the last of which is taken: "
        f"{n_merged}; of these, answered otherwise than the other: {n_changed}"
    )
    notes = (note,) if n_merged else ()
    return LoadedRows(
        number_steps(frames), split_folder.hashes, notes, clustered=True, images=locations
    )


def _split_files(split_folder: SplitFolder, split: Split) -> list[Path]:
    """Return the split's files: those named after it, else those that are named after no split."""
    paths = sorted(split_folder.path.rglob(f"*{step_parquet.SUFFIX}"))
    of_split = [path for path in paths if path.stem == split]
    unnamed = [path for path in paths if path.stem not in ("train", "test")]
    return of_split or (
        unnamed
        if split == "test" or split_folder.path.name == published_layout.TRAIN_FOLDER
        else []
    )


def _read_questions(
    split_folder: SplitFolder, path: Path, faults: RowFaults
) -> Iterator[_QuestionItem]:
    """Yield the questions of a file."""
    split_folder.record_hash(split_folder.require_inside(path), file_sha256(path))
    parsed_texts: dict[
        str, tuple[str, str]
    ] = {}  # ] = {}  # a text that many rows repeat is split once
    for number, row in enumerate(step_parquet.read_rows(path)):
        where = f"{path.name} row {number}"
        if row.text not in parsed_texts:
            parsed_texts[row.text] = split_question(row.text)
        context, question = parsed_texts[row.text]
        if why := published_layout.missing_texts(question=question, answer=row.answer):
            faults.add(where, why)
            continue
        fields = {"context": context, "question": question}
        frame = Frame(
            id=row.id,
            family="robovqa",
            source="published",
            space=FreeText(),
            truth=row.answer,
            group=row.group,
            fields={key: text for key, text in fields.items() if text},
            slices={"type": question_type(question)},
        )
        yield _QuestionItem(frame, row.step, PictureCell(path, number), where)


def _picture_locations(
    items: Iterable[_QuestionItem], faults: RowFaults
) -> dict[str, Path | PictureCell | None]:
    """Return the place of each question's picture, by id; duplicate ids are added to `faults`."""
    locations: dict[str, Path | PictureCell | None] = {}
    for item in items:
        if item.frame.id in locations:
            faults.add(item.where, f"id {item.frame.id!r} stands there twice")
        locations[item.frame.id] = item.cell
    return locations


def split_question(text: str) -> tuple[str, str]:
    """Return the context of a question, and the question: the text after the first `Q:`."""
    before, mark, after = text.partition(_QUESTION_MARK)
    return (before.strip(), after.strip()) if mark else ("", text.strip())


def question_type(question: str) -> str:
    """Return the type of a question: whether something is so, or which action."""
    first = question.partition(" ")[0].lower().strip("?,.!")
    return "feasibility" if first in _YES_NO_WORDS else "action"
