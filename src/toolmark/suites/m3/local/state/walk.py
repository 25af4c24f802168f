"""Everything in a workspace by its path, read within bounds and without following a link."""

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

from toolmark import codec
from toolmark.suites.m3.local.state import read
from toolmark.suites.m3.local.state.compare import REST
from toolmark.suites.m3.local.state.purse import Purse, Unreadable, contents, depth
from toolmark.suites.m3.local.state.repository import repository

FILES = 2_000
DEEP = 24  # folders in each other
_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database

# what the readers raise on damaged or hostile files: their own errors, and those of code that
# trusts what it reads
FAULTS = (
    Unreadable, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
    AssertionError, EOFError, RuntimeError, MemoryError, SyntaxError, zipfile.BadZipFile,
    zlib.error, struct.error, sqlite3.Error, LxmlError, PythonPptxError, DecompressionBombError,
)  # fmt: skip


def snapshot(folder: Path) -> dict[str, Any]:
    """Return what the folder holds, as JSON values by path relative to it.

    Workbook: `sheets` (name -> cell -> value), `formulas` where there are any, and the number of
    `charts`. Presentation: `slides` (the texts of each), `pictures` (how many on each) and `placed`
    (of each of these the `sha256` of its file, and `size_in`, width and height in inches). SQLite:
    `tables` (name -> `columns`, `rows`). A folder with `.git`, `.` if it is the workspace itself:
    `log` (subjects, newest first), `branch`, `branches`, `tips` (of each the subject of its last
    commit), `files` (path -> text at HEAD), `dirty` (paths that differ from it). Text: `text`, and
    `json` where it is that. Picture: `size`, `grey`, `mean` colour, `tiles` (the mean colours of 6
    x 6 of them, row by row), `sha256` of the file. Anything else: `size_bytes`.

    Never raises and never follows a link. What is damaged, too large or not a file is
    `{"unreadable": why}`; `*` says so of what was left out: more than 2,000 files, or folders more
    than 24 deep.
    """
    found: dict[str, Any] = {}
    purse = Purse()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the readers' remarks on odd files are no one's concern
        try:
            for path, look in _entries(folder):
                if len(found) >= FILES:
                    found[REST] = {"unreadable": f"more than {FILES} files; the rest is left out"}
                    break
                found[_name(path)] = _looked(look, purse)
        except OSError as error:  # a folder that is gone, or goes meanwhile
            found[REST] = {"unreadable": f"{error.strerror}; the rest is left out"}
    plain: dict[str, Any] = codec.plain(found)
    return plain


Look = Callable[[Purse], dict[str, Any]]


def _looked(look: Look, purse: Purse) -> dict[str, Any]:
    try:
        return look(purse)
    except Unreadable as error:
        return {"unreadable": str(error)}
    except FAULTS as error:
        return {"unreadable": f"{type(error).__name__}: {error}"[:300]}


def _entries(folder: Path) -> Iterator[tuple[str, Look]]:
    """Yield path and reader of every file, in the order of their names.

    The reader must be called before the next one is asked for: it reads in the open folder.
    """
    for root, folders, files, inside in os.fwalk(folder):
        folders.sort()
        where = os.path.relpath(root, folder)
        at = "" if where == "." else f"{where}/"
        if ".git" in folders:
            folders.remove(".git")
            yield where, _repository(root)
        elif ".git" in files:
            yield where, _refused("`.git` is a file that leads elsewhere")
        for name in [name for name in folders if _link(name, inside)]:
            yield f"{at}{name}", _refused("a link, which is not followed")
        if folders and depth(root, folder) >= DEEP:
            folders.clear()
            yield REST, _refused(f"folders more than {DEEP} deep; the rest is left out")
        beside = {f"{name}{end}" for name in files for end in _BESIDE}
        for name in sorted(set(files) - beside - {".git"}):
            yield f"{at}{name}", _file(name, inside)


def _link(name: str, inside: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=inside, follow_symlinks=False).st_mode)


def _refused(why: str) -> Look:
    return lambda _: {"unreadable": why}


def _repository(root: str) -> Look:
    return lambda purse: repository(Path(root), purse)


def _file(name: str, inside: int) -> Look:
    def look(purse: Purse) -> dict[str, Any]:
        data = contents(name, purse, inside=inside)
        kind = Path(name).suffix.lower()
        if kind in read.DATABASES or data.startswith(read.SQLITE):
            return read.database(data, _log(name, purse, inside), purse)
        return read.file(kind, data, purse)

    return look


def _log(name: str, purse: Purse, inside: int) -> bytes:
    """Return the write-ahead log of a database. Raises Unreadable amid a transaction."""
    try:
        if contents(f"{name}-journal", purse, inside=inside).strip(b"\0"):
            raise Unreadable("a transaction on it was not finished")
    except FileNotFoundError:
        pass
    try:
        return contents(f"{name}-wal", purse, inside=inside)
    except FileNotFoundError:
        return b""


def _name(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
