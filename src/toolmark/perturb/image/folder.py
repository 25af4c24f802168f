"""Variations of the pictures in files: one, or all of a folder, seeded and recorded."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from toolmark import seeds
from toolmark.errors import DataError, UsageError
from toolmark.files import write_atomically
from toolmark.perturb.image import box, picture, record, sheet, variation
from toolmark.perturb.image.box import Box
from toolmark.perturb.image.record import Made

_MIMES = {
    ".png": picture.PNG, ".jpg": picture.JPEG, ".jpeg": picture.JPEG, ".webp": picture.WEBP,
}  # fmt: skip
_OWN = {picture.PNG: ".png", picture.JPEG: ".jpg"}
_SHOWN = 10  # names of files in a message


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
    boxes. What cannot be read yields its reason, and the rest is made. What the folder's record
    tells to have been made of the same bytes, boxes and seed, and is there, is not made again.
    Raises UsageError, before anything is made, for what is not there or unknown.
    """
    names = tuple(dict.fromkeys(map(variation.check, order.names)))
    order = order._replace(names=names)
    given = _sources(source, order.folder, note)
    held = _boxes(boxes, source, list(given)) if boxes is not None else {}
    taken = {Path(_plain(which), name) for which in names for name in given if _keeps(name, order)}
    again = 0
    with record.kept(order.folder) as write:
        before = record.read(order.folder)
        taken |= {Path(line.file) for line in before.values() if line.name not in given}
        for name, path in given.items():
            for one in _all(name, path, held.get(name, ()), order, taken, before):
                if one is before.get((name, one.variation)):
                    again += 1
                else:
                    write(one)
                yield one
    if again:
        note(f"{order.folder}: {again} of these files were there, with this seed: not made again")


def _all(
    name: str, path: Path, boxes: Sequence[Box], order: Order, taken: set[Path],
    before: Mapping[record.Key, Made],
) -> Iterator[Made]:  # fmt: skip
    """Go through all variations of a picture, made before or now; or why there are none."""
    blank = Made(name=picture.plain(name), seed=order.seed, given=tuple(boxes))
    try:
        data = picture.load(path, name)
        blank = replace(blank, source=hashlib.sha256(data).hexdigest())
        files = {which: _target(name, which, order, taken) for which in order.names}
        lines = [replace(blank, variation=which, file=file) for which, file in files.items()]
        if order.sheets:
            file = _target(name, record.SHEET, order._replace(keep=False), taken)
            told: variation.Settings = {"shows": ", ".join(order.names)}
            lines.append(replace(blank, variation=record.SHEET, file=file, settings=told))
        there = [_there(line, before, order.folder) for line in lines]
        if all(there) or not order.sheets:
            yield from filter(None, there)
            lines = [line for line, old in zip(lines, there, strict=True) if old is None]
        if lines:
            yield from _varied(data, lines, order.folder)
    except DataError as error:
        yield replace(blank, failed=str(error))


def _there(line: Made, before: Mapping[record.Key, Made], folder: Path) -> Made | None:
    """Return what was made before of the same, where its file is still there."""
    old = before.get((line.name, line.variation))
    if old is None or not (folder / old.file).is_file():
        return None
    told = old.settings if line.variation == record.SHEET else {}
    same = replace(old, size=(0, 0), boxes=(), settings=told, note="") == line
    return old if same else None


def _varied(data: bytes, lines: Sequence[Made], folder: Path) -> Iterator[Made]:
    """Make variations of one picture. Raises DataError where it cannot be read."""
    name, boxes = lines[0].name, lines[0].given
    image = picture.read(data, name)
    if boxes:
        width, height = picture.size(data, name)
        boxes = box.scaled(_inside(boxes, (width, height), name),
                           image.width / width, image.height / height)  # fmt: skip
    tiles: list[sheet.Tile] = []
    for line in lines:
        if line.variation == record.SHEET:
            shown = sheet.of(tiles)
            done = variation.Varied(shown, (), line.settings)
        else:
            # without the strength: those that differ in it alone draw alike
            kind = line.variation.partition("=")[0]
            rng = seeds.of(line.seed, name, 0, f"image {kind}")
            done = variation.vary(image, line.variation, rng, boxes)
            tiles.append(sheet.Tile(line.variation, done.image, done.boxes))
        mime = _MIMES[Path(line.file).suffix.lower()]
        _write(folder / line.file, picture.written(done.image, mime))
        yield replace(line, size=done.image.size, boxes=done.boxes, settings=done.settings,
                      note=done.note)  # fmt: skip


