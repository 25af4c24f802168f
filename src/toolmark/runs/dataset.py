"""A made set: a folder with tasks, their media, what a suite adds, a data card, a manifest.

All of it is written in a folder of its own inside the one that is wanted, and moved to its place
when it is whole; `manifest.json`, which makes a folder a set, comes last. While it lies in the
inner folder files are being moved: found there later, it tells which are of an interrupted make.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from toolmark import codec, media
from toolmark.errors import DataError, UsageError
from toolmark.runs import card, jsonl, versions
from toolmark.runs.suite import Suite
from toolmark.runs.tasks import write_tasks
from toolmark.types import Record, Task

FORMAT = 1
MANIFEST = "manifest.json"
CARD = "README.md"
_STAGE = ".making"
_ASIDE = ".old"
_MOST_BYTES = 2**26  # of a manifest, which may be a stranger's
_SHOWN = 3  # reasons, or files
_LONGEST = 255  # bytes of a name that file systems take
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NEXT = "choose another folder, or empty this one"


class File(Record, frozen=True, kw_only=True):
    """One file of a set."""

    sha256: str
    size_bytes: int


class Manifest(Record, frozen=True, kw_only=True):
    """What a set is made of: suite, knobs and seed, what was read, versions, and every file.

    `knobs` hold the names of files and folders, not where they lay. `broken` are reasons why tasks
    could not be made, and of how many.
    """

    format: int
    suite: str
    seed: int
    n_tasks: int
    knobs: dict[str, Any] = {}
    hashes: dict[str, str] = {}
    versions: dict[str, str] = {}
    files: dict[str, File] = {}
    broken: dict[str, int] = {}


def write(
    folder: Path, suite: Suite, tasks: Iterable[Task] | None = None, *, about: str = ""
) -> Manifest:
    """Write a suite's tasks, finished, and what belongs to them; `tasks` are others than all.

    A set that is there already is replaced, and nothing else: UsageError for a folder that holds
    other files, or a set of which files were changed. DataError where no task could be made.
    Nothing is changed when anything fails.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: not a folder; choose another")
    try:
        with _there(folder), _alone(folder):
            stage = folder / _STAGE
            _recover(folder, stage)
            old = _standing(folder)
            shutil.rmtree(stage, ignore_errors=True)
            try:
                stage.mkdir()
                chosen = suite.make(suite) if tasks is None else tasks
                manifest = _fill(stage, suite, chosen, about)
                _settle(stage, folder, old, manifest)
            finally:
                if not _files(stage / _ASIDE):  # else old files could not be put back
                    shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write there: {error.strerror}") from None
    return manifest


def read(folder: Path) -> Manifest | None:
    """Return the manifest of a folder, None where there is none. Raises DataError."""
    path = folder / MANIFEST
    try:
        found = codec.decode(_bytes(path), Manifest)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: no manifest of a made set: {error}") from None
    if found.format != FORMAT:
        raise DataError(f"{path}: format {found.format}; this version reads {FORMAT}")
    if odd := next(filter(_CONTROL.search, found.files), ""):
        raise DataError(f"{path}: {odd[:80]!r} is no file's name: {_NEXT}")
    return found


def verify(folder: Path) -> Manifest | None:
    """Return the manifest of a made set, None for anything else.

    Raises DataError if its tasks are not those that were made, or a make did not come to its end.
    """
    manifest = read(folder)
    stage, path = folder / _STAGE, folder / "tasks.jsonl"
    whole = manifest is not None and _same(path, manifest.files.get(path.name))
    if stage.is_dir() and (not whole or os.path.lexists(stage / MANIFEST)):
        raise DataError(f"{folder}: a make was interrupted: make the set again")
    if manifest is None:
        return None
    if not whole:
        raise DataError(f"{path}: changed since it was made; name the file itself to ask it so")
    return manifest


def _bytes(path: Path) -> bytes:
    """Return what a stranger's file holds. Raises DataError for what is none, or too large."""
    place = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would be waited on
    with open(place, "rb") as file:
        about = os.fstat(place)
        if not stat.S_ISREG(about.st_mode):
            raise DataError(f"{path}: not a file")
        if about.st_size > _MOST_BYTES:
            raise DataError(f"{path}: larger than {_MOST_BYTES >> 20} MB")
        return file.read(_MOST_BYTES)


