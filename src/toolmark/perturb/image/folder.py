"""Variations of the pictures in files: one, or all of a folder, seeded and recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from PIL import Image

from toolmark import media, seeds
from toolmark.errors import DataError, UsageError
from toolmark.perturb.image import box, picture, sheet, variation
from toolmark.perturb.image.box import Box
from toolmark.types import Record

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
"""How names of pictures end that are looked for in a folder; what they are says their content."""
_KEPT = {".png": picture.PNG, ".jpg": picture.JPEG, ".jpeg": picture.JPEG, ".webp": picture.WEBP}
_OWN = {picture.PNG: ".png", picture.JPEG: ".jpg"}
_MOST_BYTES = 2**28


class Made(Record, frozen=True, kw_only=True):
    """One variation of one picture, or why there is none.

    `file` is within the folder of what is made, `size` is (width, height), `boxes` are in pixels of
    the variation, and `settings` and `note` those of `variation.Varied`.
    """

    name: str
    variation: str = ""
    file: str = ""
    size: tuple[int, int] = (0, 0)
    boxes: tuple[Box, ...] = ()
    settings: dict[str, str | float | int] = {}
    note: str = ""
    failed: str = ""


class Order(NamedTuple):
    """What is to be made of every picture, and where.

    `keep`: files keep their names, and the format that these say; `sheets`: all variations of a
    picture side by side, as one more picture.
    """

    folder: Path
    names: Sequence[str] = variation.TABLE2
    seed: int = 0
    keep: bool = False
    sheets: bool = False


def each(
    source: Path, order: Order, boxes: Path | None = None, note: Callable[[str], Any] = str
) -> Iterator[Made]:
    """Go through a picture or all pictures of a folder, in the order of their names.

    A variation's files lie in a folder of its name, as those of the source do in theirs. `boxes`
    is a JSON file: of a folder an object of lists of boxes by name, of one picture also a list of
    boxes. What cannot be read yields its reason, and the rest is made. Raises UsageError, before
    anything is made, for what is not there or unknown.
    """
    for name in order.names:
        variation.check(name)
    given = dict(_sources(source, order.folder))
    held = _boxes(boxes, list(given)) if boxes is not None else {}
    if source.is_dir() and (lost := sorted(set(held) - set(given))):
        note(f"{boxes}: boxes of what is no picture of {source}: {', '.join(lost)}")
    taken = {Path(_plain(which), name) for which in order.names for name in given
             if order.keep and Path(name).suffix.lower() in _KEPT}  # fmt: skip
    for name, path in given.items():
        try:
            yield from _varied(name, _bytes(path, name), held.get(name, ()), order, taken)
        except DataError as error:
            yield Made(name=name, failed=str(error))


def _varied(
    name: str, data: bytes, boxes: Sequence[Box], order: Order, taken: set[Path]
) -> Iterator[Made]:
    """Make all variations of a picture. Raises DataError where it cannot be read."""
    image = picture.read(data, name)
    if boxes:
        width, height = picture.size(data, name)
        boxes = box.scaled(_inside(boxes, (width, height), name),
                           image.width / width, image.height / height)  # fmt: skip
    tiles = []
    for which in order.names:
        # without the strength: those that differ in it alone draw alike
        rng = seeds.of(order.seed, name, 0, f"image {which.partition('=')[0]}")
        done = variation.vary(image, which, rng, boxes)
        bytes_, mime = _encoded(done.image, which, name, order)
        file = _target(Path(_plain(which), name), mime, order, taken)
        _write(order.folder / file, bytes_)
        if order.sheets:
            tiles.append(sheet.Tile(which, done.image, done.boxes))
        yield Made(name=name, variation=which, file=file.as_posix(), size=done.image.size,
                   boxes=done.boxes, settings=done.settings, note=done.note)  # fmt: skip
    if order.sheets:
        file = _target(Path("sheet", name), picture.JPEG, order._replace(keep=False), taken)
        _write(order.folder / file, picture.written(sheet.of(tiles), picture.JPEG))


def _inside(boxes: Sequence[Box], size: tuple[int, int], name: str) -> tuple[Box, ...]:
    try:
        return box.checked(boxes, size)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _encoded(image: Image.Image, which: str, name: str, order: Order) -> tuple[bytes, str]:
    kept = _KEPT.get(Path(name).suffix.lower()) if order.keep else None
    return (picture.written(image, kept), kept) if kept else picture.encode(image, which)


def _target(file: Path, mime: str, order: Order, taken: set[Path]) -> Path:
    """Return a path that is not taken; a.gif and a.png become a.jpg and a.png.jpg."""
    if order.keep and file.suffix.lower() in _KEPT:
        return file
    found = file.with_suffix(_OWN[mime])
    while found in taken:
        file = found = file.with_name(f"{file.name}{_OWN[mime]}")
    taken.add(found)
    return found


def _plain(which: str) -> str:
    """Return a variation's name as that of a folder, on any system."""
    return re.sub("[=/]", "-", which.replace(":", "x"))


def _write(path: Path, data: bytes) -> None:
    try:
        media.whole(path, data)
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None


def _sources(source: Path, out: Path) -> Iterator[tuple[str, Path]]:
    """Go through names and paths of the pictures. Raises UsageError where there are none."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: not a folder; choose another for the pictures")
    if source.is_file():
        yield source.name, source
        return
    if not source.is_dir():
        raise UsageError(f"{source}: no such file or folder")
    mine = out.resolve()
    if mine == source.resolve():
        raise UsageError(f"{out}: holds the pictures themselves; choose another folder")
    found = [
        path
        for path in source.rglob("*")
        if path.suffix.lower() in SUFFIXES and path.is_file() and mine not in path.resolve().parents
    ]
    if not found:
        raise UsageError(f"{source}: holds no pictures ({', '.join(SUFFIXES)})")
    yield from sorted((path.relative_to(source).as_posix(), path) for path in found)


def _boxes(path: Path, names: Sequence[str]) -> Mapping[str, Sequence[Box]]:
    try:
        held = msgspec.json.decode(_bytes(path, path.name), type=dict[str, list[Box]] | list[Box])
    except (DataError, msgspec.DecodeError) as error:
        form = '{"NAME": [[left, top, right, bottom], ...]}'
        raise UsageError(f"{path}: no boxes of the form {form}: {error}") from None
    if isinstance(held, dict):
        return held
    if len(names) > 1:
        raise UsageError(f"{path}: a list of boxes is of one picture; name them for {len(names)}")
    return {names[0]: held}


def _bytes(path: Path, name: str) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{name}: larger than {_MOST_BYTES >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{name}: cannot read: {error.strerror}") from None
