"""An exported set: a folder with tasks, their media, what a suite adds, a data card, a manifest.

Everything is written to a staging folder inside the target folder, and moved to its place when it
is complete. `manifest.json`, which makes a folder an exported set, is moved last. A manifest that
is later found in the staging folder means that moving was interrupted, and says which files belong
to it.
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

from toolmark.core import json_codec, media, package_versions
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError
from toolmark.core.number_format import format_count
from toolmark.core.records import Record, Task
from toolmark.runs import data_card, record_files
from toolmark.runs.suite import Suite
from toolmark.runs.task_files import write_tasks

MANIFEST_FORMAT = 2
MANIFEST_NAME = "manifest.json"
CARD_NAME = "README.md"
_STAGING_FOLDER = ".making"
_BACKUP_FOLDER = ".old"
_MAX_MANIFEST_BYTES = 2**26  # a manifest may come from a stranger
_MAX_LISTED = 3  # reasons, or files
_MAX_NAME_BYTES = 255  # bytes of a name that file systems accept
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NEXT_STEP = "choose another folder, or empty this one"


class DatasetFile(Record, frozen=True, kw_only=True):
    """One file of an exported set."""

    sha256: str
    size_bytes: int


class Manifest(Record, frozen=True, kw_only=True):
    """What a set was made from: suite, suite parameters, seed, inputs, versions, and every file.

    `parameters` contains the names of files and folders, not their paths. `n_failed_by_reason` are
    the reasons why tasks could not be made, each with the number of tasks.
    """

    format: int
    suite: str
    seed: int
    n_tasks: int
    parameters: dict[str, Any] = {}
    hashes: dict[str, str] = {}
    versions: dict[str, str] = {}
    files: dict[str, DatasetFile] = {}
    n_failed_by_reason: dict[str, int] = {}


def write_dataset(
    folder: Path, suite: Suite, tasks: Iterable[Task] | None = None, *, description: str = ""
) -> Manifest:
    """Write a suite's finished tasks and what belongs to them; `tasks` replaces the suite's tasks.

    An existing set is replaced, and nothing else. Raises UsageError for a folder that contains
    other files, and for a set whose files were changed. Raises DataError where no task could be
    made. Nothing is changed when anything fails.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: not a folder; choose another")
    try:
        with _ensure_folder(folder), _lock_folder(folder):
            stage = folder / _STAGING_FOLDER
            _recover_interrupted(folder, stage)
            old = _replaceable_manifest(folder)
            shutil.rmtree(stage, ignore_errors=True)
            try:
                stage.mkdir()
                chosen = suite.maker.make(suite) if tasks is None else tasks
                manifest = _write_contents(stage, suite, chosen, description)
                _replace_files(stage, folder, old, manifest)
            finally:
                if not _hash_files(stage / _BACKUP_FOLDER):  # else old files could not be restored
                    shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write there: {error.strerror}") from None
    return manifest


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder, None where there is none. Raises DataError."""
    path = folder / MANIFEST_NAME
    try:
        found = json_codec.decode_record(_read_bounded(path), Manifest)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise DataError(
            f"{path}: no manifest of a made set: {describe_decode_error(error)}"
        ) from None
    if found.format != MANIFEST_FORMAT:
        raise DataError(f"{path}: format {found.format}; this version reads {MANIFEST_FORMAT}")
    if bad_name := next(filter(_CONTROL_CHARACTERS.search, found.files), ""):
        raise DataError(f"{path}: {bad_name[:80]!r} is not a file's name: {_NEXT_STEP}")
    return found


def verify_dataset(folder: Path) -> Manifest | None:
    """Return the manifest of an exported set, None for anything else.

    Raises DataError if its tasks are not those that were made, or if `toolmark make` was
    interrupted.
    """
    manifest = read_manifest(folder)
    stage, path = folder / _STAGING_FOLDER, folder / "tasks.jsonl"
    is_complete = manifest is not None and _has_content(path, manifest.files.get(path.name))
    if stage.is_dir() and (not is_complete or os.path.lexists(stage / MANIFEST_NAME)):
        raise DataError(f"{folder}: a make was interrupted: make the set again")
    if manifest is None:
        return None
    if not is_complete:
        raise DataError(f"{path}: changed since it was made; name the file itself to ask it so")
    return manifest


def _read_bounded(path: Path) -> bytes:
    """Return the content of an untrusted file. Raises DataError for no file, or a large one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # do not block on a pipe
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path}: not a file")
        if status.st_size > _MAX_MANIFEST_BYTES:
            raise DataError(f"{path}: larger than {_MAX_MANIFEST_BYTES >> 20} MB")
        return file.read(_MAX_MANIFEST_BYTES)


