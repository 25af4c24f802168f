"""Folders of the published layout: `<root>/<family>/<split>`, and the rows of the files in them.

The public split is called `public` there, the private one `test`; what baselines learn from is
`train`. Nothing outside the folder is read, and every bad row is told at once.
"""

from __future__ import annotations

import hashlib
import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

from toolmark import files
from toolmark.errors import DataError, UsageError
from toolmark.suites.multinet.families import Family

T = TypeVar("T")

Split: TypeAlias = Literal["train", "test"]

ASKED = ("public", "test")
TRAIN = "train"
BESIDE = "the training split is the folder train beside the one that was named"
_MOST_BYTES = 2**28  # of a file of rows
_TOLD = 20  # bad rows
_SHOWN = 200


class Faults:
    """Bad rows, told all at once."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, where: str, why: str) -> None:
        """Note one."""
        self._found.append(f"  {where}: {why[:_SHOWN]}")

    def check(self, path: Path) -> None:
        """Raise DataError if there are any: the first twenty, then a count."""
        if not self._found:
            return
        n = "1 bad row" if len(self._found) == 1 else f"{len(self._found)} bad rows"
        more = len(self._found) - _TOLD
        last = (f"  and {more} more",) if more > 0 else ()
        raise DataError("\n".join((f"{path}: {n}:", *self._found[:_TOLD], *last)))


class Room:
    """One split's folder. `hashes` are those of the files that were read, by their path in it."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.root = root
        self.hashes: dict[str, str] = {}

    def read(self, path: Path) -> bytes:
        """Return the bytes of a file of the folder. Raises DataError for any other."""
        self.inside(path)
        found = files.head(path, _MOST_BYTES + 1)
        if len(found) > _MOST_BYTES:
            raise DataError(f"{path}: larger than {_MOST_BYTES >> 20} MB")
        self.note(path, hashlib.sha256(found).hexdigest())
        return found.removeprefix(BOM_UTF8)

    def note(self, path: Path, sha256: str) -> None:
        """Keep the hash of a file that was read."""
        self.hashes[path.relative_to(self.path).as_posix()] = sha256

    def inside(self, path: Path) -> Path:
        """Return a path that stays in the folder that the user named. Raises DataError."""
        return inside(self.root, path)

    def named(self, name: str) -> Path:
        """Return the place of what a row names. A stranger's row must not lead out: DataError."""
        pure = PurePosixPath(name)
        odd = not pure.name or pure.is_absolute() or ".." in pure.parts or "\0" in name
        if odd or not files.inside(self.root, path := self.path.joinpath(*pure.parts)):
            raise DataError(f"{name[:_SHOWN]!r} is no file of this folder")
        return path


def inside(root: Path, path: Path) -> Path:
    """Return a path that stays in a folder, links followed. Raises DataError for any other."""
    if not files.inside(root, path):
        raise DataError(f"{path}: leads out of {root}: refused; put a copy there")
    return path


def beside(folder: Path, names: Sequence[str] = ()) -> Path | None:
    """Return the training split of a folder that is itself a split; None where there is none.

    A folder that holds one of these names is none.
    """
    place = Path(os.path.abspath(folder))
    split = folder.parent / TRAIN if folder.name else place.parent / TRAIN
    whole = any((folder / name).is_dir() for name in (TRAIN, *names))
    return split if place.name in ASKED and split.is_dir() and not whole else None


def check(split: str) -> None:
    """Raise UsageError for a split that there is not."""
    if split not in (TRAIN, "test"):
        raise UsageError(f"no split {split!r}; known: train, test")


def room(folder: Path, names: Sequence[str], split: Split) -> Room | None:
    """Return the folder of a split, whichever of its parents the user named; None for no `train`.

    Raises UsageError for what is no folder of these names, and where it could be two.
    """
    check(split)
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name one that holds {names[0]}/public")
    home = next((folder / name for name in names if (folder / name).is_dir()), folder)
    if split == TRAIN:
        if apart := beside(folder, names):
            return Room(apart, apart)
        return _room(home / TRAIN, folder) if (home / TRAIN).is_dir() else None
    there = [home / name for name in ASKED if (home / name).is_dir()]
    if len(there) > 1:
        raise UsageError(f"{home}: holds both public and test: name one, such as {there[0]}")
    return _room(there[0] if there else home, folder)


def _room(path: Path, folder: Path) -> Room:
    found = Room(path, folder)
    found.inside(path)
    return found


def lines(data: bytes, kind: type[T], faults: Faults) -> Iterator[tuple[int, T]]:
    """Go through the rows of a JSON Lines file with the number of their line; bad ones are noted.

    Empty lines are none.
    """
    decoder = Decoder(kind)
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            row = decoder.read(line, f"line {number}", faults)
            if row is not None:
                yield number, row


class Decoder(Generic[T]):
    """Reads single rows of JSON."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, text: bytes | msgspec.Raw, where: str, faults: Faults) -> T | None:
        """Return a row; of a bad one None, and why is noted."""
        try:
            return self._decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            faults.add(where, str(error))
            return None


def whole(data: bytes, kind: type[T], path: Path) -> T:
    """Return what a file of one JSON value holds. Raises DataError."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: {str(error)[:_SHOWN]}") from None


def one(found: Sequence[Path], where: Path, what: str, family: Family) -> Path:
    """Return the only file of a kind. Raises DataError for none and for several."""
    if len(found) == 1:
        return found[0]
    if not found:
        raise absent(where, family)
    told = ", ".join(path.name for path in found[:_TOLD])
    raise DataError(f"{where}: one {what} is wanted, there is {told}")


def absent(where: Path, family: Family) -> DataError:
    """Say that a folder does not hold what a family's should, and what that is."""
    return DataError(
        f"{where}: no data of multinet-{family} here; -T data=DIR names a folder with "
        f"{HOLDS[family]}, or that inner folder itself; docs/multinet.md tells what the files hold"
    )


HOLDS: Mapping[Family, str] = {
    "piqa": "piqa/public/*.jsonl, one file",
    "sqa3d": "sqa3d/public/*.json, one file with `question` in its name and one with `annotation`, "
    "and PNG files of the scenes below it",
    "robovqa": "openx_multi_embodiment/public/*.parquet",
    "odinw": "odinw/public/SUBSET/, in each categories.json, object_caption_pairs.json and "
    "bbox_images/",
    "bfcl": "bfcl_v3/public/questions.jsonl and answers.jsonl beside it",
    "overcooked": "overcooked_ai/public/*.pickle, one file",
    "openx": "openx_MORPHOLOGY/ or the data set's own name, in it dataset_info.json with "
    "*.tfrecord-* files, or public/*.parquet",
}
"""What a folder in the published layout holds."""


def blank(**texts: str) -> str:
    """Return which of a row's texts are missing, "" for none."""
    lost = [name for name, text in texts.items() if not text.strip()]
    return f"no {', '.join(lost)}" if lost else ""
