"""A draft of items from a folder of pictures: a row to fill in for each readable picture."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from toolmark.core import files
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError
from toolmark.core.files import atomic_file
from toolmark.perturb.image import picture_file
from toolmark.suites.mfcl_vision import item_folder

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
MIN_SIDE_PX = 200
"""Pixels of the shorter side: lettering in a smaller picture is seldom readable."""


class DraftResult(NamedTuple):
    """The result for a folder: rows added, rows already there, rejected pictures with reasons."""

    path: Path
    n_added: int
    n_existing: int
    rejected: Mapping[str, str]


def draft_items(folder: Path) -> DraftResult:
    """Add a row to `items.jsonl` for each picture of a folder that has none.

    A picture that cannot be read, is very small, or equals another one is rejected with the
    reason. Existing rows are unchanged. Raises UsageError, and DataError for a file whose rows
    cannot be read.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no folder of pictures")
    found = files.list_files(folder, PICTURE_SUFFIXES)
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    if not names:
        raise UsageError(f"{folder}: no pictures ({', '.join(PICTURE_SUFFIXES)})")
    path = folder / item_folder.ITEMS_FILE
    old = path.read_bytes() if path.is_file() else b""
    picture_by_id = dict(_existing_rows(path, old))
    rejected: dict[str, str] = {}
    rows: list[bytes] = []
    name_by_digest = {
        _picture_digest(folder, name, rejected): name
        for name in names
        if name in picture_by_id.values()
    }
    ids = set(picture_by_id)
    for name in (name for name in names if name not in picture_by_id.values()):
        digest = _picture_digest(folder, name, rejected)
        if name in rejected:
            continue
        if digest in name_by_digest:
            rejected[name] = f"{name}: shows the same as {name_by_digest[digest]}"
            continue
        name_by_digest[digest] = name
        rows.append(_blank_row(_free_id(name, ids), name))
    _write_rows(path, old, rows)
    return DraftResult(path, len(rows), len(picture_by_id), rejected)


def _existing_rows(path: Path, old: bytes) -> Iterator[tuple[str, str]]:
    """Yield id and picture of the existing rows. Raises DataError for an invalid row."""
    for number, line in enumerate(old.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(
                f"{path}, line {number}: {describe_decode_error(error)[:200]}; correct it"
            ) from None
        yield str(row.get("id", number)), str(PurePosixPath(str(row.get("image", ""))))


def _picture_digest(folder: Path, name: str, rejected: dict[str, str]) -> str:
    """Return a digest of the pixels; an unusable picture is added to `rejected` with the reason."""
    try:
        data = picture_file.read_picture_bytes(folder / name, name)
        image = picture_file.decode_picture(data, name)
        width, height = picture_file.picture_size(data, name)
    except DataError as error:
        rejected[name] = str(error)
        return ""
    if min(width, height) < MIN_SIDE_PX:
        rejected[name] = f"{name}: {width} x {height} pixels: too small to show a clue"
    return hashlib.sha256(b"%d %d " % image.size + image.tobytes()).hexdigest()


def _free_id(name: str, taken: set[str]) -> str:
    """Return a free id: the picture's name without its suffix, numbered if taken."""
    stem = PurePosixPath(name).with_suffix("").as_posix().replace("/", "-")
    found, n = stem, 2
    while found in taken:
        found, n = f"{stem}-{n}", n + 1
    taken.add(found)
    return found


def _blank_row(id: str, image: str) -> bytes:
    """Return a row with fields to fill in, without boxes and trace."""
    blank = dict.fromkeys(("context", "request", "hint", "form"), "")
    fields = {
        "id": id,
        "image": image,
        "question": "",
        "answer": "",
        "domain": "",
        "query_type": "",
    }
    return msgspec.json.encode(fields | blank)


def _write_rows(path: Path, old: bytes, rows: list[bytes]) -> None:
    if not rows:
        return
    lines = [*filter(None, (old.rstrip(b"\n"),)), *rows]
    try:
        with atomic_file(path) as draft:
            draft.write_bytes(b"\n".join(lines) + b"\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None