@contextmanager
def _ensure_folder(folder: Path) -> Iterator[None]:
    """Make the folder; on an error, remove again the folders that were created."""
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    with ExitStack() as stack:
        for path in reversed(created):
            stack.callback(_remove_folder, path)
        folder.mkdir(parents=True, exist_ok=True)
        yield
        stack.pop_all()


def _remove_folder(path: Path) -> None:
    with suppress(OSError):  # it is not empty any more
        path.rmdir()


def _replaceable_manifest(folder: Path) -> Manifest | None:
    """Return the set that would be replaced. Raises UsageError for a folder with other content."""
    if (folder / "run.json").exists():
        raise UsageError(f"{folder} is a run: its tasks are not overwritten; choose another folder")
    other_files = sorted(path.name for path in folder.iterdir() if path.name != _STAGING_FOLDER)
    old = read_manifest(folder)
    if other_files and old is None:
        raise UsageError(
            f"{folder}: holds other files ({', '.join(other_files)[:80]}): {_NEXT_STEP}"
        )
    _unchanged_paths(folder, old)
    return old


def _lock_folder(folder: Path) -> AbstractContextManager[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    return media.exclusive_lock(descriptor, f"{folder}: another process is writing this set")


def _write_contents(stage: Path, suite: Suite, tasks: Iterable[Task], description: str) -> Manifest:
    """Write everything except the manifest, and return the manifest."""
    tally = data_card.TaskTally(suite.provenance.export)
    broken: Counter[str] = Counter()
    counted = _iterate_counting_broken(tally.iterate_counting_tasks(tasks), suite, broken)
    written = write_tasks(
        stage / "tasks.jsonl", counted, suite.provenance.media, suite.provenance.referenced_media
    )
    if not written.n_tasks:
        raise UsageError("no task is left after the selection; loosen -T")
    if broken.total() == written.n_tasks:
        raise DataError(
            f"none of {format_count(written.n_tasks)} tasks could be made: "
            f"{_summarise_reasons(broken)}"
        )
    tables = [*tally.tables(), *suite.provenance.export.write_extra_files(stage)]
    files = _hash_files(stage)
    parameters = data_card.strip_folders(suite.parameters)
    card_text = data_card.render_card(
        name=suite.name,
        description=description,
        seed=suite.provenance.seed,
        parameters=parameters,
        hashes=suite.provenance.hashes,
        publisher=suite.provenance.export,
        files=_totals_by_name(files),
        tables=tables,
        broken=broken,
    )
    (stage / CARD_NAME).write_text(card_text, encoding="utf-8")
    return Manifest(
        format=MANIFEST_FORMAT,
        suite=suite.name,
        seed=suite.provenance.seed,
        n_tasks=written.n_tasks,
        parameters=parameters,
        hashes=dict(suite.provenance.hashes),
        versions=package_versions.installed_versions(
            (*package_versions.TRACKED_PACKAGES, *suite.provenance.export.packages)
        ),
        files=dict(sorted({**files, CARD_NAME: _hash_file(stage / CARD_NAME)}.items())),
        n_failed_by_reason=dict(broken),
    )


def _iterate_counting_broken(
    tasks: Iterable[Task], suite: Suite, reason_counts: Counter[str]
) -> Iterator[Task]:
    """Yield the tasks, and count why some could not be made."""
    for task in tasks:
        if suite.maker.failure is not None and (reason := suite.maker.failure(task)):
            reason_counts[reason] += 1
        yield task


def _summarise_reasons(broken: Counter[str]) -> str:
    labels = [
        f"{reason} ({format_count(n)} tasks)" for reason, n in broken.most_common(_MAX_LISTED)
    ]
    return "; ".join(labels) + (
        f"; {len(broken) - _MAX_LISTED} more" if len(broken) > _MAX_LISTED else ""
    )


def _hash_files(folder: Path) -> dict[str, DatasetFile]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _hash_file(path) for path in paths}


def _hash_file(path: Path) -> DatasetFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return DatasetFile(sha256=digest, size_bytes=path.stat().st_size)


def _totals_by_name(files: Mapping[str, DatasetFile]) -> dict[str, tuple[int, int]]:
    """Return the number of files and bytes by the first part of their names."""
    found: dict[str, tuple[int, int]] = {}
    for name, file in files.items():
        n, size = found.get(name.partition("/")[0], (0, 0))
        found[name.partition("/")[0]] = (n + 1, size + file.size_bytes)
    return found


