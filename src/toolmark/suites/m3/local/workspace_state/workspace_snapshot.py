"""Snapshot of all files in a workspace by path, within limits and without following links."""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lxml.etree import LxmlError
from PIL.Image import DecompressionBombError
from pptx.exc import PythonPptxError

from toolmark.core import json_codec
from toolmark.suites.m3.local.workspace_state import file_readers
from toolmark.suites.m3.local.workspace_state.git_repository import read_repository
from toolmark.suites.m3.local.workspace_state.read_budget import (
    ReadBudget,
    Unreadable,
    folder_depth,
    read_contents,
)
from toolmark.suites.m3.local.workspace_state.state_comparison import REST_KEY

MAX_FILES = 2_000
# Levels of nested folders.
MAX_FOLDER_DEPTH = 24
# Files that SQLite writes next to a database.
_DATABASE_SIDE_FILES = ("-wal", "-shm", "-journal")

# Errors of the readers on damaged or hostile files: their own, and those of libraries that trust
# the content.
READ_ERRORS = (
    Unreadable, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
    AssertionError, EOFError, RuntimeError, MemoryError, SyntaxError, zipfile.BadZipFile,
    zlib.error, struct.error, sqlite3.Error, LxmlError, PythonPptxError, DecompressionBombError,
)  # fmt: skip


def take_snapshot(folder: Path) -> dict[str, Any]:
    """Return the contents of the folder as JSON values by path relative to it.

    Workbook: `sheets` (name -> cell -> value), `formulas` if there are any, and the number of
    `charts`. Presentation: `slides` (the texts of each), `pictures` (how many on each) and `placed`
    (for each of these pictures the `sha256` of its file, and `size_in`, width and height in
    inches). SQLite: `tables` (name -> `columns`, `rows`). A folder with `.git`, `.` if it is the
    workspace itself: `log` (subjects, newest first), `branch`, `branches`, `tips` (for each the
    subject of its last commit), `files` (path -> text at HEAD), `dirty` (paths that differ from
    it). Text: `text`, and `json` if it is JSON. Picture: `size`, `grey`, `mean` colour, `tiles`
    (the mean colours of 6 x 6 tiles, row by row), `sha256` of the file. Any other file:
    `size_bytes`.

    Never raises and never follows a link. A file that is damaged, too large or not regular is
    `{"unreadable": why}`. The key `*` has the same for files left out: beyond 2,000 files, or in
    folders more than 24 levels deep.
    """
    found: dict[str, Any] = {}
    budget = ReadBudget()
    with warnings.catch_warnings():
        # Warnings of the readers about unusual files are of no use here.
        warnings.simplefilter("ignore")
        try:
            for path, reader in _list_entries(folder):
                if len(found) >= MAX_FILES:
                    found[REST_KEY] = {
                        "unreadable": f"more than {MAX_FILES} files; the rest is left out"
                    }
                    break
                found[_printable_path(path)] = _read_or_explain(reader, budget)
        except OSError as error:
            # The folder does not exist, or disappears during the snapshot.
            found[REST_KEY] = {"unreadable": f"{error.strerror}; the rest is left out"}
    plain: dict[str, Any] = json_codec.to_plain_json(found)
    return plain


Reader = Callable[[ReadBudget], dict[str, Any]]


def _read_or_explain(reader: Reader, budget: ReadBudget) -> dict[str, Any]:
    try:
        return reader(budget)
    except Unreadable as error:
        return {"unreadable": str(error)}
    except READ_ERRORS as error:
        return {"unreadable": f"{type(error).__name__}: {error}"[:300]}


def _list_entries(folder: Path) -> Iterator[tuple[str, Reader]]:
    """Yield path and reader of every file, in the order of their names.

    Call each reader before taking the next item: it reads in the folder that is open then.
    """
    for root, folders, files, folder_fd in os.fwalk(folder):
        folders.sort()
        where = os.path.relpath(root, folder)
        at = "" if where == "." else f"{where}/"
        if ".git" in folders:
            folders.remove(".git")
            yield where, _repository_reader(root)
        elif ".git" in files:
            yield where, _unreadable_reader("`.git` is a file that leads elsewhere")
        for name in [name for name in folders if _is_link(name, folder_fd)]:
            yield f"{at}{name}", _unreadable_reader("a link, which is not followed")
        if folders and folder_depth(root, folder) >= MAX_FOLDER_DEPTH:
            folders.clear()
            yield (
                REST_KEY,
                _unreadable_reader(
                    f"folders more than {MAX_FOLDER_DEPTH} deep; the rest is left out"
                ),
            )
        side_files = {f"{name}{end}" for name in files for end in _DATABASE_SIDE_FILES}
        for name in sorted(set(files) - side_files - {".git"}):
            yield f"{at}{name}", _file_reader(name, folder_fd)


def _is_link(name: str, folder_fd: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode)


def _unreadable_reader(reason: str) -> Reader:
    return lambda _: {"unreadable": reason}


def _repository_reader(root: str) -> Reader:
    return lambda budget: read_repository(Path(root), budget)


def _file_reader(name: str, folder_fd: int) -> Reader:
    def read_entry(budget: ReadBudget) -> dict[str, Any]:
        data = read_contents(name, budget, folder_fd=folder_fd)
        kind = Path(name).suffix.lower()
        if kind in file_readers.DATABASE_SUFFIXES or data.startswith(file_readers.SQLITE_HEADER):
            return file_readers.read_database(data, _read_log(name, budget, folder_fd), budget)
        return file_readers.read_file(kind, data, budget)

    return read_entry


def _read_log(name: str, budget: ReadBudget, folder_fd: int) -> bytes:
    """Return the write-ahead log of a database. Raises Unreadable during a transaction."""
    try:
        if read_contents(f"{name}-journal", budget, folder_fd=folder_fd).strip(b"\0"):
            raise Unreadable("a transaction on it was not finished")
    except FileNotFoundError:
        pass
    try:
        return read_contents(f"{name}-wal", budget, folder_fd=folder_fd)
    except FileNotFoundError:
        return b""


def _printable_path(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
