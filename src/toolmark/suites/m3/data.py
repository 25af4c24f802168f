"""The published layouts: tasks, reference trajectories, predictions; and tasks made of them.

A file is a list of objects, or an object of them by id. Each has `id`, `image`, `type`,
`question`, and `steps` of `calls` with `name` and `arguments`; only tasks have `prompt`. The first
four digits of an id are the number of its kind of task (specification section 1.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import msgspec

from toolmark import codec
from toolmark.errors import DataError
from toolmark.media import Media
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

_MIMES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
_MAX_BYTES = 256 * 2**20
T = TypeVar("T")


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a trajectory; what the file holds beside name and arguments is left out."""

    name: str
    arguments: Any = None


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one step, which need nothing of each other."""

    calls: tuple[Made, ...]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A task, a reference trajectory or a prediction."""

    id: str
    question: str
    image: str = ""
    type: str = ""
    prompt: str = ""
    steps: tuple[Stage, ...] = ()
    final_reply: str = ""


def read(path: Path) -> tuple[list[Entry], list[str]]:
    """Return the entries of a file by their first appearance, and the ids that stand there twice.

    Of entries with one id the last one counts, as in the reference code. Raises DataError with
    the JSON path of what is not as expected.
    """
    found: dict[str, Entry] = {}
    twice: list[str] = []
    for entry in _entries(path):
        if entry.id in found:
            twice.append(entry.id)
        found[entry.id] = entry
    return list(found.values()), twice


def _entries(path: Path) -> Iterable[Entry]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise DataError(f"{path}: larger than {_MAX_BYTES >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    keyed = data.lstrip()[:1] == b"{"
    try:
        if keyed:
            return codec.decode(data, dict[str, Entry]).values()
        return codec.decode(data, list[Entry])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(
            f"{path}: {error}; expected a list of objects with id, question, steps"
        ) from None


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
    """Return steps as they are published, of plain JSON values."""
    return [
        {"calls": [{"name": call.name, "arguments": call.arguments} for call in step.calls]}
        for step in steps
    ]


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
    parts: list[Part] = [Text(question)]
    if entry.image:
        shown = picture(folder, entry.image, media)
        name = PurePosixPath(entry.image).name
        if shown is None:
            reference["missing"] = str(folder / entry.image)
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
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts or "\0" in name:
        raise DataError(f"{name!r}: a picture's name must stay inside its folder")
    path = folder / inside
    mime = _MIMES.get(path.suffix.lower())
    if mime is None or not path.is_file():
        return None
    try:
        return media.image(path.read_bytes(), mime)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None


def repeated(twice: Sequence[str], path: Path) -> str:
    """Return what is to be said of ids that stand in a file more than once; "" for none."""
    if not twice:
        return ""
    named = ", ".join(f"{id} ({n + 1} times)" for id, n in Counter(twice).items())
    return f"{path}: the last entry of each id counts: {named}"