def _replace_files(stage: Path, folder: Path, old: Manifest | None, manifest: Manifest) -> None:
    """Replace the files of the old set by those of the new one; the manifest is last.

    Until then the old files are in a backup folder, and are moved back if anything fails.
    """
    old_paths = _unchanged_paths(folder, old)
    new_paths = {name: _member_path(folder, name) for name in manifest.files}
    for name, path in new_paths.items():
        _check_path_is_free(folder, name, path, manifest.files[name], old_paths)
    backup = stage / _BACKUP_FOLDER
    record_files.write_document(stage / MANIFEST_NAME, manifest)
    with ExitStack() as undo:
        for name, path in old_paths.items():
            _move_file(path, backup / name, folder, undo)
        for name, path in new_paths.items():
            _move_file(stage / name, path, folder, undo)
        (stage / MANIFEST_NAME).replace(folder / MANIFEST_NAME)
        undo.pop_all()
    shutil.rmtree(backup, ignore_errors=True)
    for path in old_paths.values():
        _remove_empty_folders(path.parent, folder)


def _move_file(path: Path, target: Path, folder: Path, undo: ExitStack) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    undo.callback(_move_back, target, path, folder)
    path.replace(target)


def _move_back(target: Path, path: Path, folder: Path) -> None:
    if not os.path.lexists(target):  # it was never moved
        return
    with suppress(OSError):  # a folder of the new set may be where a file was
        path.rmdir()
    path.parent.mkdir(parents=True, exist_ok=True)
    target.replace(path)
    _remove_empty_folders(target.parent, folder)


def _recover_interrupted(folder: Path, stage: Path) -> None:
    """Undo what a killed process had moved: remove its files, restore those it was replacing."""
    old, new = (read_manifest(folder), read_manifest(stage)) if stage.is_dir() else (None, None)
    old_files = old.files if old else {}
    for name, file in (new.files if new else {}).items():
        target = _member_path(folder, name)
        moved = file != old_files.get(name) and not os.path.lexists(stage / name)
        if moved and _has_content(target, file):
            target.unlink()
        if name not in old_files:
            _remove_empty_folders(target.parent, folder)
    for name, file in old_files.items():
        if _has_content(stage / _BACKUP_FOLDER / name, file) and not _has_content(
            folder / name, file
        ):
            target = _member_path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            (stage / _BACKUP_FOLDER / name).replace(target)


def _unchanged_paths(folder: Path, old: Manifest | None) -> dict[str, Path]:
    """Return the old set's files that exist. Raises UsageError if one of them was changed."""
    if old is None:
        return {}
    places = {name: _member_path(folder, name) for name in old.files}
    existing = {name: path for name, path in places.items() if os.path.lexists(path)}
    changed = [name for name, path in existing.items() if not _has_content(path, old.files[name])]
    if changed:
        suffix = f" and {len(changed) - _MAX_LISTED} more" if len(changed) > _MAX_LISTED else ""
        raise UsageError(
            f"{folder}: changed since the set was made, so not overwritten: "
            f"{', '.join(changed[:_MAX_LISTED])}{suffix}; move them away, or choose another folder"
        )
    return existing


def _check_path_is_free(
    folder: Path, name: str, path: Path, file: DatasetFile, old_paths: Mapping[str, Path]
) -> None:
    """Raise UsageError where a file of the user is in the way of one of the set."""
    ancestors = [PurePosixPath(name), *PurePosixPath(name).parents][:-1]
    for part in ancestors:
        target = folder / part
        is_free = part.as_posix() in old_paths or not os.path.lexists(target)
        is_free = is_free or (_has_content(path, file) if target == path else target.is_dir())
        if not is_free:
            raise UsageError(f"{folder}: {part} is none of the set's own files: {_NEXT_STEP}")


def _has_content(path: Path, file: DatasetFile | None) -> bool:
    """Return whether a regular file, not a link, has this size and these bytes."""
    try:
        status = path.lstat()
    except OSError:
        return False
    has_same_size = (
        file is not None and stat.S_ISREG(status.st_mode) and status.st_size == file.size_bytes
    )
    return has_same_size and _hash_file(path) == file


def _member_path(folder: Path, name: str) -> Path:
    """Return the path of a file of a set. Raises DataError for a path outside the folder."""
    pure = PurePosixPath(name)
    path = folder.joinpath(*pure.parts)
    is_plain = (
        pure.parts
        and not pure.is_absolute()
        and not {"..", MANIFEST_NAME, _STAGING_FOLDER} & set(pure.parts)
    )
    is_plain = is_plain and all(len(os.fsencode(part)) <= _MAX_NAME_BYTES for part in pure.parts)
    if not is_plain or not path.parent.resolve().is_relative_to(folder.resolve()):
        raise DataError(
            f"{folder / MANIFEST_NAME}: {name[:80]!r} is not a file of this folder: {_NEXT_STEP}"
        )
    return path


def _remove_empty_folders(path: Path, folder: Path) -> None:
    """Remove folders of the old set that are now empty."""
    while path != folder and path.is_dir() and not any(path.iterdir()):
        path.rmdir()
        path = path.parent
