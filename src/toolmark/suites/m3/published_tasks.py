"""The published file layouts of tasks and reference trajectories, and the tasks made from them.

A file is a list of objects, or one object with the entries by id. Each entry has `id`, `image`,
`type`, `question`, and `steps` of `calls` with `name` and `arguments`; only tasks have `prompt`.
The first four digits of an id are the number of its kind of task (specification, section 1.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.records import Image, Limits, Message, Part, Task, Text, Turn
from toolmark.core.task_data import read_task_data
from toolmark.environments.mcp.mcp_environment import MODEL_WORKSPACE
from toolmark.suites.m3 import prediction_files
from toolmark.suites.m3.m3_task_data import M3TaskData, PlainStep
from toolmark.suites.m3.prediction_files import EntryProblem

SUITE_NAME = "m3"
TASK_KINDS = (
    "prices", "sights", "films", "vision papers", "camping", "fish", "drugs", "hazards",
    "food notes", "medical notes", "barcodes", "specimens", "fruit", "medicine", "QR sights",
    "routine", "species", "slides", "travel", "heat maps", "museums", "stations", "icons",
    "crypto", "stocks", "cars", "lessons", "packages",
)  # fmt: skip
LIMITS = Limits(steps=20)
# Ids that a note names; the rest are counted.
_MAX_LISTED_IDS = 20

_MIMES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
EMPTY_REFERENCE = "its reference has no calls: nothing can be aligned with it"
_OUTSIDE_MESSAGE = "a picture's name must stay inside its folder"
_UNSUPPORTED_VALUE = (
    "holds a number that is not finite or has more than 64 bits, or half a character: "
    "write it as a text"
)


class ReferenceCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a trajectory; other fields of the file are left out."""

    name: str
    arguments: Any = None


