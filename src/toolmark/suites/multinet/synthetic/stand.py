"""What all stand-ins share: rows that hang on the seed, the split and their number alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from toolmark import seeds
from toolmark.errors import DataError, UsageError
from toolmark.suites.multinet.families import Family
from toolmark.suites.multinet.frame import Frame, Picture
from toolmark.types import Record

if TYPE_CHECKING:
    from PIL import Image

Split: TypeAlias = Literal["train", "test"]
SPLITS: tuple[Split, ...] = ("train", "test")


class Stand(Record, frozen=True, kw_only=True):
    """The first n rows of a split that is drawn from a seed. A subclass says how one is drawn.

    Rows of the two splits are drawn apart and share no group. A longer set begins with the rows
    of a shorter one. Raises UsageError for a split or a number of rows that there is not.
    """

    family: ClassVar[Family]
    limit: ClassVar[str]  # what the stand-in shows, and what it does not

    n: int
    split: Split
    seed: int

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UsageError(f"no split {self.split!r} of {self.family}; known: train, test")
        if not 0 <= self.n < 1_000_000:
            raise UsageError(f"{self.family}: {self.n} rows cannot be made; ask for 0 to 999999")

    @property
    def clustered(self) -> bool:
        """Whether rows of one group hang together: they do in all stand-ins."""
        return True

    @property
    def hashes(self) -> Mapping[str, str]:
        """Nothing was read."""
        return {}

    @property
    def notes(self) -> Sequence[str]:
        """Say that nothing of this is published data."""
        return (
            f"{self.family}: SYNTHETIC rows, generated; {self.limit}. "
            "Figures say nothing of the published set.",
        )

    def __len__(self) -> int:
        """Return how many rows there are."""
        return self.n

    def __iter__(self) -> Iterator[Frame]:
        """Go through the rows."""
        return (self.frame(number) for number in range(self.n))

    def frame(self, number: int) -> Frame:
        """Return one row."""
        raise NotImplementedError

    def drawn(self, number: int) -> tuple[Image.Image, ...]:
        """Draw one row's pictures, oldest first; none where the family has none."""
        return ()

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Draw a row's pictures as PNG, oldest first. Raises DataError for an unknown id."""
        number = self.number(id)
        if not 0 <= number < self.n or id != self.named(number):
            raise DataError(
                f"{self.family}: no row {id[:80]!r} among these {self.n} synthetic ones"
            )
        return tuple(png(image) for image in self.drawn(number))

    @property
    def stem(self) -> str:
        """What the ids begin with."""
        return f"{self.family}-synthetic-{self.split}"

    def named(self, number: int) -> str:
        """Return the id of a row."""
        return f"{self.stem}-{number:06}"

    def number(self, id: str) -> int:
        """Return the number of the row of an id; any or -1 for what is none."""
        return counted(id)

    def rng(self, what: str, number: int) -> Random:
        """Return the generator for one thing of this split: `what` is a word, such as "room"."""
        return seeds.of(self.seed, f"{self.stem}-{what}-{number}", 0, "multinet synthetic")


def counted(id: str) -> int:
    """Return the number that an id ends with, -1 where there is none or none so large."""
    number = id.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) <= 6 else -1


def png(image: Image.Image) -> Picture:
    """Return a picture's bytes."""
    held = BytesIO()
    image.save(held, "PNG")
    return Picture(data=held.getvalue(), mime="image/png")
