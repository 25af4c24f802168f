"""A draft of items from a folder of pictures: a row for each that can be read, to be filled in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from toolmark import files
from toolmark.errors import DataError, UsageError
from toolmark.files import atomic_file
from toolmark.perturb.image import picture
from toolmark.suites.mfcl.vision import layout

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
SMALLEST = 200
"""Pixels of the shorter side: below it lettering can seldom be read."""


class Drafted(NamedTuple):
    """What came of a folder: rows that were added, rows that were there, pictures left out."""

    path: Path
    n_added: int
    n_there: int
    refused: Mapping[str, str]


def draft(folder: Path) -> Drafted:
    """Add a row to `items.jsonl` for each picture of a folder that has none.

    A picture that cannot be read, is very small, or shows the same as another is left out, with the
    reason. What stands in the file stays as it is. Raises UsageError, and DataError for a file
    whose rows cannot be read.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no folder of pictures")
    found = files.below(folder, SUFFIXES)
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    if not names:
        raise UsageError(f"{folder}: no pictures ({', '.join(SUFFIXES)})")
    path = folder / layout.FILE
    old = path.read_bytes() if path.is_file() else b""
    there = dict(_there(path, old))
    refused: dict[str, str] = {}
    rows: list[bytes] = []
    seen = {_digest(folder, name, refused): name for name in names if name in there.values()}
    ids = set(there)
    for name in (name for name in names if name not in there.values()):
        digest = _digest(folder, name, refused)
        if name in refused:
            continue
        if digest in seen:
            refused[name] = f"{name}: shows the same as {seen[digest]}"
            continue
        seen[digest] = name
        rows.append(_row(_id(name, ids), name))
    _write(path, old, rows)
    return Drafted(path, len(rows), len(there), refused)


def _there(path: Path, old: bytes) -> Iterator[tuple[str, str]]:
    """Go through id and picture of the rows that are there. Raises DataError for what is none."""
    for number, line in enumerate(old.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: {str(error)[:200]}; mend it") from None
        yield str(row.get("id", number)), str(PurePosixPath(str(row.get("image", ""))))


def _digest(folder: Path, name: str, refused: dict[str, str]) -> str:
    """Return what tells pictures apart; one that cannot be used is refused with the reason."""
    try:
        data = picture.load(folder / name, name)
        image = picture.read(data, name)
        width, height = picture.size(data, name)
    except DataError as error:
        refused[name] = str(error)
        return ""
    if min(width, height) < SMALLEST:
        refused[name] = f"{name}: {width} x {height} pixels: too small to show a clue"
    return hashlib.sha256(b"%d %d " % image.size + image.tobytes()).hexdigest()


def _id(name: str, taken: set[str]) -> str:
    """Return an id that is free: the picture's name, without its ending."""
    stem = PurePosixPath(name).with_suffix("").as_posix().replace("/", "-")
    found, n = stem, 2
    while found in taken:
        found, n = f"{stem}-{n}", n + 1
    taken.add(found)
    return found


def _row(id: str, image: str) -> bytes:
    """Return a row with everything to fill in; boxes and trace are left to who knows them."""
    blank = dict.fromkeys(("context", "request", "hint", "form"), "")
    held = {"id": id, "image": image, "question": "", "answer": "", "domain": "", "query_type": ""}
    return msgspec.json.encode(held | blank)


def _write(path: Path, old: bytes, rows: list[bytes]) -> None:
    if not rows:
        return
    lines = [*filter(None, (old.rstrip(b"\n"),)), *rows]
    try:
        with atomic_file(path) as draft:
            draft.write_bytes(b"\n".join(lines) + b"\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None