class ReferenceStep(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one step, which do not depend on each other."""

    calls: tuple[ReferenceCall, ...]


class TaskEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A task, a reference trajectory or a prediction.

    `answers` is empty in the published files. If your own task has `answers`, the final reply must
    contain each of them, and this decides whether the episode is correct.
    """

    id: str
    question: str
    image: str = ""
    type: str = ""
    prompt: str = ""
    steps: tuple[ReferenceStep, ...] = ()
    final_reply: str = ""
    answers: tuple[str, ...] = ()


def read_task_entries(path: Path) -> tuple[list[TaskEntry], list[str]]:
    """Return the entries of a file in order of first appearance, and the ids that appear again.

    Of entries with the same id the last one counts, as in the reference code. Raises DataError with
    the line of invalid JSON, or with the JSON path of every problem.
    """
    found: dict[str, TaskEntry] = {}
    duplicates: list[str] = []
    problems: list[EntryProblem] = []
    for where, row in prediction_files.iterate_entries(path, "id, question, steps"):
        entry = _check_entry(row, where)
        if isinstance(entry, EntryProblem):
            problems.append(entry)
            continue
        if entry.id in found:
            duplicates.append(entry.id)
        found[entry.id] = entry
    if problems:
        raise DataError(prediction_files.problems_text(path, problems))
    return list(found.values()), duplicates


def _check_entry(row: Any, where: str) -> TaskEntry | EntryProblem:
    entry = prediction_files.convert_entry(row, TaskEntry, where)
    if isinstance(entry, EntryProblem):
        return entry
    if _leaves_folder(entry.image):
        return EntryProblem(f"{where}.image", f"{entry.image!r}: {_OUTSIDE_MESSAGE}")
    try:
        is_exact = msgspec.json.decode(msgspec.json.encode(entry), type=TaskEntry) == entry
    except (OverflowError, UnicodeEncodeError):
        is_exact = False
    return entry if is_exact else EntryProblem(where, _UNSUPPORTED_VALUE)


# --- tasks ------------------------------------------------------------------------------


def task_kind(id: str) -> str:
    """Return the kind of task of an id; "" for an unknown number."""
    number = id[:4]
    known = number.isdecimal() and len(id) == 8 and int(number) < len(TASK_KINDS)
    return TASK_KINDS[int(number)] if known else ""


def server_names(steps: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the servers that the calls of a trajectory name, in order of appearance."""
    names = (call["name"].partition("/")[0] for step in steps for call in step["calls"])
    return tuple(dict.fromkeys(names))


def hop_axes(steps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the axes of a trajectory.

    `hops` is "multi" with more than one step, `threads` is "multi" if any step has more than one
    call; otherwise each is "single".
    """
    return {
        "hops": "multi" if len(steps) > 1 else "single",
        "threads": "multi" if any(len(step["calls"]) > 1 for step in steps) else "single",
    }


def plain_steps(steps: Iterable[ReferenceStep]) -> list[PlainStep]:
    """Return steps in the published layout as plain JSON values; empty if no step has a call."""
    plain: list[PlainStep] = [
        {"calls": [{"name": call.name, "arguments": call.arguments} for call in step.calls]}
        for step in steps
    ]
    return plain if any(step["calls"] for step in plain) else []


def make_task(
    entry: TaskEntry,
    question: str,
    folder: Path,
    media: MediaStore,
    *,
    similarity: str,
    suite: str = SUITE_NAME,
) -> Task:
    """Make the task of a reference trajectory; its picture is read from the folder.

    A missing picture is named in `data.missing`, and the task is not run. Raises DataError
    for a picture that cannot be read, or whose name leads out of the folder.
    """
    steps = plain_steps(entry.steps)
    data = M3TaskData(
        steps=steps,
        answer=entry.final_reply,
        servers=server_names(steps),
        similarity=similarity,
        answers=tuple(entry.answers),
    )
    parts: list[Part] = [Text(question)]
    if entry.image:
        try:
            image = load_picture(folder, entry.image, media)
        except DataError as error:
            raise DataError(f"task {entry.id!r}: {error}") from None
        name = PurePosixPath(entry.image).name
        if image is None:
            # Without the folder: tasks are compared by content.
            data = replace(data, missing=entry.image)
        else:
            parts = [Text(question_with_picture(question, name)), image]
            data = replace(data, images=(name,))
    return Task(
        id=entry.id,
        item=entry.id,
        suite=suite,
        category=task_kind(entry.id) or entry.type,
        turns=(Turn(messages=(Message(role="user", parts=tuple(parts)),)),),
        data=msgspec.to_builtins(data),
        axes=hop_axes(steps),
        limits=LIMITS,
    )


def question_with_picture(question: str, name: str) -> str:
    """Return the question with the path at which tools find the picture."""
    return f"{question}\n\nThe picture is also a file: {MODEL_WORKSPACE}/images/{name}"


def load_picture(folder: Path, name: str, media: MediaStore) -> Image | None:
    """Return a picture of the folder, stored in `media`.

    Returns None for a missing file or an unknown file type. Raises DataError for a name that leads
    out of the folder, and for a file that cannot be read.
    """
    if _leaves_folder(name):
        raise DataError(f"{name!r}: {_OUTSIDE_MESSAGE}")
    path = folder / name
    mime = _MIMES.get(path.suffix.lower())
    if mime is None or not path.is_file():
        return None
    try:
        return media.add_image(path.read_bytes(), mime)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None


def _leaves_folder(name: str) -> bool:
    inside = PurePosixPath(name)
    return inside.is_absolute() or ".." in inside.parts or "\0" in name


def reference_notes(tasks: Iterable[Task]) -> list[str]:
    """Return notes on references without calls and on references with one step."""
    listed = list(tasks)
    n_steps = {task.id: len(read_task_data(task, M3TaskData).reference_steps) for task in listed}
    empty = [id for id, n in n_steps.items() if not n]
    sizes = [n for n in n_steps.values() if n]
    lines = []
    if empty:
        lines.append(
            "references without calls, nothing can be aligned with them, not run: "
            f"{list_ids(empty)}"
        )
    if single := sizes.count(1):
        best_possible = 1 - single / len(sizes) / 6
        lines.append(
            f"{single} of {len(sizes)} references have one step: the official rule gives their "
            "order 0, and so nobody more than "
            f"{number_format.format_percent(best_possible)} alignment; fair does not "
            "(docs/suites/m3-metrics.md)"
        )
    return lines


def list_ids(ids: Sequence[str]) -> str:
    """Return the first ids of a list as text, and how many more there are."""
    more = f" and {len(ids) - _MAX_LISTED_IDS} more" if len(ids) > _MAX_LISTED_IDS else ""
    return ", ".join(ids[:_MAX_LISTED_IDS]) + more


def duplicate_ids_note(duplicates: Sequence[str], path: Path) -> str:
    """Return a note on ids that appear more than once in a file; "" if there are none."""
    if not duplicates:
        return ""
    listed = ", ".join(f"{id} ({n + 1} times)" for id, n in Counter(duplicates).items())
    return f"{path}: the last entry of each id counts: {listed}"


def unplayable_reason(task: Task) -> str:
    """Return why a task cannot be played, "" if it can.

    A task without its picture, or with a reference without calls, is not playable. A task without a
    reference is playable: authors of references play such tasks.
    """
    data = read_task_data(task, M3TaskData)
    if data.steps == []:
        return EMPTY_REFERENCE
    return f"the picture is missing: {data.missing}" if data.missing else ""
