"""Folders of the published layout: `<root>/<family>/<split>`, and the rows of the files in them.

The public split is called `public` in these folders, the private split `test`. Baselines learn from
`train`. Nothing outside the folder is read. All bad rows are reported together.
"""

from __future__ import annotations

import hashlib
import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

from toolmark.core import files
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.suites.multinet.data_sources import data_sources
from toolmark.suites.multinet.multinet_families import Family

T = TypeVar("T")

Split: TypeAlias = Literal["train", "test"]

EVALUATED_FOLDERS = ("public", "test")
TRAIN_FOLDER = "train"
SIBLING_TRAIN_NOTE = "the training split is the folder train next to the one that was named"
_MAX_FILE_BYTES = 2**28  # limit for a file of rows
_MAX_LISTED_FAULTS = 20  # bad rows listed in one error
_MAX_SHOWN_CHARS = 200


class RowFaults:
    """Collects bad rows, to report them together."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    def add(self, where: str, reason: str) -> None:
        """Add one bad row."""
        self._messages.append(f"  {where}: {reason[:_MAX_SHOWN_CHARS]}")

    def raise_if_any(self, path: Path) -> None:
        """Raise DataError if there are any: the first twenty, then a count."""
        if not self._messages:
            return
        n = "1 bad row" if len(self._messages) == 1 else f"{len(self._messages)} bad rows"
        more = len(self._messages) - _MAX_LISTED_FAULTS
        count_line = (f"  and {more} more",) if more > 0 else ()
        raise DataError(
            "\n".join((f"{path}: {n}:", *self._messages[:_MAX_LISTED_FAULTS], *count_line))
        )


class SplitFolder:
    """The folder of one split. `hashes` are those of the files that were read, by relative path."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.root = root
        self.hashes: dict[str, str] = {}

    def read_bytes(self, path: Path) -> bytes:
        """Return the bytes of a file in the folder. Raises DataError for a file outside it."""
        self.require_inside(path)
        found = files.read_head(path, _MAX_FILE_BYTES + 1)
        if len(found) > _MAX_FILE_BYTES:
            raise DataError(f"{path}: larger than {_MAX_FILE_BYTES >> 20} MB")
        self.record_hash(path, hashlib.sha256(found).hexdigest())
        return found.removeprefix(BOM_UTF8)

    def record_hash(self, path: Path, sha256: str) -> None:
        """Store the hash of a file that was read."""
        self.hashes[path.relative_to(self.path).as_posix()] = sha256

    def require_inside(self, path: Path) -> Path:
        """Return a path that is inside the root folder. Raises DataError if it is outside."""
        return require_inside(self.root, path)

    def resolve_name(self, name: str) -> Path:
        """Return the path that a row names. Raises DataError if it leads out of the folder."""
        pure = PurePosixPath(name)
        is_unsafe = not pure.name or pure.is_absolute() or ".." in pure.parts or "\0" in name
        if is_unsafe or not files.is_inside(self.root, path := self.path.joinpath(*pure.parts)):
            raise DataError(f"{name[:_MAX_SHOWN_CHARS]!r} is not a file of this folder")
        return path


def require_inside(root: Path, path: Path) -> Path:
    """Return a path that is inside a folder, links followed. Raises DataError if it is outside."""
    if not files.is_inside(root, path):
        raise DataError(f"{path}: leads out of {root}: refused; put a copy there")
    return path


def sibling_train_folder(folder: Path, names: Sequence[str] = ()) -> Path | None:
    """Return the training split next to a folder that is itself a split, None if there is none.

    A folder that contains one of `names` is not a split.
    """
    absolute = Path(os.path.abspath(folder))
    train_folder = folder.parent / TRAIN_FOLDER if folder.name else absolute.parent / TRAIN_FOLDER
    holds_splits = any((folder / name).is_dir() for name in (TRAIN_FOLDER, *names))
    return (
        train_folder
        if absolute.name in EVALUATED_FOLDERS and train_folder.is_dir() and not holds_splits
        else None
    )


def check_split(split: str) -> None:
    """Raise UsageError for an unknown split."""
    known = (TRAIN_FOLDER, "test")
    if split not in known:
        raise UsageError(f"no split {split!r}{suggest_names(split, known)}")


def find_split_folder(folder: Path, names: Sequence[str], split: Split) -> SplitFolder | None:
    """Return the folder of a split below the folder that the user named, None for no `train`.

    The user may name any of its parents. Raises UsageError for a folder with none of these names,
    and if two folders match.
    """
    check_split(split)
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name one that holds {names[0]}/public")
    family_folder = next((folder / name for name in names if (folder / name).is_dir()), folder)
    if split == TRAIN_FOLDER:
        if sibling := sibling_train_folder(folder, names):
            return SplitFolder(sibling, sibling)
        return (
            _open_split_folder(family_folder / TRAIN_FOLDER, folder)
            if (family_folder / TRAIN_FOLDER).is_dir()
            else None
        )
    split_folders = [
        family_folder / name for name in EVALUATED_FOLDERS if (family_folder / name).is_dir()
    ]
    if len(split_folders) > 1:
        raise UsageError(
            f"{family_folder}: holds both public and test: name one, such as {split_folders[0]}"
        )
    return _open_split_folder(split_folders[0] if split_folders else family_folder, folder)


def _open_split_folder(path: Path, folder: Path) -> SplitFolder:
    found = SplitFolder(path, folder)
    found.require_inside(path)
    return found


def parse_json_lines(data: bytes, row_type: type[T], faults: RowFaults) -> Iterator[tuple[int, T]]:
    """Yield the rows of a JSON Lines file with their line numbers; bad rows are added to `faults`.

    Empty lines are skipped.
    """
    decoder = RowDecoder(row_type)
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            row = decoder.decode_row(line, f"line {number}", faults)
            if row is not None:
                yield number, row


class RowDecoder(Generic[T]):
    """Decodes single JSON rows."""

    def __init__(self, row_type: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(row_type)

    def decode_row(self, text: bytes | msgspec.Raw, where: str, faults: RowFaults) -> T | None:
        """Return a row; for a bad row, add the reason to `faults` and return None."""
        try:
            return self._decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            faults.add(where, describe_decode_error(error))
            return None


def decode_json_file(data: bytes, value_type: type[T], path: Path) -> T:
    """Return the content of a file with one JSON value. Raises DataError."""
    try:
        return msgspec.json.decode(data, type=value_type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = describe_decode_error(error)[:_MAX_SHOWN_CHARS]
        raise DataError(f"{path}: {reason}") from None


def require_single_file(
    found: Sequence[Path], where: Path, description: str, family: Family
) -> Path:
    """Return the only file of a kind. Raises DataError if there is none or more than one."""
    if len(found) == 1:
        return found[0]
    if not found:
        raise missing_data_error(where, family)
    names = ", ".join(path.name for path in found[:_MAX_LISTED_FAULTS])
    raise DataError(f"{where}: one {description} is wanted, there is {names}")


def missing_data_error(where: Path, family: Family) -> DataError:
    """Return the error for a folder without a family's files; it names the expected files."""
    return DataError(
        f"{where}: no data of multinet-{family} here; -T data=DIR names a folder with "
        f"{data_sources()[family].expected_files}, or that inner folder itself; "
        "docs/suites/multinet.md describes the files"
    )


def missing_texts(**texts: str) -> str:
    """Return the names of a row's missing texts, "" for none."""
    missing = [name for name, text in texts.items() if not text.strip()]
    return f"no {', '.join(missing)}" if missing else ""
