"""Make variations of one picture file or of all pictures in a folder, seeded and recorded."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError
from toolmark.core.files import write_atomically
from toolmark.perturb.image import (
    box_geometry,
    contact_sheet,
    picture_file,
    picture_variations,
    variation_record,
)
from toolmark.perturb.image.box_geometry import Box
from toolmark.perturb.image.variation_record import VariationRecord

_MIMES = {
    ".png": picture_file.PNG,
    ".jpg": picture_file.JPEG,
    ".jpeg": picture_file.JPEG,
    ".webp": picture_file.WEBP,
}
_SUFFIXES = {picture_file.PNG: ".png", picture_file.JPEG: ".jpg"}
_MAX_LISTED = 10  # file names in a message


class VariationJob(NamedTuple):
    """The variations to make of every picture, and the folder for them.

    With `keeps_names`, files have the names of their sources, and the formats of these names. With
    `makes_sheets`, all variations of a picture are also shown side by side in one more picture.
    """

    folder: Path
    names: Sequence[str] = picture_variations.TABLE_2_VARIATIONS
    seed: int = 0
    keeps_names: bool = False
    makes_sheets: bool = False


def vary_pictures(
    source: Path, order: VariationJob, boxes: Path | None = None, note: Callable[[str], Any] = str
) -> Iterator[VariationRecord]:
    """Yield the record of each variation of a picture or of all pictures in a folder, by name.

    Each variation has a folder of its name, with the same subfolders as the source. `boxes` is a
    JSON file: an object from names to lists of boxes, or for one picture also a list of boxes. A
    picture that cannot be read yields its reason, and the others are made. A variation is not made
    again if the folder's record lists it for the same bytes, boxes and seed, and its file exists.
    Raises UsageError, before anything is made, for missing files and unknown names.
    """
    names = tuple(dict.fromkeys(map(picture_variations.normalise_variation, order.names)))
    order = order._replace(names=names)
    sources = _list_pictures(source, order.folder, note)
    boxes_by_name = _read_boxes(boxes, source, list(sources)) if boxes is not None else {}
    used_paths = {
        Path(_folder_name(variation_name), name)
        for variation_name in names
        for name in sources
        if _keeps_format(name, order)
    }
    n_present = 0
    with variation_record.open_record(order.folder) as append:
        before = variation_record.read_record(order.folder)
        used_paths |= {Path(line.file) for line in before.values() if line.name not in sources}
        for name, path in sources.items():
            for one in _vary_picture(
                name, path, boxes_by_name.get(name, ()), order, used_paths, before
            ):
                if one is before.get((name, one.variation)):
                    n_present += 1
                else:
                    append(one)
                yield one
    if n_present:
        note(
            f"{order.folder}: {n_present} of these files were there, with this seed: not made again"
        )


def _vary_picture(
    name: str, path: Path, boxes: Sequence[Box], order: VariationJob, used_paths: set[Path],
    before: Mapping[variation_record.RecordKey, VariationRecord],
) -> Iterator[VariationRecord]:  # fmt: skip
    """Yield the record of each variation of a picture, made before or now, or of its failure."""
    blank = VariationRecord(
        name=picture_file.printable_name(name), seed=order.seed, source_boxes=tuple(boxes)
    )
    try:
        data = picture_file.read_picture_bytes(path, name)
        blank = replace(blank, source_sha256=hashlib.sha256(data).hexdigest())
        files = {
            variation_name: _target_path(name, variation_name, order, used_paths)
            for variation_name in order.names
        }
        lines = [
            replace(blank, variation=variation_name, file=file)
            for variation_name, file in files.items()
        ]
        if order.makes_sheets:
            file = _target_path(
                name,
                variation_record.SHEET_VARIATION,
                order._replace(keeps_names=False),
                used_paths,
            )
            settings: picture_variations.VariationSettings = {"shows": ", ".join(order.names)}
            lines.append(
                replace(
                    blank, variation=variation_record.SHEET_VARIATION, file=file, settings=settings
                )
            )
        existing = [_existing_variation(line, before, order.folder) for line in lines]
        if all(existing) or not order.makes_sheets:
            yield from filter(None, existing)
            lines = [line for line, old in zip(lines, existing, strict=True) if old is None]
        if lines:
            yield from _make_variations(data, lines, order.folder)
    except DataError as error:
        yield replace(blank, failed=str(error))


def _existing_variation(
    line: VariationRecord,
    before: Mapping[variation_record.RecordKey, VariationRecord],
    folder: Path,
) -> VariationRecord | None:
    """Return the record of an earlier variation of the same input, if its file still exists."""
    old = before.get((line.name, line.variation))
    if old is None or not (folder / old.file).is_file():
        return None
    settings = old.settings if line.variation == variation_record.SHEET_VARIATION else {}
    same = replace(old, size=(0, 0), boxes=(), settings=settings, note="") == line
    return old if same else None


def _make_variations(
    data: bytes, lines: Sequence[VariationRecord], folder: Path
) -> Iterator[VariationRecord]:
    """Make variations of one picture. Raises DataError if it cannot be read."""
    name, boxes = lines[0].name, lines[0].source_boxes
    image = picture_file.decode_picture(data, name)
    if boxes:
        width, height = picture_file.picture_size(data, name)
        boxes = box_geometry.scale_boxes(_check_picture_boxes(boxes, (width, height), name),
                           image.width / width, image.height / height)  # fmt: skip
    tiles: list[contact_sheet.Tile] = []
    for line in lines:
        if line.variation == variation_record.SHEET_VARIATION:
            sheet_image = contact_sheet.draw_contact_sheet(tiles)
            varied = picture_variations.VariedPicture(sheet_image, (), line.settings)
        else:
            # without the strength: variations that differ only in strength get equal draws
            kind = line.variation.partition("=")[0]
            rng = seeds.make_rng(line.seed, name, 0, f"image {kind}")
            varied = picture_variations.vary_picture(image, line.variation, rng, boxes)
            tiles.append(contact_sheet.Tile(line.variation, varied.image, varied.boxes))
        mime = _MIMES[Path(line.file).suffix.lower()]
        _write_file(folder / line.file, picture_file.encode_picture(varied.image, mime))
        yield replace(line, size=varied.image.size, boxes=varied.boxes, settings=varied.settings,
                      note=varied.note)  # fmt: skip


def _check_picture_boxes(boxes: Sequence[Box], size: tuple[int, int], name: str) -> tuple[Box, ...]:
    try:
        return box_geometry.check_boxes(boxes, size)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _keeps_format(name: str, order: VariationJob) -> bool:
    return order.keeps_names and Path(name).suffix.lower() in _MIMES


def _target_path(name: str, variation_name: str, order: VariationJob, used_paths: set[Path]) -> str:
    """Return an unused path; a.gif and a.png become a.jpg and a.png.jpg."""
    file = Path(_folder_name(variation_name), name)
    if _keeps_format(name, order):
        return file.as_posix()
    end = _SUFFIXES[picture_file.variation_mime(variation_name)]
    found = file.with_suffix(end)
    while found in used_paths:
        file = found = file.with_name(f"{file.name}{end}")
    used_paths.add(found)
    return found.as_posix()


def _folder_name(variation_name: str) -> str:
    """Return the folder name of a variation, valid on any system."""
    return re.sub("[=/]", "-", variation_name.replace(":", "x"))


def _write_file(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, data)
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None


def _list_pictures(source: Path, output: Path, note: Callable[[str], Any]) -> dict[str, Path]:
    """Return the paths of the pictures by name. Raises UsageError if there are none."""
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output}: not a folder; choose another for the pictures")
    if source.is_file():
        return {source.name: source}
    if not source.is_dir():
        raise UsageError(f"{source}: no such file or folder")
    if output.resolve() == source.resolve():
        raise UsageError(f"{output}: holds the pictures themselves; choose another folder")
    files = {
        path.relative_to(source).as_posix(): path for path in _list_files(source, output.resolve())
    }
    found = {name: path for name, path in files.items() if _is_picture(path)}
    if not found:
        raise UsageError(
            f"{source}: holds no pictures ({', '.join(picture_file.supported_suffixes())})"
        )
    if others := [name for name in files if name not in found]:
        note(f"{source}: left out, not of a kind that is read: {_format_names(others)}")
    return found


def _list_files(folder: Path, output: Path) -> Iterator[Path]:
    """Yield all files by name, without folders and without the output."""
    for path in sorted(folder.rglob("*"), key=Path.as_posix):
        inner = path.is_dir() and not path.is_symlink()
        # not Path.resolve, which fails for a link to itself
        if not inner and output not in Path(os.path.realpath(path)).parents:
            yield path


def _format_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more


def _is_picture(path: Path) -> bool:
    """Return whether a path is to be read as a picture; a broken link is refused later."""
    may_be_file = path.is_file() or not path.exists()
    return may_be_file and path.suffix.lower() in picture_file.supported_suffixes()


def _read_boxes(path: Path, source: Path, names: Sequence[str]) -> Mapping[str, Sequence[Box]]:
    """Return boxes by name. Raises UsageError for boxes of a picture that is not varied.

    If one picture is varied, other pictures of its folder may have boxes.
    """
    try:
        data = picture_file.read_picture_bytes(path, path.name)
        by_name = msgspec.json.decode(data, type=dict[str, list[Box]] | list[Box])
    except (DataError, msgspec.DecodeError, UnicodeDecodeError) as error:
        form = '{"NAME": [[left, top, right, bottom], ...]}'
        raise UsageError(
            f"{path}: no boxes of the form {form}: {describe_decode_error(error)}"
        ) from None
    if isinstance(by_name, list):
        if len(names) > 1:
            raise UsageError(
                f"{path}: a list of boxes is of one picture; name them for {len(names)}"
            )
        return {names[0]: by_name}
    unknown = sorted(set(by_name) - set(names))
    if unknown and source.is_dir():
        raise UsageError(
            f"{path}: boxes of what is not a picture of {source}: {_format_names(unknown)}"
        )
    if not (source.is_dir() or names[0] in by_name):
        raise UsageError(
            f"{path}: no boxes of {names[0]}; of others: {_format_names(unknown) or 'none'}"
        )
    return by_name
