"""Rows that were read whole, with pictures that are read when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from toolmark.errors import DataError
from toolmark.suites.multinet import pixels
from toolmark.suites.multinet.frame import Frame, Picture

if TYPE_CHECKING:
    from PIL import Image

_SENT = {pixels.PNG: "image/png", pixels.JPEG: "image/jpeg"}


LONGEST = 200
"""Characters of an id."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def name(text: str) -> bool:
    """Tell whether a text can be the id of a row or of a group."""
    return 0 < len(text) <= LONGEST and not _CONTROL.search(text)


class Cell(NamedTuple):
    """A row of a Parquet file of steps, which holds a picture."""

    path: Path
    row: int


@dataclass(frozen=True)
class Held:
    """The rows of one split, by id.

    `images` are the places of their pictures, by id; None where a row should have one and has not,
    and `lack` says what is lacking then.
    """

    frames: tuple[Frame, ...]
    hashes: Mapping[str, str]
    notes: tuple[str, ...] = ()
    clustered: bool = False
    images: Mapping[str, Path | Cell | None] = field(default_factory=dict)
    lack: str = "it has no picture"

    def __post_init__(self) -> None:
        """Raise DataError for a name that cannot be one."""
        bad = [frame.id for frame in self.frames if not (name(frame.id) and name(frame.group))]
        if bad:
            raise DataError(
                f"rows whose id or group is empty, longer than {LONGEST} characters or "
                f"holds control characters: {len(bad)}, such as {bad[0][:80]!r}"
            )

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(frame.id for frame in self.frames)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        """Go through them."""
        return iter(self.frames)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's picture. Raises DataError where it cannot be had."""
        if id not in self._ids:
            raise DataError(f"no row {id[:80]!r}")
        if id not in self.images:
            return ()
        place = self.images[id]
        data = _data(place) if place else b""
        if not data:
            raise DataError(f"{id}: {self.lack}")
        return (shown(data, id),)


def _data(place: Path | Cell) -> bytes:
    if isinstance(place, Cell):
        from toolmark.suites.multinet import parquet

        return parquet.picture(place.path, place.row)
    from toolmark.perturb.image import picture

    return picture.load(place, place.name)


def shown(data: bytes, told: str) -> Picture:
    """Return the picture of a file as it is sent: pixels alone, which could not say what they show.

    PNG and JPEG lose what lies beside these; where that cannot be told apart or turns the picture,
    and of any other kind, it becomes a PNG. Raises DataError, with what it is called and why, for
    what is no picture that can be read.
    """
    from toolmark.perturb.image import picture

    image = picture.read(data, told)
    kind = next((mime for magic, mime in _SENT.items() if data.startswith(magic)), "")
    plain = pixels.alone(data) if kind else b""
    if plain and (plain == data or _same(plain, image)):
        return Picture(data=plain, mime=kind)
    return Picture(data=picture.written(image, picture.PNG), mime=picture.PNG)


def _same(data: bytes, image: Image.Image) -> bool:
    from toolmark.perturb.image import picture

    try:
        return picture.read(data, "") == image
    except DataError:
        return False


def stepped(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Return frames with their steps: counted within each group, in the order given."""
    counts: dict[str, int] = {}
    found = []
    for frame in frames:
        step = counts[frame.group] = counts.get(frame.group, -1) + 1
        found.append(frame if frame.step == step else replace(frame, step=step))
    return tuple(found)


def order(id: str) -> tuple[tuple[int, int, str, str], ...]:
    """Return what ids are sorted by: numbers in them count as numbers, of any length."""
    return tuple(_run(run) for run in re.findall("[0-9]+|[^0-9]+", id))


def _run(run: str) -> tuple[int, int, str, str]:
    plain = run.lstrip("0")
    return (0, len(plain), plain, run) if run[0] in "0123456789" else (1, 0, run, "")
