"""The published layouts: tasks, reference trajectories, predictions; and tasks made of them.

A file is a list of objects, or an object of them by id. Each has `id`, `image`, `type`,
`question`, and `steps` of `calls` with `name` and `arguments`; only tasks have `prompt`. The first
four digits of an id are the number of its kind of task (specification section 1.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from toolmark.errors import DataError
from toolmark.media import Media
from toolmark.suites.m3 import interchange
from toolmark.suites.m3.interchange import Problem
from toolmark.types import Image, Limits, Message, Part, Task, Text, Turn
from toolmark.worlds.mcp.site import SHOWN

SUITE = "m3"
KINDS = (
    "prices", "sights", "films", "vision papers", "camping", "fish", "drugs", "hazards",
    "food notes", "medical notes", "barcodes", "specimens", "fruit", "medicine", "QR sights",
    "routine", "species", "slides", "travel", "heat maps", "museums", "stations", "icons",
    "crypto", "stocks", "cars", "lessons", "packages",
)  # fmt: skip
LIMITS = Limits(steps=20)
_IDS = 20  # that are named

_MIMES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
EMPTY = "its reference has no calls: nothing can be aligned with it"
_OUTSIDE = "a picture's name must stay inside its folder"
_ODD = (
    "holds a number that is not finite or has more than 64 bits, or half a character: "
    "write it as a text"
)


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a trajectory; what the file holds beside name and arguments is left out."""

    name: str
    arguments: Any = None


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one step, which need nothing of each other."""

    calls: tuple[Made, ...]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A task, a reference trajectory or a prediction.

    `answers` are none in the published files: where a task of one's own names some, the final reply
    must tell each of them, and that decides whether it is correct.
    """

    id: str
    question: str
    image: str = ""
    type: str = ""
    prompt: str = ""
    steps: tuple[Stage, ...] = ()
    final_reply: str = ""
    answers: tuple[str, ...] = ()


def read(path: Path) -> tuple[list[Entry], list[str]]:
    """Return the entries of a file by their first appearance, and the ids that stand there twice.

    Of entries with one id the last one counts, as in the reference code. Raises DataError with
    the line, or with the JSON path of everything that is not as expected.
    """
    found: dict[str, Entry] = {}
    twice: list[str] = []
    problems: list[Problem] = []
    for where, row in interchange.entries(path, "id, question, steps"):
        entry = _entry(row, where)
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        if entry.id in found:
            twice.append(entry.id)
        found[entry.id] = entry
    if problems:
        raise DataError(interchange.listed(path, problems))
    return list(found.values()), twice


def _entry(row: Any, where: str) -> Entry | Problem:
    entry = interchange.shaped(row, Entry, where)
    if isinstance(entry, Problem):
        return entry
    if _leaves(entry.image):
        return Problem(f"{where}.image", f"{entry.image!r}: {_OUTSIDE}")
    try:
        kept = msgspec.json.decode(msgspec.json.encode(entry), type=Entry) == entry
    except (OverflowError, UnicodeEncodeError):
        kept = False
    return entry if kept else Problem(where, _ODD)


# --- tasks ------------------------------------------------------------------------------


def kind(id: str) -> str:
    """Return the name of an id's kind of task; "" where its number is none."""
    number = id[:4]
    known = number.isdecimal() and len(id) == 8 and int(number) < len(KINDS)
    return KINDS[int(number)] if known else ""


