"""SQA3D in the published layout: `sqa3d/<split>/`, two JSON files and pictures of the scenes.

One file has "question" in its name: `{"questions": [{question_id, scene_id, situation, question,
...}]}`; one "annotation": `{"annotations": [{question_id, question_type, answers: [{answer}]}]}`.
They are joined by `question_id`, and the first answer is the truth. If a folder has the files of
several splits (as SQA3D's own does), those with `_test_`, or `_train_`, in their names are read. In
that case, and if there is a folder `train`, there is a training split.

Pictures are the PNG files below the folder whose names begin with the id of the scene: the text
before `_vh_clean`, else the first two parts between `_`. They are rendered from ScanNet, whose
users sign its terms of use. A question without its picture is not asked, and no black picture
replaces it. The model sees neither the alternative descriptions of the situation nor the scene's
id.

The data state the type of a question. If they do not ("N/A"), its first word decides, as in SQA3D's
own tables: what, is, how, can, which, other. Rows of one scene are one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from toolmark.core import files
from toolmark.core.errors import DataError
from toolmark.suites.multinet import published_layout
from toolmark.suites.multinet.frame_records import Frame, FreeText
from toolmark.suites.multinet.loaded_rows import LoadedRows, natural_sort_key, number_steps
from toolmark.suites.multinet.published_layout import RowDecoder, RowFaults, Split, SplitFolder

T = TypeVar("T", bound="_WithQuestionId")

NAMES = ("sqa3d",)
QUESTION_TYPES = ("what", "is", "how", "can", "which", "other")
_UNSPECIFIED_TYPES = ("", "n/a", "none")
_SCENE_SUFFIX = "_vh_clean"


class _Questions(msgspec.Struct, frozen=True):
    questions: list[msgspec.Raw]


class _Annotations(msgspec.Struct, frozen=True):
    annotations: list[msgspec.Raw]


class _WithQuestionId(msgspec.Struct, frozen=True):
    question_id: int | str


class _Question(_WithQuestionId, frozen=True):
    scene_id: str
    question: str
    situation: str = ""


class _AnswerText(msgspec.Struct, frozen=True):
    answer: str


class _Annotation(_WithQuestionId, frozen=True):
    answers: list[_AnswerText]
    question_type: str | None = ""


def rows(folder: Path, *, split: Split, seed: int) -> LoadedRows:
    """Read a split. Raises DataError that lists every bad entry. Nothing is drawn from the seed."""
    split_folder = published_layout.find_split_folder(
        folder, NAMES, split
    ) or published_layout.find_split_folder(folder, NAMES, "test")
    assert split_folder is not None  # only a `train` split can be missing
    questions_file, annotations_file = (
        _find_json_file(split_folder, word, split) for word in ("question", "annotation")
    )
    if questions_file is None or annotations_file is None:
        return LoadedRows(
            (), {}, (f"SQA3D: {split_folder.path} holds no split {split}",), clustered=True
        )
    faults = RowFaults()
    raw = published_layout.decode_json_file(
        split_folder.read_bytes(questions_file), _Questions, questions_file
    ).questions
    questions = _index_by_question(raw, _Question, "question", faults)
    raw = published_layout.decode_json_file(
        split_folder.read_bytes(annotations_file), _Annotations, annotations_file
    ).annotations
    truths = _index_by_question(raw, _Annotation, "annotation", faults)
    found = list(_build_frames(questions, truths, faults))
    faults.raise_if_any(questions_file)
    if not found:
        raise DataError(f"{questions_file}: holds no question")
    scenes, notes = _find_scene_pictures(split_folder)
    frames = number_steps(
        sorted(found, key=lambda frame: (natural_sort_key(frame.group), natural_sort_key(frame.id)))
    )
    images = {frame.id: scenes.get(frame.group) for frame in frames}
    if n_unmatched := len(truths.keys() - questions.keys()):
        notes = (*notes, f"SQA3D: annotations without a question, not read: {n_unmatched}")
    missing_picture_reason = f"no PNG of its scene lies in {split_folder.path}"
    return LoadedRows(
        frames,
        split_folder.hashes,
        notes,
        clustered=True,
        images=images,
        missing_picture_reason=missing_picture_reason,
    )


def _find_json_file(split_folder: SplitFolder, word: str, split: Split) -> Path | None:
    """Return the file with a word in its name; if there are several, the split's own.

    None for the training split if no file is named after it.
    """
    candidates = [
        path for path in sorted(split_folder.path.glob("*.json")) if word in path.name.lower()
    ]
    of_split = [path for path in candidates if f"_{split}_" in path.name.lower()]
    if (
        split == "train"
        and split_folder.path.name != published_layout.TRAIN_FOLDER
        and not of_split
    ):
        return None
    return published_layout.require_single_file(
        of_split or candidates, split_folder.path, f"JSON file with {word!r} in its name", "sqa3d"
    )


def _index_by_question(
    raw: Iterable[msgspec.Raw], row_type: type[T], entry_name: str, faults: RowFaults
) -> dict[str, tuple[str, T]]:
    """Return entries with their places in the file, by their question's id."""
    decoder = RowDecoder(row_type)
    found: dict[str, tuple[str, T]] = {}
    for number, text in enumerate(raw, 1):
        where = f"{entry_name} {number}"
        row = decoder.decode_row(text, where, faults)
        if row is None:
            continue
        name = str(row.question_id)
        if name in found:
            faults.add(where, f"question_id {name} is that of {found[name][0]} too")
        else:
            found[name] = (where, row)
    return found


def _build_frames(
    questions: Mapping[str, tuple[str, _Question]],
    truths: Mapping[str, tuple[str, _Annotation]],
    faults: RowFaults,
) -> Iterator[Frame]:
    for name, (where, row) in questions.items():
        why = published_layout.missing_texts(question=row.question, scene_id=row.scene_id)
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
            space=FreeText(),
            truth=answers[0].answer,
            group=row.scene_id,
            fields={key: text for key, text in fields.items() if text},
            slices={"type": question_type(row.question, truths[name][1].question_type or "")},
        )


def question_type(question: str, given_type: str = "") -> str:
    """Return the type of a question: as the data state it, else by its first word."""
    if given_type.strip().lower() not in _UNSPECIFIED_TYPES:
        return given_type.strip().lower()
    first = question.strip().lower().partition(" ")[0].strip("?,.!'\"")
    return first if first in QUESTION_TYPES else "other"


def _find_scene_pictures(split_folder: SplitFolder) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the pictures by scene, and a note if a scene has several."""
    found: dict[str, Path] = {}
    n_repeated = 0
    for path in files.list_files(split_folder.path, (".png",)):
        scene = scene_id_of_picture(path.name)
        n_repeated += scene in found
        found.setdefault(scene, path)
    note = (
        f"SQA3D: pictures not read, since another of their scene comes first by name: {n_repeated}"
    )
    return found, (note,) if n_repeated else ()


def scene_id_of_picture(name: str) -> str:
    """Return the id of the scene at the start of a picture's name."""
    stem = name.rpartition(".")[0]
    return (
        stem.partition(_SCENE_SUFFIX)[0] if _SCENE_SUFFIX in stem else "_".join(stem.split("_")[:2])
    )