@contextmanager
def _there(folder: Path) -> Iterator[None]:
    """Make the folder, and remove what was made of it again if nothing comes of it."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    with ExitStack() as stack:
        for path in reversed(made):
            stack.callback(_removed, path)
        folder.mkdir(parents=True, exist_ok=True)
        yield
        stack.pop_all()


def _removed(path: Path) -> None:
    with suppress(OSError):  # somebody put something into it
        path.rmdir()


def _standing(folder: Path) -> Manifest | None:
    """Return the set that would be replaced. Raises UsageError for a folder of other things."""
    if (folder / "run.json").exists():
        raise UsageError(f"{folder} is a run: its tasks are not overwritten; choose another folder")
    held = sorted(path.name for path in folder.iterdir() if path.name != _STAGE)
    old = read(folder)
    if held and old is None:
        raise UsageError(f"{folder}: holds other files ({', '.join(held)[:80]}): {_NEXT}")
    _own(folder, old)
    return old


def _alone(folder: Path) -> AbstractContextManager[None]:
    place = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    return media.sole(place, f"{folder}: another process is writing this set")


def _fill(stage: Path, suite: Suite, tasks: Iterable[Task], about: str) -> Manifest:
    """Write everything but the manifest, and return that."""
    tally = card.Tally(suite.publisher)
    broken: Counter[str] = Counter()
    counted = _broken(tally.through(tasks), suite, broken)
    made = write_tasks(stage / "tasks.jsonl", counted, suite.media, suite.refers)
    if not made.n:
        raise UsageError("no task is left after the selection; loosen -T")
    if broken.total() == made.n:
        raise DataError(f"none of {made.n} tasks could be made: {_reasons(broken)}")
    tables = [*tally.tables(), *suite.publisher.more(stage)]
    files = _files(stage)
    knobs = card.placeless(suite.knobs)
    told = card.text(
        name=suite.name, about=about, seed=suite.seed, knobs=knobs, hashes=suite.hashes,
        publisher=suite.publisher, files=_sums(files), tables=tables, broken=broken,
    )  # fmt: skip
    (stage / CARD).write_text(told, encoding="utf-8")
    return Manifest(
        format=FORMAT,
        suite=suite.name,
        seed=suite.seed,
        n_tasks=made.n,
        knobs=knobs,
        hashes=dict(suite.hashes),
        versions=versions.found((*versions.PACKAGES, *suite.publisher.packages)),
        files=dict(sorted({**files, CARD: _file(stage / CARD)}.items())),
        broken=dict(broken),
    )


def _broken(tasks: Iterable[Task], suite: Suite, broken: Counter[str]) -> Iterator[Task]:
    """Pass tasks on, counting why some could not be made."""
    for task in tasks:
        if suite.broken is not None and (why := suite.broken(task)):
            broken[why] += 1
        yield task


def _reasons(broken: Counter[str]) -> str:
    told = [f"{why} ({n} tasks)" for why, n in broken.most_common(_SHOWN)]
    return "; ".join(told) + (f"; {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else "")


def _files(folder: Path) -> dict[str, File]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _file(path) for path in paths}


def _file(path: Path) -> File:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return File(sha256=digest, size_bytes=path.stat().st_size)


def _sums(files: Mapping[str, File]) -> dict[str, tuple[int, int]]:
    """Return how many files and bytes there are by the first part of their names."""
    found: dict[str, tuple[int, int]] = {}
    for name, file in files.items():
        n, size = found.get(name.partition("/")[0], (0, 0))
        found[name.partition("/")[0]] = (n + 1, size + file.size_bytes)
    return found


def _settle(stage: Path, folder: Path, old: Manifest | None, manifest: Manifest) -> None:
    """Put the files of a set in the place of those of the old one; the manifest is last.

    Until that is there the old files lie aside, and come back if anything fails.
    """
    gone = _own(folder, old)
    come = {name: _inside(folder, name) for name in manifest.files}
    for name, path in come.items():
        _free(folder, name, path, manifest.files[name], gone)
    aside = stage / _ASIDE
    jsonl.write(stage / MANIFEST, manifest)
    with ExitStack() as back:
        for name, path in gone.items():
            _moved(path, aside / name, folder, back)
        for name, path in come.items():
            _moved(stage / name, path, folder, back)
        (stage / MANIFEST).replace(folder / MANIFEST)
        back.pop_all()
    shutil.rmtree(aside, ignore_errors=True)
    for path in gone.values():
        _prune(path.parent, folder)


def _moved(path: Path, place: Path, folder: Path, back: ExitStack) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    back.callback(_returned, place, path, folder)
    path.replace(place)


def _returned(place: Path, path: Path, folder: Path) -> None:
    if not os.path.lexists(place):  # it never came so far
        return
    with suppress(OSError):  # a folder of the new set may stand where a file was
        path.rmdir()
    path.parent.mkdir(parents=True, exist_ok=True)
    place.replace(path)
    _prune(place.parent, folder)


def _recover(folder: Path, stage: Path) -> None:
    """Undo what a killed process had moved: its own files go, those it was replacing come back."""
    old, new = (read(folder), read(stage)) if stage.is_dir() else (None, None)
    known = old.files if old else {}
    for name, file in (new.files if new else {}).items():
        place = _inside(folder, name)
        moved = file != known.get(name) and not os.path.lexists(stage / name)
        if moved and _same(place, file):
            place.unlink()
        if name not in known:
            _prune(place.parent, folder)
    for name, file in known.items():
        if _same(stage / _ASIDE / name, file) and not _same(folder / name, file):
            place = _inside(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            (stage / _ASIDE / name).replace(place)


def _own(folder: Path, old: Manifest | None) -> dict[str, Path]:
    """Return the old set's files that are there. Raises UsageError if one is not as it was made."""
    if old is None:
        return {}
    places = {name: _inside(folder, name) for name in old.files}
    there = {name: path for name, path in places.items() if os.path.lexists(path)}
    changed = [name for name, path in there.items() if not _same(path, old.files[name])]
    if changed:
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        raise UsageError(
            f"{folder}: changed since the set was made, so not overwritten: "
            f"{', '.join(changed[:_SHOWN])}{more}; move them away, or choose another folder"
        )
    return there


