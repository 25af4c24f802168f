"""Rows that are in memory, with pictures that are read on request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from toolmark.core.errors import DataError
from toolmark.suites.multinet import picture_metadata
from toolmark.suites.multinet.frame_records import Frame, OneStepRows, Picture

if TYPE_CHECKING:
    from PIL import Image

_SENT_MIME_TYPES = {picture_metadata.PNG: "image/png", picture_metadata.JPEG: "image/jpeg"}


MAX_ID_CHARS = 200
"""The limit for an id, in characters."""
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def is_valid_name(text: str) -> bool:
    """Return whether a text can be the id of a row or of a group."""
    return 0 < len(text) <= MAX_ID_CHARS and not _CONTROL_CHARACTERS.search(text)


class PictureCell(NamedTuple):
    """The place of a picture: a row of a Parquet file of steps."""

    path: Path
    row: int


@dataclass(frozen=True)
class LoadedRows(OneStepRows):
    """The rows of one split, by id.

    `images` are the places of the pictures, by id. None means that a picture is missing, and
    `missing_picture_reason` says why.
    """

    frames: tuple[Frame, ...]
    hashes: Mapping[str, str]
    notes: tuple[str, ...] = ()
    clustered: bool = False
    images: Mapping[str, Path | PictureCell | None] = field(default_factory=dict)
    missing_picture_reason: str = "it has no picture"

    def __post_init__(self) -> None:
        """Raise DataError for an invalid id or group name."""
        invalid_ids = [
            frame.id
            for frame in self.frames
            if not (is_valid_name(frame.id) and is_valid_name(frame.group))
        ]
        if invalid_ids:
            raise DataError(
                f"rows whose id or group is empty, longer than {MAX_ID_CHARS} characters or "
                f"holds control characters: {len(invalid_ids)}, such as {invalid_ids[0][:80]!r}"
            )

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(frame.id for frame in self.frames)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows."""
        return iter(self.frames)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's picture. Raises DataError if it is not available."""
        if id not in self._ids:
            raise DataError(f"no row {id[:80]!r}")
        if id not in self.images:
            return ()
        location = self.images[id]
        data = _read_picture(location) if location else b""
        if not data:
            raise DataError(f"{id}: {self.missing_picture_reason}")
        return (prepare_picture(data, id),)


def _read_picture(location: Path | PictureCell) -> bytes:
    if isinstance(location, PictureCell):
        from toolmark.suites.multinet import step_parquet

        return step_parquet.read_picture(location.path, location.row)
    from toolmark.perturb.image import picture_file

    return picture_file.read_picture_bytes(location, location.name)


def prepare_picture(data: bytes, label: str) -> Picture:
    """Return the picture of a file as it is sent: pixels, without metadata that may name it.

    PNG and JPEG files are sent without metadata. If the metadata cannot be separated or rotates the
    picture, and for every other format, the picture is re-encoded as PNG. Raises DataError, with
    `label` and the reason, for data that is not a readable picture.
    """
    from toolmark.perturb.image import picture_file

    image = picture_file.decode_picture(data, label)
    mime_type = next(
        (mime for magic, mime in _SENT_MIME_TYPES.items() if data.startswith(magic)), ""
    )
    stripped = picture_metadata.strip_metadata(data) if mime_type else b""
    if stripped and (stripped == data or _has_same_pixels(stripped, image)):
        return Picture(data=stripped, mime=mime_type)
    return Picture(data=picture_file.encode_picture(image, picture_file.PNG), mime=picture_file.PNG)


def _has_same_pixels(data: bytes, image: Image.Image) -> bool:
    from toolmark.perturb.image import picture_file

    try:
        return picture_file.decode_picture(data, "") == image
    except DataError:
        return False


def number_steps(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Return frames with their step numbers, counted within each group in the given order."""
    counts: dict[str, int] = {}
    found = []
    for frame in frames:
        step = counts[frame.group] = counts.get(frame.group, -1) + 1
        found.append(frame if frame.step == step else replace(frame, step=step))
    return tuple(found)


def natural_sort_key(id: str) -> tuple[tuple[int, int, str, str], ...]:
    """Return a sort key for ids that compares numbers in them as numbers, of any length."""
    return tuple(_run_sort_key(run) for run in re.findall("[0-9]+|[^0-9]+", id))


def _run_sort_key(run: str) -> tuple[int, int, str, str]:
    significant = run.lstrip("0")
    return (0, len(significant), significant, run) if run[0] in "0123456789" else (1, 0, run, "")
