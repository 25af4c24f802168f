"""Edits of an item: each leaves question and answer true, and describes its change.

| edit | what it does |
|---|---|
| own | what the author wrote for the item, in `edits.jsonl` next to the items |
| unhint | removes the hint |
| context | adds unrelated sentences before the question |
| crop | crops the picture to another shape; clue and look-alikes stay |
| hops | draws another item of the same domain and query type, one page further (generated ones) |
| hint | says where to look and how many pages to find; only for items marked unclear |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.media import MediaStore, task_pictures
from toolmark.core.records import Image, Task
from toolmark.core.task_data import read_task_data
from toolmark.perturb.image import picture_file
from toolmark.studio.vision_tuning.author_edits import AuthorEdit
from toolmark.studio.vision_tuning.unrelated_sentences import unrelated_sentences
from toolmark.suites.mfcl_vision import item_validation, picture_variants, prompts
from toolmark.suites.mfcl_vision.item_records import ItemTruth, SignMark

AUTHOR_EDIT, HINT_EDIT, UNHINT_EDIT, HOPS_EDIT = "own", "hint", "unhint", "hops"
HARDER_EDITS = (UNHINT_EDIT, "context", "crop", HOPS_EDIT)
"""In the order in which they are tried."""
_N_SENTENCES = 2
_CROP_VARIATIONS = ("crop-4:3", "crop-16:9")
_ROWS, _COLUMNS = ("upper", "middle", "lower"), ("left", "middle", "right")


class EditedTask(NamedTuple):
    """A task after an edit, and a description of the change."""

    task: Task
    description: str


def apply_edit(name: str, task: Task, rng: Random, media: MediaStore) -> EditedTask:
    """Make one edit other than own and hops. Raises ValueError where the item does not allow it."""
    return _EDIT_FUNCTIONS[name](task, rng, media)


def apply_author_edit(task: Task, author_edit: AuthorEdit) -> EditedTask:
    """Make an author's edit. Raises ValueError where the question would then contain the answer."""
    truth = read_task_data(task, ItemTruth)
    parts = {name: text for name, text in author_edit.parts.items() if text is not None}
    question = replace(truth.question, **parts)
    truth = replace(truth, question=question)
    if author_edit.answers:  # old hops and look-alikes belong to the old question
        marks = tuple(replace(mark, answer="", hrefs=()) for mark in truth.marks)
        truth = replace(truth, answers=author_edit.answers, hops=author_edit.trace, marks=marks)
    description = (
        author_edit.note
        or f"own {', '.join([*parts, *(['answer'] if author_edit.answers else [])])}"
    )
    return EditedTask(_rebuild_task(task, truth), description)


def _remove_hint(task: Task, rng: Random, media: MediaStore) -> EditedTask:
    truth = read_task_data(task, ItemTruth)
    if not truth.question.hint:
        raise ValueError("it has no hint")
    question = replace(truth.question, hint="")
    return EditedTask(
        _rebuild_task(task, replace(truth, question=question)), f"took away {truth.question.hint!r}"
    )


def _add_context(task: Task, rng: Random, media: MediaStore) -> EditedTask:
    truth = read_task_data(task, ItemTruth)
    unused = [aside for aside in unrelated_sentences() if aside not in truth.question.context]
    if len(unused) < _N_SENTENCES:
        raise ValueError("every sentence stands there already")
    added = " ".join(unused[i] for i in seeds.sample_indices(rng, len(unused), _N_SENTENCES))
    context = f"{truth.question.context} {added}".strip()
    question = replace(truth.question, context=context)
    return EditedTask(_rebuild_task(task, replace(truth, question=question)), f"added {added!r}")


def _crop_picture(task: Task, rng: Random, media: MediaStore) -> EditedTask:
    """Crop to the first of the shapes, in a random order, that removes something."""
    truth = read_task_data(task, ItemTruth)
    if not any(mark.role == "clue" and mark.box for mark in truth.marks):
        raise ValueError("it is not known where the clue is")
    old = task_picture(task)
    image = picture_file.decode_picture(media.read(old), task.item)
    shapes = list(_CROP_VARIATIONS)
    seeds.shuffle_items(rng, shapes)
    reason = ""
    for shape in shapes:
        cut = picture_variants.render_variant(
            image, truth.marks, shape, task.seed, task.item, picture_variants.CHOICE_ROLES
        )
        if not cut.note:
            cropped = replace(truth, marks=cut.marks, size=cut.size)
            part = media.add_image(cut.data, cut.mime)
            return EditedTask(
                _rebuild_task(task, cropped, part),
                f"{shape}: {_describe_sizes(image.size, cut.size)}",
            )
        reason = cut.note
    raise ValueError(reason)


def _describe_sizes(old: tuple[int, int], new: tuple[int, int]) -> str:
    return f"{old[0]} x {old[1]} to {new[0]} x {new[1]} pixels"


def _add_hint(task: Task, rng: Random, media: MediaStore) -> EditedTask:
    truth = read_task_data(task, ItemTruth)
    if truth.question.hint:
        raise ValueError("it has a hint already")
    clue = next((mark for mark in truth.marks if mark.role == "clue"), None)
    n = len(truth.hops)
    hop_note = f" {n} pages have to be found one after the other." if n > 1 else ""
    hint = f"{_describe_clue_place(clue, truth)}{hop_note}"
    question = replace(truth.question, hint=hint)
    return EditedTask(_rebuild_task(task, replace(truth, question=question)), f"added {hint!r}")


def _describe_clue_place(clue: SignMark | None, truth: ItemTruth) -> str:
    """Return a hint on the place and kind of the clue, without its text."""
    if clue is None:
        return "Say in words what the picture shows and search for that."
    noun = "emblem" if clue.symbol and not clue.text else "lettering" if clue.text else "clue"
    names_position = any(
        item_validation.contains_words(prompts.question_text(truth.question), word)
        for word in _COLUMNS
    )
    if clue.box is None or not all(truth.size) or names_position:
        return f"The {noun} in the picture tells what to search for."
    x = (clue.box[0] + clue.box[2]) / 2 / truth.size[0]
    y = (clue.box[1] + clue.box[3]) / 2 / truth.size[1]
    row, column = _ROWS[min(2, int(3 * y))], _COLUMNS[min(2, int(3 * x))]
    position = "centre" if row == column else f"{row} {column}"
    return f"The {noun} in the {position} of the picture tells what to search for."


_EDIT_FUNCTIONS: Mapping[str, Callable[[Task, Random, MediaStore], EditedTask]] = {
    UNHINT_EDIT: _remove_hint, "context": _add_context, "crop": _crop_picture, HINT_EDIT: _add_hint,
}  # fmt: skip


def task_picture(task: Task) -> Image:
    """Return the picture of a task, which must have one."""
    picture, *_ = task_pictures(task)
    return picture


def _rebuild_task(task: Task, truth: ItemTruth, part: Image | None = None) -> Task:
    """Return the task with the new truth. Raises ValueError if the question contains an answer."""
    question = prompts.question_text(truth.question)
    if given_away := next(
        (answer for answer in truth.answers if item_validation.contains_words(question, answer)), ""
    ):
        raise ValueError(f"the question would tell the answer {given_away!r}")
    turn = prompts.make_first_turn(truth.question, part or task_picture(task))
    return replace(task, turns=(turn,), data=msgspec.to_builtins(truth))