def _free(folder: Path, name: str, path: Path, file: File, gone: Mapping[str, Path]) -> None:
    """Raise UsageError where a file of the user's stands in the way of one of the set's."""
    inner = [PurePosixPath(name), *PurePosixPath(name).parents][:-1]
    for part in inner:
        place = folder / part
        fine = part.as_posix() in gone or not os.path.lexists(place)
        fine = fine or (_same(path, file) if place == path else place.is_dir())
        if not fine:
            raise UsageError(f"{folder}: {part} is none of the set's own files: {_NEXT}")


def _same(path: Path, file: File | None) -> bool:
    """Tell whether a file, and no link to one, has this size and these bytes."""
    try:
        about = path.lstat()
    except OSError:
        return False
    known = file is not None and stat.S_ISREG(about.st_mode) and about.st_size == file.size_bytes
    return known and _file(path) == file


def _inside(folder: Path, name: str) -> Path:
    """Return the place of a file of a set. A stranger's manifest must not lead out of it."""
    pure = PurePosixPath(name)
    path = folder.joinpath(*pure.parts)
    plain = pure.parts and not pure.is_absolute() and not {"..", MANIFEST, _STAGE} & set(pure.parts)
    plain = plain and all(len(os.fsencode(part)) <= _LONGEST for part in pure.parts)
    if not plain or not path.parent.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{folder / MANIFEST}: {name[:80]!r} is no file of this folder: {_NEXT}")
    return path


def _prune(path: Path, folder: Path) -> None:
    """Remove folders of the old set that are left empty."""
    while path != folder and path.is_dir() and not any(path.iterdir()):
        path.rmdir()
        path = path.parent
