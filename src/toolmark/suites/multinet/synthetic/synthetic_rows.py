"""What all synthetic families share: rows that depend only on seed, split and row number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from toolmark.core import seeds
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.records import Record
from toolmark.suites.multinet.frame_records import Frame, OneStepRows, Picture
from toolmark.suites.multinet.multinet_families import Family

if TYPE_CHECKING:
    from PIL import Image

Split: TypeAlias = Literal["train", "test"]
SPLITS: tuple[Split, ...] = ("train", "test")


class SyntheticRows(Record, OneStepRows, frozen=True, kw_only=True):
    """The first n rows of a split that is drawn from a seed. A subclass defines how one is drawn.

    Rows of the two splits are drawn separately and share no group. A longer set begins with the
    rows of a shorter one. Raises UsageError for an unknown split or an invalid number of rows.
    """

    family: ClassVar[Family]

    n: int
    split: Split
    seed: int

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            nearest = suggest_names(self.split, SPLITS)
            raise UsageError(f"no split {self.split!r} of {self.family}{nearest}")
        if not 0 <= self.n < 1_000_000:
            raise UsageError(f"{self.family}: {self.n} rows cannot be made; ask for 0 to 999999")

    @property
    def limitation(self) -> str:
        """What the synthetic data show, and what they do not show."""
        raise NotImplementedError

    @property
    def clustered(self) -> bool:
        """Whether rows of one group depend on each other: they do in all synthetic families."""
        return True

    @property
    def hashes(self) -> Mapping[str, str]:
        """Empty: nothing was read."""
        return {}

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user: this is not published data."""
        return (
            f"{self.family}: SYNTHETIC rows, generated; {self.limitation}. "
            "Figures say nothing of the published set.",
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.n

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows."""
        return (self.build_frame(number) for number in range(self.n))

    def build_frame(self, number: int) -> Frame:
        """Return one row."""
        raise NotImplementedError

    def draw_pictures(self, number: int) -> tuple[Image.Image, ...]:
        """Draw one row's pictures, oldest first; none if the family has none."""
        return ()

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Draw a row's pictures as PNG, oldest first. Raises DataError for an unknown id."""
        number = self.row_number(id)
        if not 0 <= number < self.n or id != self.row_id(number):
            raise DataError(
                f"{self.family}: no row {id[:80]!r} among these {self.n} synthetic ones"
            )
        return tuple(encode_png(image) for image in self.draw_pictures(number))

    @property
    def id_prefix(self) -> str:
        """The start of all ids."""
        return f"{self.family}-synthetic-{self.split}"

    def row_id(self, number: int) -> str:
        """Return the id of a row."""
        return f"{self.id_prefix}-{number:06}"

    def row_number(self, id: str) -> int:
        """Return the number of the row with an id; any number or -1 for an unknown id."""
        return trailing_number(id)

    def make_rng(self, purpose: str, number: int) -> Random:
        """Return the generator for one purpose in this split; `purpose` is a word like "room"."""
        return seeds.make_rng(
            self.seed, f"{self.id_prefix}-{purpose}-{number}", 0, "multinet synthetic"
        )


def trailing_number(id: str) -> int:
    """Return the number at the end of an id, -1 if there is none or if it is too large."""
    number = id.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) <= 6 else -1


def encode_png(image: Image.Image) -> Picture:
    """Return a picture as PNG."""
    buffer = BytesIO()
    image.save(buffer, "PNG")
    return Picture(data=buffer.getvalue(), mime="image/png")