def servers(steps: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the servers that the calls of a trajectory name, in order of appearance."""
    names = (call["name"].partition("/")[0] for step in steps for call in step["calls"])
    return tuple(dict.fromkeys(names))


def flags(steps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the axes of a trajectory: hops, one step or several; threads, calls at once or not."""
    return {
        "hops": "multi" if len(steps) > 1 else "single",
        "threads": "multi" if any(len(step["calls"]) > 1 for step in steps) else "single",
    }


def plain(steps: Iterable[Stage]) -> list[dict[str, Any]]:
    """Return steps as they are published, of plain JSON values; none where no step has a call."""
    made = [
        {"calls": [{"name": call.name, "arguments": call.arguments} for call in step.calls]}
        for step in steps
    ]
    return made if any(step["calls"] for step in made) else []


def task(
    entry: Entry, question: str, folder: Path, media: Media, *, similarity: str, suite: str = SUITE
) -> Task:
    """Make the task of a reference trajectory; its picture is looked for in the folder.

    A picture that is not there is named in `reference["missing"]`, and the task will not be run.
    """
    steps = plain(entry.steps)
    reference: dict[str, Any] = {
        "steps": steps,
        "answer": entry.final_reply,
        "servers": servers(steps),
        "similarity": similarity,
    }
    if entry.answers:
        reference["answers"] = list(entry.answers)
    parts: list[Part] = [Text(question)]
    if entry.image:
        try:
            shown = picture(folder, entry.image, media)
        except DataError as error:
            raise DataError(f"task {entry.id!r}: {error}") from None
        name = PurePosixPath(entry.image).name
        if shown is None:
            reference["missing"] = entry.image  # not its folder: tasks are compared by content
        else:
            parts = [Text(told(question, name)), shown]
            reference["images"] = (name,)
    return Task(
        id=entry.id,
        item=entry.id,
        suite=suite,
        category=kind(entry.id) or entry.type,
        turns=(Turn(messages=(Message(role="user", parts=tuple(parts)),)),),
        reference=reference,
        axes=flags(steps),
        limits=LIMITS,
    )


def told(question: str, name: str) -> str:
    """Return the question with the place at which tools find the picture."""
    return f"{question}\n\nThe picture is also a file: {SHOWN}/images/{name}"


def picture(folder: Path, name: str, media: Media) -> Image | None:
    """Return a picture of the folder, kept in the store; None where there is none.

    Raises DataError for a name that leads out of the folder.
    """
    if _leaves(name):
        raise DataError(f"{name!r}: {_OUTSIDE}")
    path = folder / name
    mime = _MIMES.get(path.suffix.lower())
    if mime is None or not path.is_file():
        return None
    try:
        return media.image(path.read_bytes(), mime)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None


def _leaves(name: str) -> bool:
    inside = PurePosixPath(name)
    return inside.is_absolute() or ".." in inside.parts or "\0" in name


def notes(tasks: Iterable[Task]) -> list[str]:
    """Return what is to be said of references: those without calls, and those of one step."""
    listed = list(tasks)
    empty = [task.id for task in listed if not task.reference["steps"]]
    sizes = [len(task.reference["steps"]) for task in listed if task.reference["steps"]]
    told = []
    if empty:
        told.append(
            f"references without calls, nothing can be aligned with them, not run: {named(empty)}"
        )
    if single := sizes.count(1):
        most = 1 - single / len(sizes) / 6
        told.append(
            f"{single} of {len(sizes)} references have one step: the official reading gives their "
            f"order 0, and so nobody more than {100 * most:.1f} % alignment; fair does not "
            "(docs/m3-metrics.md)"
        )
    return told


def named(ids: Sequence[str]) -> str:
    """Return the first ids of a list, and how many more there are."""
    more = f" and {len(ids) - _IDS} more" if len(ids) > _IDS else ""
    return ", ".join(ids[:_IDS]) + more


def repeated(twice: Sequence[str], path: Path) -> str:
    """Return what is to be said of ids that stand in a file more than once; "" for none."""
    if not twice:
        return ""
    named = ", ".join(f"{id} ({n + 1} times)" for id, n in Counter(twice).items())
    return f"{path}: the last entry of each id counts: {named}"


def broken(task: Task) -> str:
    """Return why a task cannot be played: no picture, or a reference without calls; "" if it can.

    Whoever makes references plays without any.
    """
    reference = task.reference if isinstance(task.reference, Mapping) else {}
    if not reference.get("steps", True):
        return EMPTY
    missing = reference.get("missing")
    return f"the picture is missing: {missing}" if missing else ""