def _inside(boxes: Sequence[Box], size: tuple[int, int], name: str) -> tuple[Box, ...]:
    try:
        return box.checked(boxes, size)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _keeps(name: str, order: Order) -> bool:
    return order.keep and Path(name).suffix.lower() in _MIMES


def _target(name: str, which: str, order: Order, taken: set[Path]) -> str:
    """Return a path that is not taken; a.gif and a.png become a.jpg and a.png.jpg."""
    file = Path(_plain(which), name)
    if _keeps(name, order):
        return file.as_posix()
    end = _OWN[picture.kind(which)]
    found = file.with_suffix(end)
    while found in taken:
        file = found = file.with_name(f"{file.name}{end}")
    taken.add(found)
    return found.as_posix()


def _plain(which: str) -> str:
    """Return a variation's name as that of a folder, on any system."""
    return re.sub("[=/]", "-", which.replace(":", "x"))


def _write(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, data)
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None


def _sources(source: Path, out: Path, note: Callable[[str], Any]) -> dict[str, Path]:
    """Return paths of the pictures by name. Raises UsageError where there are none."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: not a folder; choose another for the pictures")
    if source.is_file():
        return {source.name: source}
    if not source.is_dir():
        raise UsageError(f"{source}: no such file or folder")
    if out.resolve() == source.resolve():
        raise UsageError(f"{out}: holds the pictures themselves; choose another folder")
    files = {path.relative_to(source).as_posix(): path for path in _files(source, out.resolve())}
    found = {name: path for name, path in files.items() if _pictured(path)}
    if not found:
        raise UsageError(f"{source}: holds no pictures ({', '.join(picture.suffixes())})")
    if others := [name for name in files if name not in found]:
        note(f"{source}: left out, not of a kind that is read: {_listed(others)}")
    return found


def _files(folder: Path, mine: Path) -> Iterator[Path]:
    """Go through all that is no folder, in the order of names; what was made is left out."""
    for path in sorted(folder.rglob("*"), key=Path.as_posix):
        inner = path.is_dir() and not path.is_symlink()
        # not Path.resolve, which fails at a link to itself
        if not inner and mine not in Path(os.path.realpath(path)).parents:
            yield path


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _pictured(path: Path) -> bool:
    """Tell whether a picture is to be read there; a link to nothing will be refused."""
    there = path.is_file() or not path.exists()
    return there and path.suffix.lower() in picture.suffixes()


def _boxes(path: Path, source: Path, names: Sequence[str]) -> Mapping[str, Sequence[Box]]:
    """Return boxes by name. Raises UsageError for those of what is not varied.

    Beside one picture others of its folder may have boxes.
    """
    try:
        data = picture.load(path, path.name)
        held = msgspec.json.decode(data, type=dict[str, list[Box]] | list[Box])
    except (DataError, msgspec.DecodeError, UnicodeDecodeError) as error:
        form = '{"NAME": [[left, top, right, bottom], ...]}'
        raise UsageError(f"{path}: no boxes of the form {form}: {error}") from None
    if isinstance(held, list):
        if len(names) > 1:
            raise UsageError(
                f"{path}: a list of boxes is of one picture; name them for {len(names)}"
            )
        return {names[0]: held}
    lost = sorted(set(held) - set(names))
    if lost and source.is_dir():
        raise UsageError(f"{path}: boxes of what is no picture of {source}: {_listed(lost)}")
    if not (source.is_dir() or names[0] in held):
        raise UsageError(f"{path}: no boxes of {names[0]}; of others: {_listed(lost) or 'none'}")
    return held
